//! Messages of a transport's own.

use hopflow_units::CircuitId;

/// What a transport tells a neighbour about one flow of a circuit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The circuit, as the two neighbours name it.
    pub circuit: CircuitId,
    /// What the sender is to the flow that the message is about.
    pub sender: Neighbour,
    /// What the transport says, at most [`Message::MAX_BODY`] bytes.
    pub body: Vec<u8>,
}

/// A flow's neighbours, as a node sees them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Neighbour {
    /// Whence the flow's cells come.
    Predecessor,
    /// Where the flow's cells go.
    Successor,
}

impl Message {
    /// The longest body.
    pub const MAX_BODY: usize = 1024;
    /// Encoded bytes before the body: circuit 2, type 1, sender 1, length 2.
    pub const HEADER: u64 = 6;
}
