//! A client's circuits, as its pool and its engine name them.

use std::collections::BTreeMap;

use hopflow_engine::CircuitKey;

use crate::path::Path;
use crate::pool::PoolCircuit;

/// All circuits that the engine builds or has built for the pool.
#[derive(Debug, Default)]
pub(super) struct CircuitNames {
    by_name: BTreeMap<PoolCircuit, Circuit>,
    by_key: BTreeMap<CircuitKey, PoolCircuit>,
}

#[derive(Debug)]
struct Circuit {
    key: CircuitKey,
    /// Its relays, while it is being built.
    path: Option<Path>,
}

impl CircuitNames {
    /// The engine begins to build a circuit.
    pub(super) fn begin(&mut self, name: PoolCircuit, key: CircuitKey, path: Path) {
        let path = Some(path);
        self.by_name.insert(name, Circuit { key, path });
        self.by_key.insert(key, name);
    }

    /// The engine's name of a circuit.
    pub(super) fn key(&self, name: PoolCircuit) -> Option<CircuitKey> {
        Some(self.by_name.get(&name)?.key)
    }

    /// A circuit is built; returns the pool's name of it.
    pub(super) fn on_built(&mut self, key: CircuitKey) -> Option<PoolCircuit> {
        let name = *self.by_key.get(&key)?;
        if let Some(circuit) = self.by_name.get_mut(&name) {
            circuit.path = None;
        }
        Some(name)
    }

    /// A circuit is gone; returns the pool's name of it, and its relays if it was being built.
    pub(super) fn on_closed(&mut self, key: CircuitKey) -> Option<(PoolCircuit, Option<Path>)> {
        let name = self.by_key.remove(&key)?;
        Some((name, self.by_name.remove(&name)?.path))
    }

    /// The pool gave a circuit up; returns the engine's name of it.
    pub(super) fn remove(&mut self, name: PoolCircuit) -> Option<CircuitKey> {
        let circuit = self.by_name.remove(&name)?;
        self.by_key.remove(&circuit.key);
        Some(circuit.key)
    }
}
