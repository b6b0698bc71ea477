//! The circuits of a node: two flows each, and an edge where the circuit begins or ends here.

mod flow;
mod queue;
mod wake;

use std::ops::{Index, IndexMut};

pub(crate) use flow::Flow;
pub use queue::QueueView;
pub(crate) use queue::{CellQueue, rest};
pub(crate) use wake::{Alarm, Fired};

use hopflow_wire::{Payload, Reason};

use crate::edge::Edge;
use crate::site::Port;
use crate::slots::{SlotId, Slots};
use crate::{CircuitHandle, Direction, FlowId, Violation};

/// A circuit at a node.
#[derive(Clone, Debug)]
pub(crate) struct Circuit<S, P: Payload> {
    flows: [Flow<S, P>; 2],
    /// Where the circuit begins or ends here: what packages and delivers.
    pub(crate) edge: Option<Box<Edge>>,
}

impl<S, P: Payload> Circuit<S, P> {
    /// The ports of the circuit: towards the client, and towards the exit.
    pub(crate) fn ports(&self) -> [Option<Port>; 2] {
        let forward = &self[Direction::Forward];
        [forward.inbound, forward.outbound]
    }

    /// The flows, the forward one first.
    pub(crate) fn flows_mut(&mut self) -> &mut [Flow<S, P>; 2] {
        &mut self.flows
    }

    /// The flows and the edge of a circuit that ends.
    pub(crate) fn into_parts(self) -> ([Flow<S, P>; 2], Option<Box<Edge>>) {
        (self.flows, self.edge)
    }

    /// The flows, the forward one first, and the edge.
    pub(crate) fn parts_mut(&mut self) -> (&mut [Flow<S, P>; 2], Option<&mut Edge>) {
        (&mut self.flows, self.edge.as_deref_mut())
    }

    /// The direction of the flow that begins here, if one does.
    pub(crate) fn source(&self) -> Option<Direction> {
        self.edge.as_ref().map(|edge| edge.source)
    }
}

impl<S, P: Payload> Index<Direction> for Circuit<S, P> {
    type Output = Flow<S, P>;

    #[inline]
    fn index(&self, direction: Direction) -> &Flow<S, P> {
        &self.flows[direction as usize]
    }
}

impl<S, P: Payload> IndexMut<Direction> for Circuit<S, P> {
    #[inline]
    fn index_mut(&mut self, direction: Direction) -> &mut Flow<S, P> {
        &mut self.flows[direction as usize]
    }
}

/// Who closes a circuit, and why.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Closing {
    /// This node.
    Here(Reason),
    /// The neighbour at this port.
    Neighbour(Port, Reason),
    /// This node, because a peer broke the protocol.
    Broken(Violation),
}

impl Closing {
    /// What neighbours learn, who knows it already, and what was broken.
    pub(crate) const fn parts(self) -> (Reason, Option<Port>, Option<Violation>) {
        match self {
            Self::Here(reason) => (reason, None, None),
            Self::Neighbour(port, reason) => (reason, Some(port), None),
            Self::Broken(violation) => (violation.reason(), None, Some(violation)),
        }
    }
}

/// The table of circuits.
#[derive(Clone, Debug)]
pub(crate) struct Circuits<S, P: Payload>(Slots<Circuit<S, P>>);

impl<S, P: Payload> Default for Circuits<S, P> {
    fn default() -> Self {
        Self(Slots::default())
    }
}

impl<S, P: Payload> Circuits<S, P> {
    /// The place that the next circuit gets.
    pub(crate) fn vacant(&self) -> u32 {
        self.0.vacant()
    }

    pub(crate) fn insert(
        &mut self,
        flows: [Flow<S, P>; 2],
        edge: Option<Box<Edge>>,
    ) -> CircuitHandle {
        CircuitHandle(self.0.insert(Circuit { flows, edge }))
    }

    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<&Circuit<S, P>> {
        self.0.get(place)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> Option<&mut Circuit<S, P>> {
        self.0.get_mut(place)
    }

    pub(crate) fn flow(&self, id: FlowId) -> Option<&Flow<S, P>> {
        let circuit = self.0.get(id.circuit())?;
        Some(&circuit[id.direction()])
    }

    pub(crate) fn remove(&mut self, place: u32) -> Option<Circuit<S, P>> {
        self.0.remove(place)
    }

    /// The place of a circuit that is open.
    pub(crate) fn place(&self, handle: CircuitHandle) -> Option<u32> {
        self.0.place(handle.0)
    }

    /// The handle of the circuit at a place.
    pub(crate) fn handle(&self, place: u32) -> CircuitHandle {
        let id: SlotId = self.0.id(place);
        CircuitHandle(id)
    }

    /// Places that are or were in use.
    pub(crate) fn places(&self) -> u32 {
        self.0.places()
    }

    /// All circuits in the order of their places.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Circuit<S, P>> {
        self.0.iter_mut()
    }
}
