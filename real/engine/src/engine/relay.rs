//! Circuits that clients build through us: docs/spec/overlay.md, "Building a circuit".

use hopflow_onion::setup::{HopMessage, Refusal, SetupMessage};
use hopflow_onion::{Handshake, SEALED_SETUP, answer};
use hopflow_overlay::Direction;
use hopflow_units::{Cells, CircuitId as Name, Duration, Instant, LinkId};
use hopflow_wire::{Reason, Setup};

use super::Engine;
use crate::circuit::{CircuitState, Forwarded, MOST_RELAYED, Nascent, Phase, Request, Side};
use crate::link::{LinkEnd, MAX_BACKLOG_FULL, Named};
use crate::origin::{Asks, Origin, Prefix};
use crate::types::{Body, CircuitKey, Failure};

/// How long the next hop may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the client may take to its next message or first cell: it builds circuits in advance.
const SPARE: Duration = Duration::from_secs(15 * 60);
/// Messages for later hops that are not metered again: an honest circuit of three relays needs one, and its client
/// could not tell why it is lost.
const PREPAID: u8 = 2;

/// What is kept for others of what set-up may take of a bucket, where a circuit begins.
const BEGINS: Asks = Asks::More(0.25);

/// For what a circuit's message number `count` for later hops asks: the longer its path, the more is kept for others.
fn asks(count: u8) -> Asks {
    if count <= PREPAID {
        return Asks::Further;
    }
    Asks::More(f64::from(count) / f64::from(MOST_RELAYED + 1))
}

impl Engine {
    pub(super) fn take_setup(&mut self, now: Instant, link: LinkId, setup: &Setup) {
        use SetupMessage::{Backward, Create, Created, Forward};
        // A neighbour cannot make us send more at once than we would take ourselves.
        let own = self.plan.link.queue_limit;
        let side = |queue_limit: Cells| Side {
            link,
            name: setup.circuit,
            queue_limit: queue_limit.min(own),
        };
        let Ok(message) = SetupMessage::decode(&setup.body) else {
            self.counters.garbage += 1;
            return;
        };
        let known = self.named(link, setup.circuit);
        let circuit = known.and_then(|key| self.circuits.get(key));
        let from_prev = circuit.is_some_and(|circuit| circuit.comes_from(link));
        match (message, known) {
            (
                Create {
                    queue_limit,
                    handshake,
                    introduction,
                },
                _,
            ) if known.is_none() || from_prev => {
                self.on_introduction(link, introduction.as_ref());
                self.on_create(now, side(queue_limit), known, &handshake);
            }
            (_, None) => self.send_destroy(now, link, setup.circuit, Reason::Unknown),
            (Forward { counter, sealed }, Some(key)) if from_prev => {
                self.on_forward(now, key, counter, sealed);
            }
            (
                Created {
                    queue_limit,
                    handshake,
                },
                Some(key),
            ) if !from_prev => {
                if let Some(link) = self.links.get_mut(link) {
                    link.names.agree(setup.circuit);
                }
                self.on_created(now, key, queue_limit, handshake);
            }
            (Backward { counter, sealed }, Some(key)) if !from_prev => {
                self.on_backward(now, key, counter, sealed);
            }
            _ => self.counters.garbage += 1,
        }
    }

    /// A neighbour asks us to be the next hop of a circuit; `known` has the same name.
    fn on_create(
        &mut self,
        now: Instant,
        prev: Side,
        known: Option<CircuitKey>,
        handshake: &Handshake,
    ) {
        // A neighbour that reads nothing would bring about word after word that circuits are closed.
        let waits = self.host.control_waiting(prev.link).get();
        let by = self.who_begins(prev.link);
        let same = known.is_some_and(|key| self.is_same_create(key, handshake));
        let asks = if same { Asks::Further } else { BEGINS };
        // The client repeats what is dropped.
        if waits >= MAX_BACKLOG_FULL as u64 {
            self.counters.circuits_refused += 1;
            return;
        }
        if !self.affords_setup(now, by, asks) {
            return;
        }
        if let Some(key) = known {
            if same {
                return self.repeat_created(now, key);
            }
            // The neighbour closed that circuit, and its word was lost.
            let (reason, why) = (Reason::Requested, Failure::Closed(Reason::Requested));
            self.end_circuit(now, key, reason, Some(prev.link), why);
            self.take_events(now);
        }
        if let Err(reason) = self.take_create(now, prev, handshake) {
            self.send_destroy(now, prev.link, prev.name, reason);
        }
    }

