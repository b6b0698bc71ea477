//! Which circuits a client has, and which carries which stream.
//!
//! The pool decides and the driver does: it tells the pool of streams that want a circuit and of
//! what became of circuits, and takes [`PoolAction`]s. Time is an argument.
//!
//! A *circuit* here may have several legs: circuits of the overlay that end at the same exit and carry its streams
//! together. They are built together, and none outlives another.
//!
//! Some circuits are built in advance for nobody. The first stream of a user takes one of them for
//! that user; streams of others do not share it. A circuit takes new streams until it is of age,
//! and is closed when its last one has ended. A circuit that fails is replaced by one through other
//! relays, if there are any.

mod circuit;
mod leaving;
mod suspects;
mod work;

use std::collections::{BTreeMap, VecDeque};

use hopflow_units::Instant;

use crate::Target;
use crate::config::Circuits;
use crate::path::{Path, PathChooser};
use crate::socks::{Isolation, Reply};
use circuit::{CircuitRecord, Fit};
use leaving::Leaving;
use suspects::Suspects;

/// Streams that wait for circuits at most; another one is refused.
const MOST_WAITING: usize = 4096;

/// A circuit of the pool; numbers are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolCircuit(pub(crate) u64);

/// A stream that wants a circuit; numbers are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKey(u64);

/// What the driver is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolAction {
    /// Build a circuit with all its legs, then tell of it by [`Pool::built`] or [`Pool::closed`]; of a leg that the
    /// exit does not link, by [`Pool::replace_leg`].
    Build {
        /// How the pool calls it.
        circuit: PoolCircuit,
        /// The relays of each leg, as indices into the directory's.
        paths: Vec<Path>,
    },
    /// Build a leg in place of one that is given up.
    BuildLeg {
        /// The circuit.
        circuit: PoolCircuit,
        /// Which of its legs.
        leg: usize,
        /// The leg's relays.
        path: Path,
    },
    /// Open a stream on a circuit, then tell of its end by [`Pool::stream_ended`].
    Attach {
        /// The stream.
        request: RequestKey,
        /// The circuit, which is built.
        circuit: PoolCircuit,
    },
    /// Refuse a stream.
    Refuse {
        /// The stream.
        request: RequestKey,
        /// Why.
        reason: NoCircuit,
    },
    /// Close a circuit with all its legs; the pool has forgotten it.
    Close {
        /// The circuit.
        circuit: PoolCircuit,
    },
}

/// Why a stream gets no circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCircuit {
    /// No path has an exit that allows the target.
    NoPath,
    /// None could be built in time.
    Timeout,
    /// Too many streams wait already.
    TooMany,
}

impl NoCircuit {
    /// The answer to the application.
    pub const fn reply(self) -> Reply {
        match self {
            Self::NoPath => Reply::NotAllowed,
            Self::Timeout => Reply::TtlExpired,
            Self::TooMany => Reply::GeneralFailure,
        }
    }
}

/// How many circuits and streams there are, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Circuits that are being built.
    pub building: usize,
    /// Circuits that are built and that nobody uses yet.
    pub spare: usize,
    /// Circuits that somebody uses or used.
    pub used: usize,
    /// Streams that wait for a circuit.
    pub waiting: usize,
}

/// The circuits of a client.
#[derive(Debug)]
pub struct Pool {
    config: Circuits,
    chooser: PathChooser,
    circuits: BTreeMap<PoolCircuit, CircuitRecord>,
    waiting: BTreeMap<RequestKey, Waiting>,
    suspects: Suspects,
    /// Circuits in a row that could not be built.
    failures: u32,
    /// No circuit is built before this time, which lies in the future of the last call.
    pause_until: Option<Instant>,
    /// Whose circuits left exits without a route.
    leaving: Leaving,
    /// The port that was last asked for: circuits built in advance allow it, if most exits do.
    last_port: Option<u16>,
    next_key: u64,
    actions: VecDeque<PoolAction>,
}

