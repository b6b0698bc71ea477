//! A relay's part in building a circuit: docs/spec/overlay.md, "Building a circuit".

use hopflow_onion::setup::{HopMessage, Refusal, SetupMessage};
use hopflow_onion::{Handshake, HopKeys, SEALED_SETUP};

use crate::types::Body;
use crate::types::Target;

/// How many messages for later hops a circuit may have at most, which bounds the length of paths
/// that lead through us (Evans, Dingledine and Grothoff, "A practical congestion attack on Tor
/// using long paths", 2009; as many as `RELAY_EARLY` cells in tor-spec).
pub(crate) const MOST_RELAYED: u8 = 8;

/// How often a message is sent at most: as often as a client sends its own.
const TIMES: u8 = 5;

/// A message that is sent again if a neighbour missed it.
#[derive(Debug)]
struct Repeated {
    body: Body,
    /// How often it may still be sent.
    left: u8,
}

impl Repeated {
    const fn new(body: Body) -> Self {
        Self { body, left: TIMES }
    }

    /// One that has left already.
    const fn sent(body: Body) -> Self {
        let left = TIMES - 1;
        Self { body, left }
    }

    fn again(&mut self) -> Option<Body> {
        self.left = self.left.checked_sub(1)?;
        Some(self.body.clone())
    }
}

/// What a relay keeps of a circuit that is being built.
#[derive(Debug)]
pub(crate) struct Nascent {
    keys: Box<HopKeys>,
    /// The answer to the client's handshake, to be repeated.
    created: Repeated,
    /// The counter of the client's last message for us.
    counter: Option<u32>,
    /// How many such messages there were.
    requests: u8,
    /// The answer to it, to be repeated.
    answer: Option<Repeated>,
    /// What we asked the next hop and have no answer to.
    asked: Option<Repeated>,
    relayed: Relayed,
}

/// The client's messages for later hops.
#[derive(Clone, Copy, Debug, Default)]
struct Relayed {
    /// How many there were, those left out that are repeated.
    count: u8,
    /// The counter of the last one.
    last: u32,
    /// How often that may still pass.
    left: u8,
    /// How often an answer to it may still pass.
    answers: u8,
}

/// What becomes of a message for a later hop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Passage {
    /// It passes, for the first time.
    New,
    /// It passes again.
    Again,
    /// It was repeated often enough, or is older than the last one: the client has one under way.
    Spent,
    /// It is one too many.
    TooLong,
}

impl Relayed {
    const fn take(&mut self, counter: u32) -> Passage {
        if counter > self.last {
            self.last = counter;
            self.count = self.count.saturating_add(1);
            (self.left, self.answers) = (TIMES - 1, TIMES);
            return if self.count <= MOST_RELAYED {
                Passage::New
            } else {
                Passage::TooLong
            };
        }
        if counter < self.last || self.left == 0 {
            return Passage::Spent;
        }
        self.left -= 1;
        Passage::Again
    }

    /// Whether an answer passes: one to the message under way.
    const fn take_answer(&mut self, counter: u32) -> bool {
        let passes = counter == self.last && self.answers > 0;
        if passes {
            self.answers -= 1;
        }
        passes
    }
}

/// What a message from the client asks for.
#[derive(Debug)]
pub(crate) enum Forwarded {
    /// Nothing: it came too early, too late or too often.
    Ignored,
    /// Nothing: anyone on the path can have sent it, and the true one may still come.
    Garbage,
    /// The previous hop missed this answer.
    AnswerAgain(Body),
    /// The next hop missed this question.
    AskAgain(Body),
    /// It is for a later hop.
    Relayed {
        body: Body,
        /// Whether it is not one that is repeated.
        new: bool,
        /// Which one for a later hop it is, from 1.
        count: u8,
    },
    /// It is for a later hop than any honest circuit has, or asks for one more often.
    TooLong,
    /// It is for us.
    Ours(Result<Request, Refusal>),
}

/// A client's wish for a next hop.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) target: Target,
    pub(crate) handshake: Handshake,
}

