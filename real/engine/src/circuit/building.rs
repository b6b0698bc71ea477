//! A client's part in building a circuit.

use hopflow_onion::setup::{HopMessage, SetupMessage};
use hopflow_onion::{Handshake, HopKeys, Initiator, SEALED_SETUP};
use hopflow_units::{Cells, Duration};

use crate::config::Hop;
use crate::types::Body;

/// How long the client waits for an answer before it repeats its message, at first.
const PATIENCE: Duration = Duration::from_millis(1000);
/// How often a message is sent; each time the client waits twice as long.
const TRIES: u32 = 5;

/// What a client keeps of a circuit that it builds.
#[derive(Debug)]
pub(crate) struct Building {
    path: Vec<Hop>,
    /// Of the hops that have answered.
    keys: Vec<HopKeys>,
    /// The handshake with the hop that is asked.
    initiator: Option<Initiator>,
    /// What was sent last, to be repeated.
    message: Body,
    /// Numbers the messages to last hops.
    counter: u32,
    tries: u32,
    patience: Duration,
}

/// A message to be sent, and how long to wait for its answer.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) message: Body,
    pub(crate) wait: Duration,
    /// Whether the neighbour itself must answer.
    pub(crate) for_neighbour: bool,
}

/// What an answer brought.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It answers a step that is over.
    Stale,
    /// It can be of anyone on the path.
    Garbage,
    /// The hop, counted from zero, declined or proved to be somebody else.
    Failed(usize),
    /// The next hop is to be asked.
    Asking,
    /// All hops have answered.
    Built(Vec<HopKeys>),
}

impl Building {
    /// Begins a circuit along a path.
    ///
    /// # Panics
    /// If the path is empty.
    pub(crate) fn start(path: Vec<Hop>, queue_limit: Cells) -> Self {
        let first = path.first().expect("a circuit has hops");
        let (initiator, handshake) = Initiator::start(&first.onion, &[]);
        let create = SetupMessage::Create {
            queue_limit,
            handshake,
            introduction: None,
        };
        Self {
            message: Box::new(create.encode()),
            path,
            keys: Vec::new(),
            initiator: Some(initiator),
            counter: 0,
            tries: 0,
            patience: PATIENCE,
        }
    }

    /// The hop that is asked, counted from zero.
    pub(crate) const fn hop(&self) -> usize {
        self.keys.len()
    }

    /// The present message, again or for the first time; `None` if it was sent often enough.
    pub(crate) fn next_try(&mut self) -> Option<Step> {
        if self.tries >= TRIES {
            return None;
        }
        self.tries += 1;
        let wait = self.patience;
        self.patience = wait.saturating_mul(2);
        Some(Step {
            message: self.message.clone(),
            wait,
            for_neighbour: self.keys.is_empty(),
        })
    }

    /// The last hop answered by a sealed message.
    pub(crate) fn on_sealed_answer(
        &mut self,
        counter: u32,
        mut sealed: Box<[u8; SEALED_SETUP]>,
    ) -> Outcome {
        // An answer to a message that was repeated comes twice.
        let Some((last, before)) = self.keys.split_last().filter(|_| counter == self.counter)
        else {
            return Outcome::Stale;
        };
        for keys in before {
            keys.backward.apply_setup_layer(counter, &mut sealed);
        }
        let Ok(plain) = last.backward.open_setup(counter, &sealed) else {
            return Outcome::Garbage;
        };
        match HopMessage::decode(&plain) {
            Ok(HopMessage::Extended { handshake, .. }) => self.on_answer(&handshake),
            _ => Outcome::Failed(self.hop()),
        }
    }

    /// The hop that was asked answered the handshake.
    pub(crate) fn on_answer(&mut self, handshake: &Handshake) -> Outcome {
        // Without one, the answer is to a step that is over.
        let Some(initiator) = self.initiator.take() else {
            return Outcome::Stale;
        };
        let Ok((keys, _)) = initiator.finish(handshake) else {
            return Outcome::Failed(self.hop());
        };
        self.keys.push(keys);
        match self.path.get(self.keys.len()).cloned() {
            None => Outcome::Built(std::mem::take(&mut self.keys)),
            Some(hop) => {
                self.ask(&hop);
                Outcome::Asking
            }
        }
    }

    /// Makes the message that asks the last hop for the next one.
    fn ask(&mut self, hop: &Hop) {
        let (initiator, handshake) = Initiator::start(&hop.onion, &[]);
        let extend = HopMessage::Extend {
            address: hop.address,
            fingerprint: hop.fingerprint.to_bytes(),
            handshake,
        };
        self.initiator = Some(initiator);
        self.counter += 1;
        self.tries = 0;
        self.patience = PATIENCE;
        let counter = self.counter;
        let Some((last, before)) = self.keys.split_last() else {
            return;
        };
        let mut sealed = Box::new(last.forward.seal_setup(counter, &extend.encode()));
        for keys in before {
            keys.forward.apply_setup_layer(counter, &mut sealed);
        }
        *self.message = SetupMessage::Forward { counter, sealed }.encode();
    }
}
