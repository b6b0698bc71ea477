//! Circuits as the nodes on their way name them, and who closed them.

use hopflow_overlay::CircuitHandle;
use hopflow_wire::Reason;

use super::streams::End;

/// A circuit of a [`Chain`](super::Chain), by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CircuitNo(pub(super) usize);

/// A circuit's hops, and which of them closed it.
#[derive(Debug)]
pub(super) struct CircuitState {
    /// The nodes from the client to the exit, and what each calls the circuit.
    pub(super) hops: Vec<(usize, CircuitHandle)>,
    /// Why each hop closed it, if it did.
    pub(super) closed: Vec<Option<Reason>>,
}

impl CircuitState {
    pub(super) fn at(&self, end: End) -> (usize, CircuitHandle) {
        match end {
            End::Client => self.hops[0],
            End::Exit => self.hops[self.hops.len() - 1],
        }
    }

    /// A hop that has not closed the circuit. A node may have given the handle of a closed circuit
    /// to another one.
    pub(super) fn open_hop(&self, hop: usize) -> Option<(usize, CircuitHandle)> {
        self.closed[hop].is_none().then(|| self.hops[hop])
    }
}

/// All circuits of a chain.
#[derive(Debug, Default)]
pub(super) struct Circuits {
    states: Vec<CircuitState>,
    closures_expected: bool,
}

impl Circuits {
    /// The number of the next circuit.
    pub(super) const fn next_number(&self) -> CircuitNo {
        CircuitNo(self.states.len())
    }

    pub(super) fn add(&mut self, hops: Vec<(usize, CircuitHandle)>) -> CircuitNo {
        let number = self.next_number();
        let closed = vec![None; hops.len()];
        self.states.push(CircuitState { hops, closed });
        number
    }

    pub(super) fn get(&self, circuit: CircuitNo) -> &CircuitState {
        &self.states[circuit.0]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &CircuitState> {
        self.states.iter()
    }

    pub(super) const fn expect_closures(&mut self) {
        self.closures_expected = true;
    }

    /// Notes that a node closed a circuit, which fails the test unless that is expected.
    pub(super) fn on_closed(&mut self, node: usize, circuit: CircuitHandle, reason: Reason) {
        assert!(
            self.closures_expected,
            "node {node} closes {circuit:?}: {reason:?}"
        );
        for state in &mut self.states {
            let here = state.hops.iter().position(|hop| *hop == (node, circuit));
            if let Some(hop) = here {
                state.closed[hop].get_or_insert(reason);
            }
        }
    }
}
