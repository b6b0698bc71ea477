//! How circuits and streams are brought together.

use std::collections::BTreeSet;

use hopflow_units::{Duration, Instant};

use super::circuit::{CircuitRecord, Fit};
use super::{NoCircuit, Pool, PoolAction, PoolCircuit, RequestKey, Waiting, take_where};
use crate::directory::Relay;
use crate::path::{Path, Wish};
use crate::socks::Isolation;

/// Pause after a circuit that could not be built; it doubles with each that follows.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest such pause, 2⁵ times the first.
const MOST_DOUBLINGS: u32 = 5;
/// How often a circuit's legs are replaced at most because another worker of the exit has them: each time an exit
/// with two workers has the next one at the right one in half of the cases.
const MOST_REPLACED: u32 = 4;

/// Who may get a circuit, while streams that wait are gone through: of many that wait for one, most may not, and need no
/// look at all circuits.
struct Prospects {
    /// Who owns a circuit.
    owners: BTreeSet<Isolation>,
    /// Whether there is a circuit that nobody owns.
    unowned: bool,
    /// Whether one more may be built.
    room: bool,
}

impl Prospects {
    fn include(&self, user: &Isolation) -> bool {
        self.unowned || self.room || self.owners.contains(user)
    }
}

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
        match requests {
            [] => {}
            // What it costs to know who may get a circuit, only many save.
            [request] => self.assign(now, *request),
            _ => self.assign_all(now, requests),
        }
        self.build_spares(now);
    }

    /// Gives waiting streams circuits, as far as there are any for them.
    fn assign_all(&mut self, now: Instant, requests: &[RequestKey]) {
        let mut prospects = self.prospects();
        for request in requests {
            if prospects.include(&self.waiting[request].isolation) {
                self.assign_within(now, *request, &mut prospects);
            }
        }
    }

    fn prospects(&self) -> Prospects {
        let owners = self.circuits.values();
        let mut prospects = Prospects {
            owners: owners.filter_map(|it| it.owner.clone()).collect(),
            unowned: true,
            room: true,
        };
        self.narrow(&mut prospects);
        prospects
    }

    /// Notes what there is no more. While streams are gone through, no circuit loses its owner but one that is closed, and
    /// no room comes up.
    fn narrow(&self, prospects: &mut Prospects) {
        let mut circuits = self.circuits.values();
        prospects.unowned = prospects.unowned && circuits.any(|it| it.owner.is_none());
        prospects.room = prospects.room && self.pause_until.is_none() && self.has_room();
    }

    /// Gives a waiting stream a circuit, and notes who may get one after it.
    fn assign_within(&mut self, now: Instant, request: RequestKey, prospects: &mut Prospects) {
        let user = self.waiting[&request].isolation.clone();
        self.assign(now, request);
        let waiting = self.waiting.get(&request);
        if waiting.is_none_or(|it| it.circuit.is_some()) {
            prospects.owners.insert(user);
        }
        self.narrow(prospects);
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
        let fits = self.circuits.iter().filter_map(|(key, circuit)| {
            // A policy is dear in comparison with an owner.
            let fit = circuit.fit(now, &waiting.isolation, &self.config)?;
            let allows = relays[circuit.exit()].may_exit_to(&waiting.target);
            allows.then_some((fit, *key))
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
        let spares = self
            .circuits
            .values()
            .filter(|circuit| circuit.owner.is_none());
        let missing = (self.config.spare as usize).saturating_sub(spares.count());
        let room = (self.config.most as usize).saturating_sub(self.circuits.len());
        if missing.min(room) == 0 || self.pause_until.is_some() {
            return;
        }
        // Who has an application ask for a port that few exits allow must not choose where circuits of others end.
        let directory = self.chooser.directory();
        let port = self.last_port;
        let port = port.filter(|port| directory.most_may_exit_to_port(*port));
        let fits = |relay: &Relay| port.is_none_or(|port| relay.may_exit_to_port(port));
        for _ in 0..missing.min(room) {
            if self.build(now, None, &fits).is_none() {
                return self.pause(now);
            }
        }
    }

    /// Begins a circuit whose exit fits; returns nothing if there is no path. It has as many legs as it may, and as
    /// there are paths to its exit without a relay in common.
    fn build(
        &mut self,
        now: Instant,
        owner: Option<Isolation>,
        exit: &dyn Fn(&Relay) -> bool,
    ) -> Option<PoolCircuit> {
        let first = self.path(now, exit, &[])?;
        let mut record = CircuitRecord::begun(now, vec![first], owner);
        while record.paths.len() < usize::from(self.config.legs.unwrap_or(1))
            && let Some(path) = self.further_path(now, &record, None)
        {
            record.paths.push(path);
        }
        let circuit = PoolCircuit(self.next_key());
        let paths = record.paths.clone();
        self.circuits.insert(circuit, record);
        self.actions.push_back(PoolAction::Build { circuit, paths });
        Some(circuit)
    }

    /// A path whose exit fits, without some relays.
    fn path(
        &mut self,
        now: Instant,
        exit: &dyn Fn(&Relay) -> bool,
        never: &[usize],
    ) -> Option<Path> {
        self.chooser.choose(&Wish {
            length: self.config.length.into(),
            exit,
            avoid: &|relay| self.suspects.contain(now, relay),
            never,
        })
    }

    /// One more path to the exit of a circuit, without relays of its others, and without those that failed: a circuit
    /// works with fewer legs, too. `guard` is its first relay, if that is chosen already.
    fn further_path(
        &mut self,
        now: Instant,
        circuit: &CircuitRecord,
        guard: Option<usize>,
    ) -> Option<Path> {
        // With no relay before the exit all paths are one.
        if self.config.length < 2 {
            return None;
        }
        let relays = &self.chooser.directory().relays;
        let exit = relays[circuit.exit()].fingerprint;
        let mut never = circuit.relays_before_exit();
        never.retain(|relay| guard != Some(*relay));
        let is_out = |relay: &usize| {
            let is_another_guard =
                guard.is_some_and(|guard| guard != *relay) && relays[*relay].guard;
            *relay != circuit.exit() && (is_another_guard || self.suspects.contain(now, *relay))
        };
        never.extend((0..relays.len()).filter(is_out));
        self.path(now, &|relay| relay.fingerprint == exit, &never)
    }

    /// Begins another leg in place of one, by the same guard, so that the exit cannot have clients try many, and another
    /// relay behind it, which decides on the exit's worker. False if there is no other, or others were
    /// tried often or long enough.
    pub(super) fn build_leg(&mut self, now: Instant, circuit: PoolCircuit, leg: usize) -> bool {
        let Some(mut record) = self.circuits.remove(&circuit) else {
            return false;
        };
        let half = Duration::from_nanos(self.config.build_timeout.as_nanos() / 2);
        let in_time = record.replaced < MOST_REPLACED && now < record.since() + half;
        // A guard and an exit are one path.
        let may = in_time && self.config.length > 2;
        let guard = record.paths.get(leg).and_then(|path| path.first().copied());
        let path = may
            .then(|| self.further_path(now, &record, guard))
            .flatten();
        let found = path.is_some();
        if let Some(path) = path {
            record.replace(leg, path.clone());
            let action = PoolAction::BuildLeg { circuit, leg, path };
            self.actions.push_back(action);
        }
        self.circuits.insert(circuit, record);
        found
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

    /// What follows from the loss of a circuit: of one of its legs, at a hop if that is known, or because it was not
    /// built in time. If all its legs were, the exit is to blame, which has not answered.
    pub(super) fn lost(
        &mut self,
        now: Instant,
        key: PoolCircuit,
        circuit: &CircuitRecord,
        failed: Option<(usize, Option<usize>)>,
    ) {
        let all_built = (0..circuit.paths.len()).all(|leg| circuit.has_built(leg));
        if failed.is_none() && circuit.is_building() && all_built {
            self.suspects.blame(now, &[circuit.exit()], None);
        }
        for (leg, path) in circuit.paths.iter().enumerate() {
            match failed {
                Some((failed, blame)) if failed == leg => self.suspects.blame(now, path, blame),
                None if !circuit.has_built(leg) => self.suspects.blame(now, path, None),
                _ => {}
            }
        }
        self.forgive_guards(now);
        self.unassign(key);
        if circuit.is_building() {
            self.pause(now);
        }
    }

    /// Where all guards are to be avoided, this host is more likely to blame for what it could not reach, and once it
    /// can no guard is to be avoided for longer than others.
    fn forgive_guards(&mut self, now: Instant) {
        let relays = self.chooser.directory().relays.iter().zip(0..);
        let guards = relays.filter_map(|(relay, index)| relay.guard.then_some(index));
        self.suspects.forgive_if_all(now, guards);
    }

    /// Lets streams that wait for a circuit wait for another one.
    pub(super) fn unassign(&mut self, key: PoolCircuit) {
        for waiting in self.waiting.values_mut() {
            waiting.circuit = waiting.circuit.filter(|assigned| *assigned != key);
        }
    }

    /// Lets some time pass before the next attempt.
    pub(super) fn pause(&mut self, now: Instant) {
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

    /// Whether there is room for a circuit more, or one without streams whose place it may take.
    fn has_room(&self) -> bool {
        !self.is_full() || self.circuits.values().any(CircuitRecord::is_idle)
    }

    fn is_full(&self) -> bool {
        self.circuits.len() >= self.config.most as usize
    }

    /// Whether there is room for a circuit more, if need be in place of the oldest without streams.
    fn make_room(&mut self) -> bool {
        if !self.is_full() {
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