    /// Begins a circuit for a client, if there is room for it.
    fn take_create(
        &mut self,
        now: Instant,
        prev: Side,
        handshake: &Handshake,
    ) -> Result<(), Reason> {
        if self.admission.is_draining() {
            self.counters.refused_at_rest += 1;
            return Err(Reason::Other);
        }
        // The handshake costs most of all.
        let Some(prefix) = self.may_create(now, prev) else {
            self.counters.circuits_refused += 1;
            return Err(Reason::Other);
        };
        let nascent = self.answer_create(handshake)?;
        self.make_room_for_circuit(now);
        let origin = Origin { prefix, since: now };
        self.admit_circuit(now, prev, nascent, handshake, origin);
        Ok(())
    }

    /// The neighbour's network, if that may begin a circuit of this name.
    fn may_create(&mut self, now: Instant, prev: Side) -> Option<Prefix> {
        let limits = self.config.limits;
        // Only who opened a link begins circuits on it.
        let link = self
            .links
            .get(prev.link)
            .filter(|it| it.opened_to.is_none())?;
        let names = &link.names;
        let has_room = names.expects(prev.name);
        let prefix = self.who_begins(prev.link)?;
        let may = has_room && self.admission.allows_circuit(now, prefix, limits.creates);
        may.then_some(prefix)
    }

    /// Makes room for one more circuit.
    fn make_room_for_circuit(&mut self, now: Instant) {
        let limits = self.config.limits;
        let gone = if self.circuits.nascent().len() >= limits.nascent {
            self.circuits.nascent().first_to_go()
        } else if self.circuits.begun().len() >= limits.circuits {
            self.circuits.first_to_go()
        } else {
            None
        };
        if let Some(key) = gone {
            self.counters.circuits_evicted += 1;
            self.drop_circuit(now, key);
        }
    }

    /// Answers a client's handshake.
    fn answer_create(&mut self, handshake: &Handshake) -> Result<Nascent, Reason> {
        let relay = self.config.relay.as_ref().ok_or(Reason::Other)?;
        let Ok((keys, reply)) = answer(&relay.onion, handshake, |_| Some(Vec::new())) else {
            self.counters.handshakes_failed += 1;
            return Err(Reason::Protocol);
        };
        self.counters.handshakes += 1;
        let created = SetupMessage::Created {
            queue_limit: self.plan.link.queue_limit,
            handshake: reply,
        };
        Ok(Nascent::new(keys, Box::new(created.encode())))
    }

    /// Adds a circuit whose handshake was answered.
    fn admit_circuit(
        &mut self,
        now: Instant,
        prev: Side,
        nascent: Nascent,
        by: &Handshake,
        origin: Origin,
    ) {
        let circuit = CircuitState::nascent(prev, nascent, by.clone(), origin);
        let circuit = self.circuits.insert(circuit);
        let leaving = Direction::Backward;
        if let Some(link) = self.links.get_mut(prev.link) {
            link.names.insert(prev.name, Named { circuit, leaving });
        }
        self.repeat_created(now, circuit);
        self.circuits.set_alarm(circuit, Some(now + SPARE));
    }

    fn is_same_create(&self, key: CircuitKey, handshake: &Handshake) -> bool {
        let circuit = self.circuits.get(key);
        circuit.is_some_and(|circuit| circuit.created_by.as_ref() == Some(handshake))
    }

    /// A circuit that is being built through us, and its side towards the client.
    fn nascent(&mut self, key: CircuitKey) -> Option<(&mut Nascent, Side, Option<Side>)> {
        let circuit = self.circuits.get_mut(key)?;
        match &mut circuit.phase {
            Phase::Nascent(nascent) => Some((nascent, circuit.prev?, circuit.next)),
            _ => None,
        }
    }

    /// Sends the answer to a CREATE, for the first time or because it may have been lost.
    fn repeat_created(&mut self, now: Instant, key: CircuitKey) {
        if let Some((nascent, prev, _)) = self.nascent(key)
            && let Some(created) = nascent.created()
        {
            self.send_setup(now, prev.link, prev.name, &created);
        }
    }

