//! A relay's part in building circuits: docs/spec/overlay.md, "Building a circuit".

use hopflow_channel::Fingerprint;
use hopflow_onion::setup::{HopMessage, Refusal, SetupMessage};
use hopflow_onion::{Handshake, SEALED_SETUP, answer};
use hopflow_overlay::Direction;
use hopflow_units::{Cells, CircuitId as Name, Duration, Instant, LinkId};
use hopflow_wire::{Reason, Setup};

use super::{Engine, Failure};
use crate::circuit::{Body, Circuit, CircuitKey, Nascent, Phase, Side};
use crate::link::Named;

/// How long the next hop may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the client may take to its next message or first cell: it builds circuits in advance.
const SPARE: Duration = Duration::from_secs(15 * 60);

impl Engine {
    pub(super) fn take_setup(&mut self, now: Instant, link: LinkId, setup: &Setup) {
        let name = setup.circuit;
        let known = self.named(link, name);
        let Ok(message) = SetupMessage::decode(&setup.body) else {
            self.counters.garbage += 1;
            return;
        };
        let from_prev = known.is_none_or(|key| {
            let prev = self.circuits.get(key).and_then(|circuit| circuit.prev);
            prev.is_some_and(|prev| prev.link == link)
        });
        match (message, known) {
            (
                SetupMessage::Create {
                    queue_limit,
                    handshake,
                },
                None,
            ) => self.on_create(now, link, name, queue_limit, &handshake),
            (
                SetupMessage::Create {
                    queue_limit,
                    handshake,
                },
                Some(key),
            ) if from_prev => {
                if self.is_same_create(key, &handshake) {
                    return self.repeat_created(now, key, link);
                }
                // The neighbour closed that circuit, and its word was lost.
                let (reason, why) = (Reason::Requested, Failure::Closed(Reason::Requested));
                self.end_circuit(now, key, reason, Some(link), why);
                self.take_events(now);
                self.on_create(now, link, name, queue_limit, &handshake);
            }
            (_, None) => self.send_destroy(now, link, name, Reason::Unknown),
            (SetupMessage::Forward { counter, sealed }, Some(key)) if from_prev => {
                self.on_forward(now, key, counter, sealed);
            }
            (
                SetupMessage::Created {
                    queue_limit,
                    handshake,
                },
                Some(key),
            ) if !from_prev => self.on_created(now, key, queue_limit, handshake),
            (SetupMessage::Backward { counter, sealed }, Some(key)) if !from_prev => {
                self.on_backward(now, key, counter, sealed);
            }
            _ => self.counters.garbage += 1,
        }
    }

    fn on_create(
        &mut self,
        now: Instant,
        link: LinkId,
        name: Name,
        queue_limit: Cells,
        handshake: &Handshake,
    ) {
        let most = self.config.limits.circuits_per_link;
        let busy = self.link_mut(link).is_none_or(|link| {
            let full = link.names.len() >= most || !link.names.expects(name);
            link.opened_to.is_some() || full
        });
        let relay = self.config.relay.clone();
        let Some(relay) = relay.filter(|_| !busy) else {
            return self.send_destroy(now, link, name, Reason::Other);
        };
        let Ok((keys, reply)) = answer(&relay.onion, handshake, |_| Some(Vec::new())) else {
            self.counters.handshakes_failed += 1;
            return self.send_destroy(now, link, name, Reason::Protocol);
        };
        self.counters.handshakes += 1;
        let created = SetupMessage::Created {
            queue_limit: self.plan.queue_limit,
            handshake: reply,
        };
        let created: Body = Box::new(created.encode());
        self.send_setup(now, link, name, &created);
        let key = self.circuits.insert(Circuit {
            prev: Some(Side {
                link,
                name,
                queue_limit,
            }),
            next: None,
            phase: Phase::Nascent(Box::new(Nascent {
                keys: Box::new(keys),
                created,
                counter: None,
                answer: None,
                asked: None,
            })),
            alarm: None,
            created_by: Some(handshake.clone()),
        });
        if let Some(link) = self.link_mut(link) {
            let leaving = Direction::Backward;
            link.names.insert(
                name,
                Named {
                    circuit: key,
                    leaving,
                },
            );
        }
        self.set_alarm(key, Some(now + SPARE));
    }

