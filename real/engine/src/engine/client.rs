//! A client's part in building circuits.

use hopflow_onion::setup::{HopMessage, SetupMessage};
use hopflow_onion::{Initiator, SEALED_SETUP};
use hopflow_units::{Cells, Duration, Instant};
use hopflow_wire::Reason;

use super::{Engine, Event, Failure};
use crate::Hop;
use crate::circuit::{Body, Building, Circuit, CircuitKey, Phase, Side};
use crate::crypt::Crypt;

/// How long the client waits for an answer before it repeats its message, at first.
const PATIENCE: Duration = Duration::from_millis(1000);
/// How often a message is sent; each time the client waits twice as long.
const TRIES: u32 = 5;

impl Engine {
    /// Begins to build a circuit along `path`. [`Event::Built`] or [`Event::Closed`] follows.
    ///
    /// # Panics
    /// If the path is empty.
    pub fn build(&mut self, now: Instant, path: Vec<Hop>) -> CircuitKey {
        let first = path.first().expect("a circuit has hops");
        let target = (first.address, first.fingerprint);
        let (initiator, handshake) = Initiator::start(&first.onion, &[]);
        let create = SetupMessage::Create {
            queue_limit: self.plan.queue_limit,
            handshake,
        };
        let message: Body = Box::new(create.encode());
        let key = self.circuits.insert(Circuit {
            prev: None,
            next: None,
            phase: Phase::Building(Box::new(Building {
                path,
                keys: Vec::new(),
                initiator: Some(initiator),
                message,
                counter: 0,
                tries: 0,
                patience: PATIENCE,
            })),
            alarm: None,
            created_by: None,
        });
        let link = self.link_to(now, target);
        let joined = link.and_then(|link| Some((link, self.join(link, key)?)));
        let Some((link, name)) = joined else {
            let why = Failure::Hop { hop: 0 };
            self.end_circuit(now, key, Reason::Unreachable, None, why);
            return key;
        };
        if let Some(circuit) = self.circuits.get_mut(key) {
            circuit.next = Some(Side {
                link,
                name,
                queue_limit: Cells::ZERO,
            });
        }
        self.send_step(now, key);
        key
    }

    /// Sends the message of the present step, again or for the first time.
    fn send_step(&mut self, now: Instant, key: CircuitKey) {
        let Some(Circuit {
            next: Some(next),
            phase: Phase::Building(building),
            ..
        }) = self.circuits.get_mut(key)
        else {
            return;
        };
        building.tries += 1;
        let wait = building.patience;
        building.patience = wait.saturating_mul(2);
        let (link, name, message) = (next.link, next.name, building.message.clone());
        let first = building.keys.is_empty();
        self.send_setup(now, link, name, &message);
        if first {
            self.expect_answer(now, link);
        }
        self.set_alarm(key, Some(now + wait));
    }

    /// No answer came in time.
    pub(super) fn on_silence(&mut self, now: Instant, key: CircuitKey) {
        let Some(Circuit {
            phase: Phase::Building(building),
            ..
        }) = self.circuits.get(key)
        else {
            return;
        };
        if building.tries < TRIES {
            return self.send_step(now, key);
        }
        let hop = building.keys.len();
        self.fail(now, key, hop);
    }

    /// Which hop a circuit that we build waits for.
    pub(super) fn building_hop(&self, key: CircuitKey) -> Option<usize> {
        match &self.circuits.get(key)?.phase {
            Phase::Building(building) => Some(building.keys.len()),
            _ => None,
        }
    }

    fn fail(&mut self, now: Instant, key: CircuitKey, hop: usize) {
        self.counters.handshakes_failed += 1;
        self.end_circuit(now, key, Reason::Requested, None, Failure::Hop { hop });
    }

    /// The last hop answered by a sealed message.
    pub(super) fn on_sealed_answer(
        &mut self,
        now: Instant,
        key: CircuitKey,
        counter: u32,
        mut sealed: Box<[u8; SEALED_SETUP]>,
    ) {
        let Some(Circuit {
            phase: Phase::Building(building),
            ..
        }) = self.circuits.get(key)
        else {
            return;
        };
        let hop = building.keys.len();
        // An answer to a message that was repeated comes twice.
        let Some((last, before)) = building
            .keys
            .split_last()
            .filter(|_| counter == building.counter)
        else {
            return;
        };
        for keys in before {
            keys.backward.apply_setup_layer(counter, &mut sealed);
        }
        let Ok(plain) = last.backward.open_setup(counter, &sealed) else {
            self.counters.garbage += 1;
            return;
        };
        match HopMessage::decode(&plain) {
            Ok(HopMessage::Extended { handshake, .. }) => self.on_answer(now, key, &handshake),
            _ => self.fail(now, key, hop),
        }
    }

    /// The hop that was asked answered the handshake.
    pub(super) fn on_answer(&mut self, now: Instant, key: CircuitKey, handshake: &[u8]) {
        let Some(Circuit {
            phase: Phase::Building(building),
            ..
        }) = self.circuits.get_mut(key)
        else {
            return;
        };
        let hop = building.keys.len();
        // Without one, the answer is to a step that is over.
        let Some(initiator) = building.initiator.take() else {
            return;
        };
        let Ok((keys, _)) = initiator.finish(handshake) else {
            return self.fail(now, key, hop);
        };
        building.keys.push(keys);
        self.counters.handshakes += 1;
        self.next_step(now, key);
    }

    /// Asks for the next hop, or finds that the circuit is built.
    fn next_step(&mut self, now: Instant, key: CircuitKey) {
        let Some(Circuit {
            phase: Phase::Building(building),
            ..
        }) = self.circuits.get_mut(key)
        else {
            return;
        };
        let Some(hop) = building.path.get(building.keys.len()) else {
            let keys = std::mem::take(&mut building.keys);
            self.open_circuit(now, key, Crypt::client(keys));
            self.events.push_back(Event::Built { circuit: key });
            return;
        };
        let (initiator, handshake) = Initiator::start(&hop.onion, &[]);
        let extend = HopMessage::Extend {
            address: hop.address,
            fingerprint: hop.fingerprint.to_bytes(),
            handshake,
        };
        building.initiator = Some(initiator);
        building.counter += 1;
        building.tries = 0;
        building.patience = PATIENCE;
        let counter = building.counter;
        let Some((last, before)) = building.keys.split_last() else {
            return;
        };
        let mut sealed = Box::new(last.forward.seal_setup(counter, &extend.encode()));
        for keys in before {
            keys.forward.apply_setup_layer(counter, &mut sealed);
        }
        *building.message = SetupMessage::Forward { counter, sealed }.encode();
        self.send_step(now, key);
    }
}
