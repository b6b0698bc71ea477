//! Circuits that we build.

use hopflow_onion::{Handshake, SEALED_SETUP};
use hopflow_units::Instant;
use hopflow_wire::Reason;

use super::Engine;
use crate::circuit::{Building, CircuitState, Outcome, Phase, Side};
use crate::config::Hop;
use crate::crypt::{Crypt, Numbering};
use crate::types::CircuitKey;
use crate::types::{Event, Failure};

impl Engine {
    /// Begins to build a circuit along `path`. [`Event::Built`] or [`Event::Closed`] follows.
    ///
    /// # Panics
    /// If the path is empty.
    pub fn build(&mut self, now: Instant, path: Vec<Hop>) -> CircuitKey {
        let first = path.first().expect("a circuit has hops");
        let target = (first.address, first.fingerprint);
        let building = Building::start(path, self.plan.link.queue_limit);
        let key = self.circuits.insert(CircuitState::building(building));
        let link = self.link_to(now, target, None).ok();
        let joined = link.and_then(|link| Some(Side::asked(link, self.join(link, key)?)));
        let Some(side) = joined else {
            let why = Failure::Hop { hop: 0 };
            self.end_circuit(now, key, Reason::Unreachable, None, why);
            return key;
        };
        if let Some(circuit) = self.circuits.get_mut(key) {
            circuit.next = Some(side);
        }
        self.send_step(now, key);
        key
    }

    fn building(&mut self, key: CircuitKey) -> Option<(&mut Building, Option<Side>)> {
        let circuit = self.circuits.get_mut(key)?;
        match &mut circuit.phase {
            Phase::Building(building) => Some((building, circuit.next)),
            _ => None,
        }
    }

    /// Sends the message of the present step, again or for the first time; gives up if that was
    /// often enough.
    pub(super) fn send_step(&mut self, now: Instant, key: CircuitKey) {
        let Some((building, Some(next))) = self.building(key) else {
            return;
        };
        let hop = building.hop();
        let Some(step) = building.next_try() else {
            return self.fail(now, key, Failure::of_asked(hop));
        };
        self.send_setup(now, next.link, next.name, &step.message);
        if step.for_neighbour {
            self.expect_answer(now, next.link);
        }
        self.circuits.set_alarm(key, Some(now + step.wait));
    }

    /// Which hop a circuit that we build waits for.
    pub(super) fn building_hop(&self, key: CircuitKey) -> Option<usize> {
        match &self.circuits.get(key)?.phase {
            Phase::Building(building) => Some(building.hop()),
            _ => None,
        }
    }

    fn fail(&mut self, now: Instant, key: CircuitKey, why: Failure) {
        self.end_circuit(now, key, Reason::Requested, None, why);
    }

    /// The last hop answered by a sealed message.
    pub(super) fn on_sealed_answer(
        &mut self,
        now: Instant,
        key: CircuitKey,
        counter: u32,
        sealed: Box<[u8; SEALED_SETUP]>,
    ) {
        if let Some((building, _)) = self.building(key) {
            let outcome = building.on_sealed_answer(counter, sealed);
            self.follow(now, key, outcome);
        }
    }

    /// The neighbour answered the handshake.
    pub(super) fn on_answer(&mut self, now: Instant, key: CircuitKey, handshake: &Handshake) {
        if let Some((building, _)) = self.building(key) {
            let outcome = building.on_answer(handshake);
            self.follow(now, key, outcome);
        }
    }

    /// Does what follows from an answer.
    fn follow(&mut self, now: Instant, key: CircuitKey, outcome: Outcome) {
        match outcome {
            Outcome::Stale => {}
            Outcome::Garbage => self.counters.garbage += 1,
            Outcome::Failed(hop) => self.fail(now, key, Failure::Hop { hop }),
            Outcome::Asking => {
                self.counters.handshakes += 1;
                self.send_step(now, key);
            }
            Outcome::Built(keys) => {
                self.counters.handshakes += 1;
                let numbering = Numbering::of(&self.plan);
                self.open_circuit(key, Crypt::client(keys, numbering));
                self.reports.events.push_back(Event::Built { circuit: key });
            }
        }
    }
}