    fn is_same_create(&self, key: CircuitKey, handshake: &Handshake) -> bool {
        let circuit = self.circuits.get(key);
        circuit.is_some_and(|circuit| circuit.created_by.as_ref() == Some(handshake))
    }

    /// The answer to a CREATE may have been lost.
    fn repeat_created(&mut self, now: Instant, key: CircuitKey, link: LinkId) {
        if let Some(Circuit {
            prev: Some(prev),
            phase: Phase::Nascent(nascent),
            ..
        }) = self.circuits.get(key)
            && prev.link == link
            && nascent.counter.is_none()
        {
            let (name, created) = (prev.name, nascent.created.clone());
            self.send_setup(now, link, name, &created);
        }
    }

    /// A message from the client: for us if we are the last hop, for the next one otherwise.
    fn on_forward(
        &mut self,
        now: Instant,
        key: CircuitKey,
        counter: u32,
        mut sealed: Box<[u8; SEALED_SETUP]>,
    ) {
        let Some(circuit) = self.circuits.get_mut(key) else {
            return;
        };
        let (prev, next) = (circuit.prev, circuit.next);
        let Phase::Nascent(nascent) = &mut circuit.phase else {
            return;
        };
        // Messages for later hops have higher counters than those for us.
        if nascent.counter.is_some_and(|last| counter <= last) {
            let again = nascent.counter == Some(counter);
            let resend = match (&nascent.answer, &nascent.asked) {
                (Some(answer), _) => prev.map(|prev| (prev, answer.clone())),
                (None, Some(asked)) => next.map(|next| (next, asked.clone())),
                (None, None) => None,
            };
            if let Some((side, body)) = resend.filter(|_| again) {
                self.send_setup(now, side.link, side.name, &body);
            }
            return;
        }
        if let Some(next) = next.filter(|_| nascent.is_extended(next.as_ref())) {
            nascent.keys.forward.apply_setup_layer(counter, &mut sealed);
            let body = Box::new(SetupMessage::Forward { counter, sealed }.encode());
            self.set_alarm(key, Some(now + SPARE));
            return self.send_setup(now, next.link, next.name, &body);
        }
        if nascent.asked.is_some() {
            // One question at a time: the client repeats this one if it is honest.
            return;
        }
        let Ok(plain) = nascent.keys.forward.open_setup(counter, &sealed) else {
            // Anyone on the path can send this; the true message may still come.
            self.counters.garbage += 1;
            return;
        };
        nascent.counter = Some(counter);
        nascent.answer = None;
        match HopMessage::decode(&plain) {
            Ok(HopMessage::Extend {
                address,
                fingerprint,
                handshake,
            }) => {
                let target = (address, Fingerprint::from_bytes(fingerprint));
                if let Err(reason) = self.extend(now, key, target, handshake) {
                    self.answer_client(now, key, &HopMessage::Refused { reason });
                }
            }
            _ => {
                let reason = Refusal::Malformed;
                self.answer_client(now, key, &HopMessage::Refused { reason });
            }
        }
    }

    /// Asks the next hop.
    fn extend(
        &mut self,
        now: Instant,
        key: CircuitKey,
        target: (std::net::SocketAddr, Fingerprint),
        handshake: Handshake,
    ) -> Result<(), Refusal> {
        if !self.may_extend(&target) {
            return Err(Refusal::NotAllowed);
        }
        let link = self.link_to(now, target).ok_or(Refusal::Identity)?;
        let next = self.join(link, key).ok_or(Refusal::Busy)?;
        let create = SetupMessage::Create {
            queue_limit: self.plan.queue_limit,
            handshake,
        };
        let body: Body = Box::new(create.encode());
        self.send_setup(now, link, next, &body);
        self.expect_answer(now, link);
        if let Some(circuit) = self.circuits.get_mut(key) {
            circuit.next = Some(Side {
                link,
                name: next,
                queue_limit: Cells::ZERO,
            });
            if let Phase::Nascent(nascent) = &mut circuit.phase {
                nascent.asked = Some(body);
            }
        }
        self.set_alarm(key, Some(now + PATIENCE));
        Ok(())
    }