impl Nascent {
    pub(crate) fn new(keys: HopKeys, created: Body) -> Self {
        Self {
            keys: Box::new(keys),
            created: Repeated::new(created),
            counter: None,
            requests: 0,
            answer: None,
            asked: None,
            relayed: Relayed::default(),
        }
    }

    /// The keys that the client shares with us.
    pub(crate) fn into_keys(self) -> Box<HopKeys> {
        self.keys
    }

    /// The answer to the client's handshake, if that may have missed it.
    pub(crate) fn created(&mut self) -> Option<Body> {
        let missed = self.counter.is_none();
        missed.then(|| self.created.again()).flatten()
    }

    /// Whether the next hop was asked and has not answered.
    pub(crate) const fn waits(&self) -> bool {
        self.asked.is_some()
    }

    /// Notes what the next hop was asked.
    pub(crate) fn on_asked(&mut self, question: Body) {
        self.asked = Some(Repeated::sent(question));
    }

    /// The next hop answered, or declined; false if it was not asked.
    pub(crate) fn on_answered(&mut self) -> bool {
        self.asked.take().is_some()
    }

    /// A message from the client; `has_next` says whether there is a next hop, asked or answered.
    pub(crate) fn on_forward(
        &mut self,
        counter: u32,
        mut sealed: Box<[u8; SEALED_SETUP]>,
        has_next: bool,
    ) -> Forwarded {
        // Messages for later hops have higher counters than those for us.
        if self.counter.is_some_and(|last| counter <= last) {
            return self.repeat(counter);
        }
        if self.asked.is_some() {
            // One question at a time: the client repeats this one if it is honest.
            return Forwarded::Ignored;
        }
        if has_next {
            let passage = self.relayed.take(counter);
            let new = match passage {
                Passage::New | Passage::Again => passage == Passage::New,
                Passage::Spent => return Forwarded::Ignored,
                Passage::TooLong => return Forwarded::TooLong,
            };
            self.keys.forward.apply_setup_layer(counter, &mut sealed);
            let body = Box::new(SetupMessage::Forward { counter, sealed }.encode());
            let count = self.relayed.count;
            return Forwarded::Relayed { body, new, count };
        }
        let Ok(plain) = self.keys.forward.open_setup(counter, &sealed) else {
            return Forwarded::Garbage;
        };
        if self.requests == MOST_RELAYED {
            return Forwarded::TooLong;
        }
        self.requests += 1;
        self.counter = Some(counter);
        self.answer = None;
        Forwarded::Ours(match HopMessage::decode(&plain) {
            Ok(HopMessage::Extend {
                address,
                fingerprint,
                handshake,
            }) => Ok(Request {
                target: (
                    address,
                    hopflow_channel::Fingerprint::from_bytes(fingerprint),
                ),
                handshake,
            }),
            _ => Err(Refusal::Malformed),
        })
    }

    /// The client repeats a message.
    fn repeat(&mut self, counter: u32) -> Forwarded {
        if self.counter != Some(counter) {
            return Forwarded::Ignored;
        }
        let again = match (&mut self.answer, &mut self.asked) {
            (Some(answer), _) => answer.again().map(Forwarded::AnswerAgain),
            (None, Some(asked)) => asked.again().map(Forwarded::AskAgain),
            (None, None) => None,
        };
        again.unwrap_or(Forwarded::Ignored)
    }

    /// Adds our layer to a message from the last hop to the client; `None` if that has asked for none,
    /// or had it often enough.
    pub(crate) fn relay_backward(
        &mut self,
        counter: u32,
        mut sealed: Box<[u8; SEALED_SETUP]>,
    ) -> Option<Body> {
        if !self.relayed.take_answer(counter) {
            return None;
        }
        self.keys.backward.apply_setup_layer(counter, &mut sealed);
        Some(Box::new(
            SetupMessage::Backward { counter, sealed }.encode(),
        ))
    }

