//! A client's circuits, as its pool and its engine name them.

use std::collections::BTreeMap;

use aws_lc_rs::rand;
use hopflow_engine::{CircuitKey, Engine};
use hopflow_onion::LinkRequest;
use hopflow_units::Instant;

use super::closing::{Closing, Sent};
use crate::path::Path;
use crate::pool::PoolCircuit;

/// All circuits that the engine builds or has built for the pool.
#[derive(Debug, Default)]
pub(super) struct CircuitNames {
    by_name: BTreeMap<PoolCircuit, Circuit>,
    by_key: BTreeMap<CircuitKey, (PoolCircuit, usize)>,
    /// Those that the pool has forgotten.
    pub(super) closing: Closing,
}

/// A circuit of the pool: one of the engine, or several that the exit is to link.
#[derive(Debug)]
struct Circuit {
    legs: Vec<Leg>,
    /// What the exit knows the set by; of one leg, nothing.
    set: [u8; 32],
}

/// A circuit of the engine.
#[derive(Debug, Default)]
struct Leg {
    /// There once the engine builds it.
    key: Option<CircuitKey>,
    /// Its relays, while it is being built.
    path: Option<Path>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// It is being built, or the exit has not answered yet.
    #[default]
    Begun,
    /// It is built, and needs nobody to link it, or the exit does not.
    Alone,
    /// It is built, and a leg at this worker of the exit.
    Linked(u16),
}

/// How far a circuit of the pool is, of which a leg was built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// Legs are being built.
    Building,
    /// All its legs are built, and linked.
    Built,
    /// This leg is not at the worker that has the first one.
    Apart(usize),
    /// The exit links none.
    Single,
}