    /// A message from the client: for us if we are the last hop, for the next one otherwise.
    fn on_forward(
        &mut self,
        now: Instant,
        key: CircuitKey,
        counter: u32,
        sealed: Box<[u8; SEALED_SETUP]>,
    ) {
        let Some((nascent, prev, next)) = self.nascent(key) else {
            return;
        };
        match (nascent.on_forward(counter, sealed, next.is_some()), next) {
            (Forwarded::Garbage, _) => self.counters.garbage += 1,
            (Forwarded::AnswerAgain(body), _) => self.send_if_due(now, key, prev, &body),
            (Forwarded::AskAgain(body), Some(next)) => self.send_if_due(now, key, next, &body),
            (Forwarded::Relayed { body, new, count }, Some(next)) => {
                // Who repeats a message does not keep the circuit.
                if new {
                    self.circuits.set_alarm(key, Some(now + SPARE));
                }
                // The client repeats what is dropped.
                let prepaid = new && count <= PREPAID;
                let may = prepaid || self.may_ask_next(now, key);
                if !may {
                    self.counters.circuits_refused += 1;
                } else if self.affords_setup(now, self.beginner(key), asks(count)) {
                    self.send_setup(now, next.link, next.name, &body);
                }
            }
            (Forwarded::TooLong, _) => {
                let why = Failure::Closed(Reason::Protocol);
                self.end_circuit(now, key, Reason::Protocol, None, why);
            }
            (Forwarded::Ours(request), _) => {
                let asked = request.and_then(|request| self.extend(now, key, request));
                if let Err(reason) = asked {
                    self.answer_client(now, key, &HopMessage::Refused { reason });
                }
            }
            (Forwarded::Ignored | Forwarded::AskAgain(_) | Forwarded::Relayed { .. }, _) => {}
        }
    }

    /// Sends a message of the set-up of a circuit that is under way, if there is something left for that: else the
    /// client asks again.
    fn send_if_due(&mut self, now: Instant, key: CircuitKey, to: Side, body: &Body) {
        if self.affords_setup(now, self.beginner(key), Asks::Further) {
            self.send_setup(now, to.link, to.name, body);
        }
    }

    /// Whether a message of the set-up may be sent; counts it if it is dropped.
    fn affords_setup(&mut self, now: Instant, by: Option<Prefix>, asks: Asks) -> bool {
        let affords = self.has_left_for_setup(now, by, asks);
        self.counters.setup_dropped += u64::from(!affords);
        affords
    }

    /// Whether a message of the set-up may be sent. Such messages leave before cells, and therefore have a small part of a
    /// bucket that cells wait for. Of that each network gets no more than it leaves over. So floods leave something for others,
    /// new circuits and those under way for each other, and long paths for short ones.
    fn has_left_for_setup(&mut self, now: Instant, by: Option<Prefix>, asks: Asks) -> bool {
        let Some(level) = self.host.unasked(now) else {
            return true;
        };
        if self.host.owes_much(now) {
            return false;
        }
        let depth = level.depth.get().max(1) as f64;
        let (left, takes) = (level.tokens as f64 / depth, Setup::LEN as f64 / depth);
        match by {
            Some(by) => self.admission.allows_setup(by, left, asks, takes),
            None => left > 0.0,
        }
    }

    /// Who began a circuit.
    fn beginner(&self, key: CircuitKey) -> Option<Prefix> {
        let origin = self.circuits.get(key)?.origin?;
        Some(origin.prefix)
    }

    /// Whether the network that began a circuit may have one more message sent to its next hop, which then counts:
    /// the next hop meters our network as a whole.
    fn may_ask_next(&mut self, now: Instant, key: CircuitKey) -> bool {
        let pace = self.config.limits.creates;
        let by = self.beginner(key);
        by.is_none_or(|by| self.admission.allows_circuit(now, by, pace))
    }