    /// Gives a circuit a name on the link to its next hop; `None` if the link has too many.
    pub(super) fn join(&mut self, link: LinkId, circuit: CircuitKey) -> Option<Name> {
        let most = self.config.limits.circuits_per_link;
        let link = self.link_mut(link).filter(|link| link.names.len() < most)?;
        link.names.choose(Named {
            circuit,
            leaving: Direction::Forward,
        })
    }

    /// The next hop is there.
    fn on_created(
        &mut self,
        now: Instant,
        key: CircuitKey,
        queue_limit: Cells,
        handshake: Handshake,
    ) {
        let Some(circuit) = self.circuits.get_mut(key) else {
            return;
        };
        match &mut circuit.phase {
            Phase::Nascent(nascent) => {
                // A repeated answer says nothing new.
                if nascent.asked.take().is_none() {
                    return;
                }
                if let Some(next) = &mut circuit.next {
                    next.queue_limit = queue_limit;
                }
                let message = HopMessage::Extended {
                    queue_limit,
                    handshake,
                };
                self.answer_client(now, key, &message);
            }
            // A repeated answer must not be taken for that of the next hop.
            Phase::Building(building) if building.keys.is_empty() => {
                if let Some(next) = &mut circuit.next {
                    next.queue_limit = queue_limit;
                }
                self.on_answer(now, key, &handshake);
            }
            Phase::Building(_) | Phase::Open { .. } | Phase::Closing => {}
        }
    }

    /// A message from the last hop to the client.
    fn on_backward(
        &mut self,
        now: Instant,
        key: CircuitKey,
        counter: u32,
        mut sealed: Box<[u8; SEALED_SETUP]>,
    ) {
        let Some(circuit) = self.circuits.get(key) else {
            return;
        };
        match (&circuit.phase, circuit.prev) {
            (Phase::Nascent(nascent), Some(prev)) => {
                nascent
                    .keys
                    .backward
                    .apply_setup_layer(counter, &mut sealed);
                let body = Box::new(SetupMessage::Backward { counter, sealed }.encode());
                self.send_setup(now, prev.link, prev.name, &body);
            }
            (Phase::Building(_), None) => self.on_sealed_answer(now, key, counter, sealed),
            _ => {}
        }
    }

    /// Answers the client's last message, and keeps the answer to be repeated.
    fn answer_client(&mut self, now: Instant, key: CircuitKey, message: &HopMessage) {
        let Some(circuit) = self.circuits.get_mut(key) else {
            return;
        };
        let (Some(prev), Phase::Nascent(nascent)) = (circuit.prev, &mut circuit.phase) else {
            return;
        };
        let counter = nascent.counter.unwrap_or(0);
        let sealed = nascent.keys.backward.seal_setup(counter, &message.encode());
        let sealed = Box::new(sealed);
        let body: Body = Box::new(SetupMessage::Backward { counter, sealed }.encode());
        nascent.answer = Some(body.clone());
        self.send_setup(now, prev.link, prev.name, &body);
        self.set_alarm(key, Some(now + SPARE));
    }

    /// The neighbour on `link` closed a circuit that is being built: a next hop that declines is
    /// reported to the client, which may try another one.
    pub(super) fn refuse_or_end(
        &mut self,
        now: Instant,
        key: CircuitKey,
        link: LinkId,
        reason: Reason,
        why: Failure,
    ) {
        let declined = self.circuits.get_mut(key).and_then(|circuit| {
            let next = circuit.next.filter(|next| next.link == link)?;
            let Phase::Nascent(nascent) = &mut circuit.phase else {
                return None;
            };
            nascent.asked.take()?;
            circuit.next = None;
            Some(next)
        });
        let Some(next) = declined else {
            return self.end_circuit(now, key, reason, Some(link), why);
        };
        self.free_name(now, next);
        let reason = Refusal::Declined;
        self.answer_client(now, key, &HopMessage::Refused { reason });
    }
}