impl CircuitNames {
    /// The pool wants a circuit of so many legs.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(super) fn add(&mut self, name: PoolCircuit, legs: usize) -> std::io::Result<()> {
        let mut set = [0; 32];
        if legs > 1 {
            rand::fill(&mut set).map_err(std::io::Error::other)?;
        }
        let legs = (0..legs).map(|_| Leg::default()).collect();
        self.by_name.insert(name, Circuit { legs, set });
        Ok(())
    }

    /// Whether a leg is to be built.
    pub(super) fn wants(&self, name: PoolCircuit, leg: usize) -> bool {
        let circuit = self.by_name.get(&name);
        let leg = circuit.and_then(|circuit| circuit.legs.get(leg));
        leg.is_some_and(|leg| leg.key.is_none())
    }

    /// What a leg's exit is to link it with.
    fn link(&self, name: PoolCircuit, leg: usize) -> Option<LinkRequest> {
        let circuit = self.by_name.get(&name)?;
        let count = |number: usize| u8::try_from(number).ok();
        (circuit.legs.len() > 1).then_some(LinkRequest {
            set: circuit.set,
            leg: count(leg)?,
            legs: count(circuit.legs.len())?,
        })
    }

    /// The engine begins to build a leg.
    pub(super) fn begin(&mut self, (name, leg): (PoolCircuit, usize), key: CircuitKey, path: Path) {
        let circuit = self.by_name.get_mut(&name);
        if let Some(place) = circuit.and_then(|circuit| circuit.legs.get_mut(leg)) {
            *place = Leg {
                key: Some(key),
                path: Some(path),
                state: State::Begun,
            };
            self.by_key.insert(key, (name, leg));
        }
    }

    /// The engine's names of a circuit's legs, in their order.
    pub(super) fn keys(&self, name: PoolCircuit) -> Vec<CircuitKey> {
        let circuit = self.by_name.get(&name);
        let legs = circuit.into_iter().flat_map(|circuit| &circuit.legs);
        legs.filter_map(|leg| leg.key).collect()
    }

    /// What left on a circuit.
    pub(super) fn sent(&self, engine: &Engine, name: PoolCircuit) -> Sent {
        Sent::of(engine, &self.keys(name))
    }

    /// Takes a circuit that the pool has forgotten and that is quiet.
    pub(super) fn take_quiet(&mut self, now: Instant, engine: &Engine) -> Option<PoolCircuit> {
        let mut closing = std::mem::take(&mut self.closing);
        let quiet = closing.take_quiet(now, |name| self.sent(engine, name));
        self.closing = closing;
        quiet
    }

    /// A leg is built; returns the pool's name of its circuit, which leg it is, and what the exit is to link it
    /// with.
    pub(super) fn on_built(
        &mut self,
        key: CircuitKey,
    ) -> Option<(PoolCircuit, usize, Option<LinkRequest>)> {
        let (name, number) = *self.by_key.get(&key)?;
        let link = self.link(name, number);
        let leg = self.leg_mut(name, number)?;
        leg.path = None;
        if link.is_none() {
            leg.state = State::Alone;
        }
        Some((name, number, link))
    }

    /// The exit said at which worker a circuit is a leg, if it is one; returns the pool's name of its circuit, unless
    /// nobody waits for that answer.
    pub(super) fn on_linked(
        &mut self,
        key: CircuitKey,
        worker: Option<u16>,
    ) -> Option<PoolCircuit> {
        let (name, number) = *self.by_key.get(&key)?;
        let leg = self.leg_mut(name, number)?;
        let waits = leg.state == State::Begun && leg.path.is_none();
        leg.state = waits.then(|| worker.map_or(State::Alone, State::Linked))?;
        Some(name)
    }

    fn leg_mut(&mut self, name: PoolCircuit, leg: usize) -> Option<&mut Leg> {
        self.by_name.get_mut(&name)?.legs.get_mut(leg)
    }

    /// How far a circuit is.
    pub(super) fn progress(&self, name: PoolCircuit) -> Progress {
        let legs = self.by_name.get(&name).map(|circuit| &circuit.legs);
        let Some((first, others)) = legs.and_then(|legs| legs.split_first()) else {
            return Progress::Building;
        };
        match first.state {
            State::Begun => return Progress::Building,
            State::Alone if others.is_empty() => return Progress::Built,
            State::Alone => return Progress::Single,
            State::Linked(_) => {}
        }
        let is_apart = |leg: &Leg| leg.state != State::Begun && leg.state != first.state;
        if let Some(apart) = others.iter().position(is_apart) {
            return Progress::Apart(apart + 1);
        }
        if others.iter().all(|leg| leg.state == first.state) {
            Progress::Built
        } else {
            Progress::Building
        }
    }

    /// A leg is given up; returns the engine's name of it.
    pub(super) fn remove_leg(&mut self, name: PoolCircuit, leg: usize) -> Option<CircuitKey> {
        let leg = self.by_name.get_mut(&name)?.legs.get_mut(leg)?;
        let key = std::mem::take(leg).key?;
        self.by_key.remove(&key);
        Some(key)
    }

    /// All legs but the first are given up; returns the engine's names of them.
    pub(super) fn keep_first(&mut self, name: PoolCircuit) -> Vec<CircuitKey> {
        let Some(circuit) = self.by_name.get_mut(&name) else {
            return Vec::new();
        };
        if let Some(first) = circuit.legs.first_mut() {
            first.state = State::Alone;
        }
        let legs = circuit.legs.drain(1..);
        let keys: Vec<_> = legs.filter_map(|leg| leg.key).collect();
        for key in &keys {
            self.by_key.remove(key);
        }
        keys
    }

    /// A circuit is gone: returns the pool's name of it, which of its legs it was, and its relays if it was
    /// being built. The other legs stay until the circuit is [removed](Self::remove).
    pub(super) fn on_closed(
        &mut self,
        key: CircuitKey,
    ) -> Option<(PoolCircuit, usize, Option<Path>)> {
        let (name, leg) = self.by_key.remove(&key)?;
        let gone = std::mem::take(self.by_name.get_mut(&name)?.legs.get_mut(leg)?);
        Some((name, leg, gone.path))
    }

    /// A circuit is given up; returns the engine's names of the legs that are there.
    pub(super) fn remove(&mut self, name: PoolCircuit) -> Vec<CircuitKey> {
        let keys = self.keys(name);
        self.by_name.remove(&name);
        for key in &keys {
            self.by_key.remove(key);
        }
        keys
    }
}