    /// Asks the next hop.
    fn extend(&mut self, now: Instant, key: CircuitKey, request: Request) -> Result<(), Refusal> {
        if !self.may_ask_next(now, key) {
            self.counters.circuits_refused += 1;
            return Err(Refusal::Busy);
        }
        let origin = self.circuits.get(key).and_then(|circuit| circuit.origin);
        let by = origin.map(|origin| origin.prefix);
        if !self.may_extend(&request.target, by) {
            return Err(Refusal::NotAllowed);
        }
        let link = self.link_to(now, request.target, origin)?;
        let name = self.join(link, key).ok_or(Refusal::Busy)?;
        let create = SetupMessage::Create {
            queue_limit: self.plan.link.queue_limit,
            handshake: request.handshake,
            introduction: self.links.get(link).and_then(LinkEnd::introduction),
        };
        let body: Body = Box::new(create.encode());
        // The client repeats what is dropped; then the next hop is asked.
        if self.affords_setup(now, by, Asks::Further) {
            self.send_setup(now, link, name, &body);
            self.expect_answer(now, link);
        }
        if let Some(circuit) = self.circuits.get_mut(key) {
            circuit.next = Some(Side::asked(link, name));
            if let Phase::Nascent(nascent) = &mut circuit.phase {
                nascent.on_asked(body);
            }
        }
        self.circuits.set_alarm(key, Some(now + PATIENCE));
        Ok(())
    }

    /// Gives a circuit a name on the link to its next hop; `None` if the link has no more of them.
    pub(super) fn join(&mut self, link: LinkId, circuit: CircuitKey) -> Option<Name> {
        let link = self.links.get_mut(link)?;
        let leaving = Direction::Forward;
        link.names.choose(Named { circuit, leaving })
    }

    /// The next hop is there.
    fn on_created(
        &mut self,
        now: Instant,
        key: CircuitKey,
        queue_limit: Cells,
        handshake: Handshake,
    ) {
        let sent_at_once = queue_limit.min(self.plan.link.queue_limit);
        let Some(circuit) = self.circuits.get_mut(key) else {
            return;
        };
        match &mut circuit.phase {
            Phase::Nascent(nascent) => {
                // A repeated answer says nothing new.
                if !nascent.on_answered() {
                    return;
                }
                circuit.set_queue_limit(sent_at_once);
                let message = HopMessage::Extended {
                    queue_limit,
                    handshake,
                };
                self.answer_client(now, key, &message);
            }
            // A repeated answer must not be taken for that of the next hop.
            Phase::Building(building) if building.hop() == 0 => {
                circuit.set_queue_limit(sent_at_once);
                self.on_answer(now, key, &handshake);
            }
            Phase::Building(_) | Phase::Open(_) | Phase::Closing => {}
        }
    }

    /// A message from the last hop to the client.
    fn on_backward(
        &mut self,
        now: Instant,
        key: CircuitKey,
        counter: u32,
        sealed: Box<[u8; SEALED_SETUP]>,
    ) {
        if let Some((nascent, prev, _)) = self.nascent(key) {
            if let Some(body) = nascent.relay_backward(counter, sealed) {
                self.send_if_due(now, key, prev, &body);
            }
        } else {
            self.on_sealed_answer(now, key, counter, sealed);
        }
    }

    /// Answers the client's last message.
    fn answer_client(&mut self, now: Instant, key: CircuitKey, message: &HopMessage) {
        if let Some((nascent, prev, _)) = self.nascent(key) {
            let body = nascent.seal_answer(message);
            self.send_if_due(now, key, prev, &body);
            self.circuits.set_alarm(key, Some(now + SPARE));
        }
    }

    /// The neighbour on `link` closed a circuit that is being built: a next hop that declines is
    /// reported to the client.
    pub(super) fn refuse_or_end(
        &mut self,
        now: Instant,
        key: CircuitKey,
        link: LinkId,
        reason: Reason,
        why: Failure,
    ) {
        let declined = self.nascent(key).and_then(|(nascent, _, next)| {
            let next = next.filter(|next| next.link == link)?;
            nascent.on_answered().then_some(next)
        });
        let Some(next) = declined else {
            return self.end_circuit(now, key, reason, Some(link), why);
        };
        if let Some(circuit) = self.circuits.get_mut(key) {
            circuit.next = None;
        }
        self.free_name(now, next);
        let reason = Refusal::Declined;
        self.answer_client(now, key, &HopMessage::Refused { reason });
    }
}