/// A stream that waits.
#[derive(Debug)]
struct Waiting {
    target: Target,
    isolation: Isolation,
    deadline: Instant,
    /// The circuit under construction that it will get.
    circuit: Option<PoolCircuit>,
}

impl Pool {
    /// An empty pool; [`handle_timeout`](Self::handle_timeout) begins its work.
    pub fn new(config: Circuits, chooser: PathChooser) -> Self {
        Self {
            config,
            chooser,
            circuits: BTreeMap::new(),
            waiting: BTreeMap::new(),
            suspects: Suspects::default(),
            failures: 0,
            pause_until: None,
            leaving: Leaving::default(),
            last_port: None,
            next_key: 0,
            actions: VecDeque::new(),
        }
    }

    /// A stream to `target` wants a circuit; it will be attached or refused.
    pub fn request(&mut self, now: Instant, target: Target, isolation: Isolation) -> RequestKey {
        let request = RequestKey(self.next_key());
        if self.waiting.len() >= MOST_WAITING {
            self.refuse(request, NoCircuit::TooMany);
            return request;
        }
        let waiting = Waiting {
            target,
            isolation,
            deadline: now + self.config.stream_timeout,
            circuit: None,
        };
        self.waiting.insert(request, waiting);
        self.work_for(now, &[request]);
        request
    }

    /// A stream that waits is no longer wanted.
    pub fn cancel(&mut self, request: RequestKey) {
        self.waiting.remove(&request);
    }

    /// A circuit is built.
    pub fn built(&mut self, now: Instant, key: PoolCircuit) {
        let circuit = self.circuits.get_mut(&key);
        let Some(circuit) = circuit.filter(|circuit| circuit.is_building()) else {
            return;
        };
        circuit.open(now);
        self.failures = 0;
        self.pause_until = None;
        let served = take_where(&mut self.waiting, |waiting| waiting.circuit == Some(key));
        if served.is_empty() {
            circuit.owner = None;
        }
        for (request, waiting) in served {
            self.attach(now, request, &waiting, key);
        }
        self.work(now);
    }

    /// A circuit could not be built, or is gone, because one of its legs is; `blame` is the hop that failed, counted
    /// from zero, if that is known.
    ///
    /// Streams that it carried, and its other legs, are the driver's to end.
    pub fn closed(&mut self, now: Instant, key: PoolCircuit, leg: usize, blame: Option<usize>) {
        if let Some(circuit) = self.circuits.remove(&key) {
            self.lost(now, key, &circuit, Some((leg, blame)));
            self.work(now);
        }
    }

    /// A leg of a circuit is built: its relays work.
    pub fn leg_built(&mut self, key: PoolCircuit, leg: usize) {
        let Some(circuit) = self.circuits.get_mut(&key) else {
            return;
        };
        circuit.note_built(leg);
        if let Some(path) = circuit.paths.get(leg) {
            self.suspects.clear(path);
        }
    }

    /// The exit does not link a leg with the first one, because another worker of it has that: the leg is given up.
    /// True if another path is tried, by the same guard and another relay behind it, or else the circuit is to have its
    /// first leg alone.
    pub fn replace_leg(&mut self, now: Instant, key: PoolCircuit, leg: usize) -> bool {
        self.build_leg(now, key, leg)
    }

    /// A circuit has its first leg alone.
    pub fn one_leg(&mut self, key: PoolCircuit) {
        if let Some(circuit) = self.circuits.get_mut(&key) {
            circuit.paths.truncate(1);
        }
    }

    /// A circuit, built or not, was given up because this host has another address: no relay is to blame.
    ///
    /// Streams that it carried are the driver's to end.
    pub fn gave_up(&mut self, now: Instant, key: PoolCircuit) {
        if self.circuits.remove(&key).is_some() {
            self.unassign(key);
            self.work(now);
        }
    }

