//! How circuits and streams are brought together.

use hopflow_units::{Duration, Instant};

use super::circuit::{CircuitRecord, Fit};
use super::{NoCircuit, Pool, PoolAction, PoolCircuit, RequestKey, Waiting, take_where};
use crate::directory::Relay;
use crate::path::Wish;
use crate::socks::Isolation;

/// Pause after a circuit that could not be built; it doubles with each that follows.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest such pause, 2⁵ times the first.
const MOST_DOUBLINGS: u32 = 5;

impl Pool {
    /// Does all that can be done now.
    pub(super) fn work(&mut self, now: Instant) {
        let unassigned = self
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.circuit.is_none());
        let unassigned: Vec<_> = unassigned.map(|(request, _)| *request).collect();
        self.work_for(now, &unassigned);
    }

    /// Does all that can be done now, where only these streams may be without a circuit.
    pub(super) fn work_for(&mut self, now: Instant, requests: &[RequestKey]) {
        self.pause_until = self.pause_until.filter(|until| now < *until);
        self.close_aged(now);
        for request in requests {
            self.assign(now, *request);
        }
        self.build_spares(now);
    }

    /// Gives a waiting stream a circuit, or at least one that is being built.
    fn assign(&mut self, now: Instant, request: RequestKey) {
        let waiting = &self.waiting[&request];
        match self.best_fit(now, waiting) {
            Some((Fit::OwnOpen | Fit::SpareOpen, key)) => {
                if let Some(waiting) = self.waiting.remove(&request) {
                    self.attach(now, request, &waiting, key);
                }
            }
            Some((Fit::OwnBuilding | Fit::SpareBuilding, key)) => self.reserve(request, key),
            None => self.build_for(now, request),
        }
    }

    fn best_fit(&self, now: Instant, waiting: &Waiting) -> Option<(Fit, PoolCircuit)> {
        let relays = &self.chooser.directory().relays;
        let allowing = self
            .circuits
            .iter()
            .filter(|(_, circuit)| relays[circuit.exit()].may_exit_to(&waiting.target));
        let fits = allowing.filter_map(|(key, circuit)| {
            let fit = circuit.fit(now, &waiting.isolation, &self.config)?;
            Some((fit, *key))
        });
        fits.min()
    }

    /// Builds a circuit for a stream, unless it is too early or there is no room.
    fn build_for(&mut self, now: Instant, request: RequestKey) {
        if self.pause_until.is_some() || !self.make_room() {
            return;
        }
        let waiting = &self.waiting[&request];
        let (target, isolation) = (waiting.target.clone(), waiting.isolation.clone());
        let built = self.build(now, Some(isolation), &|relay| relay.may_exit_to(&target));
        match built {
            Some(key) => self.reserve(request, key),
            None => {
                self.waiting.remove(&request);
                self.refuse(request, NoCircuit::NoPath);
            }
        }
    }

    /// Builds the circuits that are missing of those that are built in advance.
    fn build_spares(&mut self, now: Instant) {
        let port = self.last_port;
        let fits = |relay: &Relay| port.is_none_or(|port| relay.may_exit_to_port(port));
        let spares = self
            .circuits
            .values()
            .filter(|circuit| circuit.owner.is_none());
        let missing = (self.config.spare as usize).saturating_sub(spares.count());
        let room = (self.config.most as usize).saturating_sub(self.circuits.len());
        for _ in 0..missing.min(room) {
            if self.pause_until.is_some() {
                return;
            }
            if self.build(now, None, &fits).is_none() {
                self.pause(now);
            }
        }
    }

    /// Begins a circuit whose exit fits; returns nothing if there is no path.
    fn build(
        &mut self,
        now: Instant,
        owner: Option<Isolation>,
        exit: &dyn Fn(&Relay) -> bool,
    ) -> Option<PoolCircuit> {
        let path = self.chooser.choose(&Wish {
            length: self.config.length.into(),
            exit,
            avoid: &|relay| self.suspects.contain(now, relay),
        })?;
        let circuit = PoolCircuit(self.next_key());
        self.circuits
            .insert(circuit, CircuitRecord::begun(now, path.clone(), owner));
        self.actions.push_back(PoolAction::Build { circuit, path });
        Some(circuit)
    }

    /// Makes a waiting stream wait for a circuit that is being built.
    fn reserve(&mut self, request: RequestKey, key: PoolCircuit) {
        if let (Some(waiting), Some(circuit)) =
            (self.waiting.get_mut(&request), self.circuits.get_mut(&key))
        {
            waiting.circuit = Some(key);
            circuit.owner = Some(waiting.isolation.clone());
        }
    }

    /// Puts a stream, which waits no longer, onto a circuit that is built.
    pub(super) fn attach(
        &mut self,
        now: Instant,
        request: RequestKey,
        waiting: &Waiting,
        key: PoolCircuit,
    ) {
        if let Some(circuit) = self.circuits.get_mut(&key) {
            circuit.add_stream(now, &waiting.isolation);
            self.last_port = Some(waiting.target.port);
            let circuit = key;
            self.actions
                .push_back(PoolAction::Attach { request, circuit });
        }
    }

    pub(super) fn refuse(&mut self, request: RequestKey, reason: NoCircuit) {
        self.actions
            .push_back(PoolAction::Refuse { request, reason });
    }

    /// What follows from the loss of a circuit.
    pub(super) fn lost(
        &mut self,
        now: Instant,
        key: PoolCircuit,
        circuit: &CircuitRecord,
        blame: Option<usize>,
    ) {
        self.suspects.blame(now, &circuit.path, blame);
        self.unassign(key);
        if circuit.is_building() {
            self.pause(now);
        }
    }

    /// Lets streams that wait for a circuit wait for another one.
    pub(super) fn unassign(&mut self, key: PoolCircuit) {
        for waiting in self.waiting.values_mut() {
            waiting.circuit = waiting.circuit.filter(|assigned| *assigned != key);
        }
    }

    /// Lets some time pass before the next attempt.
    fn pause(&mut self, now: Instant) {
        let doublings = self.failures.min(MOST_DOUBLINGS);
        self.failures += 1;
        self.pause_until = Some(now + FIRST_PAUSE * (1 << doublings));
    }

    /// Closes the circuits without streams that take no new ones.
    fn close_aged(&mut self, now: Instant) {
        let config = &self.config;
        let aged = take_where(&mut self.circuits, |circuit| {
            circuit.is_idle() && circuit.timeout(config) <= now
        });
        for (circuit, _) in aged {
            self.actions.push_back(PoolAction::Close { circuit });
        }
    }

    /// Whether there is room for a circuit more, if need be in place of the oldest without streams.
    fn make_room(&mut self) -> bool {
        if self.circuits.len() < self.config.most as usize {
            return true;
        }
        let idle = self
            .circuits
            .iter()
            .filter(|(_, circuit)| circuit.is_idle());
        let oldest = idle.min_by_key(|(_, circuit)| circuit.since());
        let Some(circuit) = oldest.map(|(key, _)| *key) else {
            return false;
        };
        self.circuits.remove(&circuit);
        self.actions.push_back(PoolAction::Close { circuit });
        true
    }

    pub(super) const fn next_key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key
    }
}