    /// Seals the answer to the client's last message, and keeps it to be repeated.
    pub(crate) fn seal_answer(&mut self, message: &HopMessage) -> Body {
        let counter = self.counter.unwrap_or(0);
        let sealed = Box::new(self.keys.backward.seal_setup(counter, &message.encode()));
        let body: Body = Box::new(SetupMessage::Backward { counter, sealed }.encode());
        self.answer = Some(Repeated::sent(body.clone()));
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::{Building, Outcome};
    use crate::config::Hop;
    use hopflow_channel::Fingerprint;
    use hopflow_onion::{OnionSecret, answer};
    use hopflow_units::Cells;

    const LIMIT: Cells = Cells::new(100);

    /// The client's message in the present step.
    fn said(client: &mut Building) -> SetupMessage {
        let step = client.next_try().expect("it is sent a few times");
        SetupMessage::decode(&step.message).expect("it is well-formed")
    }

    fn created(secret: &OnionSecret, handshake: &Handshake) -> (HopKeys, Handshake) {
        answer(secret, handshake, |_| Some(Vec::new())).expect("it is for us")
    }

    /// A client whose first hop has answered, and that hop; the second is the first again.
    fn client_and_relay() -> (Building, Nascent, OnionSecret) {
        let secret = OnionSecret::generate();
        let hop = Hop {
            address: "10.0.0.1:1".parse().expect("an address"),
            fingerprint: Fingerprint::from_bytes([1; 32]),
            onion: secret.public(),
        };
        let mut client = Building::start(vec![hop.clone(), hop], LIMIT);
        let SetupMessage::Create { handshake, .. } = said(&mut client) else {
            panic!("the first message is for the neighbour");
        };
        let (keys, reply) = created(&secret, &handshake);
        let relay = Nascent::new(keys, Box::new([0; 509]));
        assert!(matches!(client.on_answer(&reply), Outcome::Asking));
        (client, relay, secret)
    }

    /// Brings the client's message to the relay.
    fn forward(client: &mut Building, relay: &mut Nascent, has_next: bool) -> Forwarded {
        let SetupMessage::Forward { counter, sealed } = said(client) else {
            panic!("later messages are for the last hop");
        };
        relay.on_forward(counter, sealed, has_next)
    }

    fn backward(body: &Body) -> (u32, Box<[u8; SEALED_SETUP]>) {
        match SetupMessage::decode(body) {
            Ok(SetupMessage::Backward { counter, sealed }) => (counter, sealed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_client_extends_a_circuit_through_a_relay_that_repeats_what_is_lost() {
        let (mut client, mut relay, secret) = client_and_relay();
        let Forwarded::Ours(Ok(request)) = forward(&mut client, &mut relay, false) else {
            panic!("the relay is the last hop");
        };
        assert!(matches!(
            forward(&mut client, &mut relay, false),
            Forwarded::Ignored
        ));
        relay.on_asked(Box::new([9; 509]));
        let again = forward(&mut client, &mut relay, true);
        assert!(matches!(again, Forwarded::AskAgain(body) if *body == [9; 509]));
        assert!(relay.on_answered());
        assert!(!relay.on_answered(), "a repeated answer says nothing new");
        let (_, handshake) = created(&secret, &request.handshake);
        let extended = HopMessage::Extended {
            queue_limit: LIMIT,
            handshake,
        };
        let answer = relay.seal_answer(&extended);
        let again = forward(&mut client, &mut relay, true);
        assert!(matches!(again, Forwarded::AnswerAgain(body) if body == answer));
        let (counter, sealed) = backward(&answer);
        let mut forged = sealed.clone();
        forged[7] ^= 1;
        let outcome = client.on_sealed_answer(counter, forged);
        assert!(matches!(outcome, Outcome::Garbage));
        let outcome = client.on_sealed_answer(counter, sealed.clone());
        assert!(matches!(outcome, Outcome::Built(keys) if keys.len() == 2));
        let outcome = client.on_sealed_answer(counter, sealed);
        assert!(matches!(outcome, Outcome::Stale));
    }

    #[test]
    fn a_refusal_names_the_hop_that_was_asked() {
        let (mut client, mut relay, _) = client_and_relay();
        forward(&mut client, &mut relay, false);
        let reason = Refusal::NotAllowed;
        let (counter, sealed) = backward(&relay.seal_answer(&HopMessage::Refused { reason }));
        let outcome = client.on_sealed_answer(counter, sealed);
        assert!(matches!(outcome, Outcome::Failed(1)));
    }

    #[test]
    fn messages_for_later_hops_pass() {
        let (mut client, mut relay, _) = client_and_relay();
        let relayed = forward(&mut client, &mut relay, true);
        assert!(matches!(relayed, Forwarded::Relayed { new: true, .. }));
        let relayed = forward(&mut client, &mut relay, true);
        assert!(matches!(relayed, Forwarded::Relayed { new: false, .. }));
    }

    #[test]
    fn a_path_has_an_end() {
        let (_, mut relay, _) = client_and_relay();
        let mut relays = |counter| {
            let sealed = Box::new([0; SEALED_SETUP]);
            let forwarded = relay.on_forward(counter, sealed, true);
            matches!(forwarded, Forwarded::Relayed { .. })
        };
        for counter in 1..=u32::from(MOST_RELAYED) {
            for time in 0..TIMES {
                assert!(relays(counter), "message {counter}, {time}");
            }
            assert!(!relays(counter), "message {counter} is repeated for ever");
        }
        assert!(!relays(u32::from(MOST_RELAYED) + 1));
    }

    #[test]
    fn only_the_message_under_way_is_answered_and_as_often_as_it_may_be_repeated() {
        let (_, mut relay, _) = client_and_relay();
        let sealed = || Box::new([0; SEALED_SETUP]);
        assert!(relay.relay_backward(1, sealed()).is_none(), "nobody asked");
        relay.on_forward(1, sealed(), true);
        relay.on_forward(2, sealed(), true);
        for counter in [0, 1, 3] {
            assert!(relay.relay_backward(counter, sealed()).is_none());
        }
        let passed = (0..100).filter(|_| relay.relay_backward(2, sealed()).is_some());
        assert_eq!(passed.count(), usize::from(TIMES));
    }

    #[test]
    fn an_answer_is_repeated_as_often_as_an_honest_client_asks() {
        let (mut client, mut relay, _) = client_and_relay();
        let SetupMessage::Forward { counter, sealed } = said(&mut client) else {
            panic!("later messages are for the last hop");
        };
        let again = |relay: &mut Nascent| {
            let repeats = (0..100).filter(|_| {
                let forwarded = relay.on_forward(counter, sealed.clone(), false);
                matches!(
                    forwarded,
                    Forwarded::AskAgain(_) | Forwarded::AnswerAgain(_)
                )
            });
            repeats.count()
        };
        relay.on_forward(counter, sealed.clone(), false);
        relay.on_asked(Box::new([9; 509]));
        assert_eq!(again(&mut relay), usize::from(TIMES) - 1);
        assert!(relay.on_answered());
        relay.seal_answer(&HopMessage::Refused {
            reason: Refusal::Declined,
        });
        assert_eq!(again(&mut relay), usize::from(TIMES) - 1);
    }

    #[test]
    fn a_message_ahead_of_the_others_makes_none_of_them_free() {
        let (_, mut relay, _) = client_and_relay();
        let mut relays = |counter| {
            let sealed = Box::new([0; SEALED_SETUP]);
            let forwarded = relay.on_forward(counter, sealed, true);
            matches!(forwarded, Forwarded::Relayed { .. })
        };
        assert!(relays(u32::MAX));
        assert!(!relays(2) && !relays(3));
    }

    #[test]
    fn a_message_is_sent_five_times_with_doubling_patience() {
        let (mut client, ..) = client_and_relay();
        let waits: Vec<u64> = std::iter::from_fn(|| client.next_try())
            .map(|step| step.wait.as_nanos() / 1_000_000)
            .collect();
        assert_eq!(waits, [1000, 2000, 4000, 8000, 16_000]);
    }
}