    /// A circuit could not be begun, because this host has no way to the first relay of one of its legs at present.
    /// That relay is not to blame; others are tried before it for a short time.
    pub fn had_no_route(&mut self, now: Instant, key: PoolCircuit, leg: usize) {
        if let Some(circuit) = self.circuits.remove(&key) {
            let first = circuit
                .paths
                .get(leg)
                .and_then(|path| path.first().copied());
            self.suspects.blame(now, first.as_slice(), None);
            self.unassign(key);
            self.pause(now);
            self.work(now);
        }
    }

    /// This host has another address: relays that could not be reached may be, and what waits for a pause
    /// to end need not.
    pub fn on_moved(&mut self, now: Instant) {
        self.suspects = Suspects::default();
        self.failures = 0;
        self.pause_until = self.pause_until.map(|until| until.min(now));
    }

    /// A stream on a circuit got no answer in time, or the circuit had no room for it. It may be dead, which only
    /// those tell whose neighbour noticed: it takes no new streams, and is closed when it has none.
    pub fn doubt(&mut self, key: PoolCircuit) {
        if let Some(circuit) = self.circuits.get_mut(&key) {
            circuit.doubted = true;
        }
    }

    /// The exit of a circuit has no route to the target of a stream, which others may have: the circuit takes no new
    /// streams, as one that is [doubted](Self::doubt). This happens to each user no more often than streams time out,
    /// for otherwise whoever chooses an application's targets could have circuits built until he likes one.
    pub fn exit_had_no_route(&mut self, now: Instant, key: PoolCircuit) {
        if let Some(circuit) = self.circuits.get_mut(&key)
            && let Some(owner) = &circuit.owner
            // One that takes no more streams is left already.
            && circuit.fit(now, owner, &self.config) == Some(Fit::OwnOpen)
            && self.leaving.may(now, owner, self.config.stream_timeout)
        {
            circuit.doubted = true;
        }
    }

    /// A stream that was attached to a circuit has ended.
    pub fn stream_ended(&mut self, now: Instant, key: PoolCircuit) {
        if let Some(circuit) = self.circuits.get_mut(&key) {
            circuit.streams -= 1;
            // Only a circuit without streams makes room for another one.
            if circuit.is_idle() {
                self.work(now);
            }
        }
    }

    /// What the driver is to do next.
    pub fn poll_action(&mut self) -> Option<PoolAction> {
        self.actions.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Instant {
        // All streams wait equally long: the first that came is the first that is due.
        let first = self.waiting.first_key_value();
        let deadline = first.map(|(_, waiting)| waiting.deadline);
        let circuits = self
            .circuits
            .values()
            .map(|circuit| circuit.timeout(&self.config));
        let times = circuits.chain(deadline).chain(self.pause_until);
        times.min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let config = &self.config;
        let late = take_where(&mut self.circuits, |circuit| {
            circuit.is_building() && circuit.timeout(config) <= now
        });
        for (key, circuit) in late {
            self.actions.push_back(PoolAction::Close { circuit: key });
            self.lost(now, key, &circuit, None);
        }
        for (request, _) in take_where(&mut self.waiting, |waiting| waiting.deadline <= now) {
            self.refuse(request, NoCircuit::Timeout);
        }
        self.work(now);
    }

    /// How many circuits and streams there are.
    pub fn counts(&self) -> PoolCounts {
        let mut counts = PoolCounts {
            waiting: self.waiting.len(),
            ..PoolCounts::default()
        };
        for circuit in self.circuits.values() {
            *match (circuit.is_building(), &circuit.owner) {
                (true, _) => &mut counts.building,
                (false, None) => &mut counts.spare,
                (false, Some(_)) => &mut counts.used,
            } += 1;
        }
        counts
    }
}

/// Takes the entries out of a map whose values are chosen.
fn take_where<K: Copy + Ord, V>(
    map: &mut BTreeMap<K, V>,
    chosen: impl Fn(&V) -> bool,
) -> Vec<(K, V)> {
    let found = map.iter().filter(|(_, value)| chosen(value));
    let keys: Vec<_> = found.map(|(key, _)| *key).collect();
    let take = |key| map.remove(&key).map(|value| (key, value));
    keys.into_iter().filter_map(take).collect()
}

#[cfg(test)]
mod tests;
