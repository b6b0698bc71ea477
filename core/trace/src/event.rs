//! What may happen to a circuit at one of its nodes.

use hopflow_overlay::{Direction, Hold};
use hopflow_units::{Bytes, Cells, Instant};
use hopflow_wire::{Frame, Reason, RelayCommand};

/// What a node is to a circuit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// Its user is there.
    Client,
    /// It passes cells on.
    Relay,
    /// The user's server is there, or behind it.
    Exit,
}

/// What is noted of a cell's payload. Application data never is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Contents {
    /// The command of the relay header, where it can be read.
    pub command: Option<RelayCommand>,
    /// Where its data begins in the stream, if that is known.
    pub offset: Option<u32>,
    /// How much data it has, if that is known and not nothing.
    pub length: Option<u16>,
}

/// Something that happened to a circuit at a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// Which of the circuits that the user has one after the other; in simulations.
    pub turn: u32,
    /// Which of the paths that the user has side by side; in simulations.
    pub leg: u32,
    /// Which of the circuit's streams, counted from zero as they begin, if it is about one.
    pub stream: u32,
    /// The flow that it is about; `None` if it is about the circuit.
    pub direction: Option<Direction>,
    /// What happened.
    pub step: Step,
}

/// What happened to a circuit at a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// The application wrote data: where in its stream, and how much.
    Written(Bytes, Bytes),
    /// Data was packaged into cells.
    Packaged(Bytes, Bytes),
    /// Data reached the application.
    Delivered(Bytes, Bytes),
    /// The node sent a frame; whether it is a cell that the node sent before.
    Sent(Frame<Contents>, bool),
    /// The node received a frame.
    Received(Frame<Contents>),
    /// Queue or windows changed.
    Flow(FlowState),
    /// What keeps the first cell of the queue from leaving changed; `None` of an empty queue.
    Queue(Option<Hold>),
    /// What keeps a source from packaging data that waits changed; `None` if none waits.
    Package(Option<Hold>),
    /// The circuit is closed here; the reason that its neighbours learned, if they learned one.
    Closed(Option<Reason>),
}

/// Queue and window of a flow at a node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowState {
    /// Cells that wait to be sent, or at the sink to be taken.
    pub queued: Cells,
    /// Cells that passed the gate and were not yet released.
    pub outstanding: Cells,
    /// The hop's window, or at a source without hop control that from end to end, if there is one.
    pub window: Option<Cells>,
}

impl Step {
    /// What comes first of what is simultaneous: causes before their effects, as far as steps tell.
    pub const fn rank(&self) -> u8 {
        match self {
            Self::Received(_) => 0,
            Self::Written(..) => 1,
            Self::Packaged(..) => 2,
            Self::Sent(..) => 3,
            Self::Delivered(..) => 4,
            Self::Flow(_) | Self::Queue(_) | Self::Package(_) | Self::Closed(_) => 5,
        }
    }
}
