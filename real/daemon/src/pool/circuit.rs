//! One circuit of the pool.

use hopflow_units::Instant;

use crate::config::Circuits;
use crate::path::Path;
use crate::socks::Isolation;

/// A circuit, from when its building begins.
#[derive(Debug)]
pub(super) struct CircuitRecord {
    /// The paths of its legs, of which the first is always there.
    pub(super) paths: Vec<Path>,
    /// Which of them are built, bit by bit.
    built: u8,
    /// How often a leg was replaced.
    pub(super) replaced: u32,
    /// Who uses it, or waits for it to be built; nobody else will ever use it once it has had a
    /// stream.
    pub(super) owner: Option<Isolation>,
    /// Streams on it.
    pub(super) streams: u32,
    /// Whether its exit has left a stream without an answer; it takes no new ones then.
    pub(super) doubted: bool,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Building {
        since: Instant,
    },
    /// Its age counts from when it was built, and once it has had a stream, from its first.
    Open {
        since: Instant,
        had_streams: bool,
    },
}

/// How well a circuit fits a stream, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    OwnOpen,
    SpareOpen,
    OwnBuilding,
    SpareBuilding,
}

impl CircuitRecord {
    pub(super) const fn begun(now: Instant, paths: Vec<Path>, owner: Option<Isolation>) -> Self {
        Self {
            paths,
            built: 0,
            replaced: 0,
            owner,
            streams: 0,
            doubted: false,
            state: State::Building { since: now },
        }
    }

    /// It is built.
    pub(super) const fn open(&mut self, now: Instant) {
        self.state = State::Open {
            since: now,
            had_streams: false,
        };
    }

    /// It has one stream more, of `owner`.
    pub(super) fn add_stream(&mut self, now: Instant, owner: &Isolation) {
        if let State::Open {
            had_streams: false, ..
        } = self.state
        {
            self.owner = Some(owner.clone());
            self.state = State::Open {
                since: now,
                had_streams: true,
            };
        }
        self.streams += 1;
    }

    pub(super) const fn is_building(&self) -> bool {
        matches!(self.state, State::Building { .. })
    }

    /// Whether it is built and without streams.
    pub(super) const fn is_idle(&self) -> bool {
        self.streams == 0 && !self.is_building()
    }

    /// When its age, or its time under construction, began.
    pub(super) const fn since(&self) -> Instant {
        let (State::Building { since } | State::Open { since, .. }) = self.state;
        since
    }

    /// When it must be built, or, while it has no streams, be closed.
    pub(super) fn timeout(&self, config: &Circuits) -> Instant {
        match self.state {
            State::Building { since } => since + config.build_timeout,
            State::Open { since, .. } if self.streams == 0 && self.doubted => since,
            State::Open { since, .. } if self.streams == 0 => since + config.max_age,
            State::Open { .. } => Instant::FAR_FUTURE,
        }
    }

    /// How well it fits a stream of `user`; `None` if not at all.
    pub(super) fn fit(&self, now: Instant, user: &Isolation, config: &Circuits) -> Option<Fit> {
        let own = match &self.owner {
            None => false,
            Some(owner) if owner == user => true,
            Some(_) => return None,
        };
        match (self.state, own) {
            (State::Open { .. }, _) if self.doubted => None,
            (State::Open { since, .. }, _) if now >= since + config.max_age => None,
            (State::Open { .. }, true) => Some(Fit::OwnOpen),
            (State::Open { .. }, false) => Some(Fit::SpareOpen),
            (State::Building { .. }, true) => Some(Fit::OwnBuilding),
            (State::Building { .. }, false) => Some(Fit::SpareBuilding),
        }
    }

    /// A leg is built.
    pub(super) const fn note_built(&mut self, leg: usize) {
        self.built |= 1 << leg;
    }

    /// A leg is given up, and one along this path takes its place.
    pub(super) fn replace(&mut self, leg: usize, path: Path) {
        self.built &= !(1 << leg);
        self.replaced += 1;
        if let Some(place) = self.paths.get_mut(leg) {
            *place = path;
        }
    }

    /// Whether a leg is built.
    pub(super) const fn has_built(&self, leg: usize) -> bool {
        self.built & (1 << leg) != 0
    }

    /// The last relay.
    pub(super) fn exit(&self) -> usize {
        let path = self.paths.first();
        *path
            .and_then(|path| path.last())
            .expect("a path has an exit")
    }

    /// All relays of its paths but the last.
    pub(super) fn relays_before_exit(&self) -> Vec<usize> {
        let paths = self.paths.iter().filter_map(|path| path.split_last());
        paths.flat_map(|(_, before)| before).copied().collect()
    }
}
