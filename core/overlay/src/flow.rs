//! Flows: one circuit in one direction, as one node sees it.

use std::fmt;

use hopflow_units::{CircuitId, Instant, LinkId, StreamId};
use hopflow_wire::Payload;

use crate::connection::{Connected, Sink, Source, Tag};
use crate::hop::{Receiver, Sender};
use crate::queue::CellQueue;
use crate::transport::Gates;

/// The direction of a flow along its circuit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Direction {
    /// From the client to the exit: requests.
    Forward,
    /// From the exit to the client: responses.
    Backward,
}

/// A flow, as its node numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(u32);

/// What a node is to a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Cuts application data into cells: the packaging edge.
    Source,
    /// Passes cells on.
    Relay,
    /// Hands data to the application: the delivering edge.
    Sink,
}

/// Where a flow is: its number, role and neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The flow.
    pub flow: FlowId,
    /// What the node is to the flow.
    pub role: Role,
    /// The flow's direction along the circuit.
    pub direction: Direction,
    /// The link to the predecessor, whence cells come; none at the source.
    pub prev: Option<LinkId>,
    /// The link to the successor, where cells go; none at the sink.
    pub next: Option<LinkId>,
}

impl Direction {
    /// The other direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

impl FlowId {
    pub(crate) const fn new(circuit: u32, direction: Direction) -> Self {
        Self(circuit * 2 + direction as u32)
    }

    /// The number as an index into a dense table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The flow of the same circuit in the other direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }

    pub(crate) const fn circuit(self) -> u32 {
        self.0 / 2
    }
}

impl fmt::Debug for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {}", self.0)
    }
}

/// A flow's end of a link: the link, and the circuit's name there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub(crate) link: LinkId,
    pub(crate) circuit: CircuitId,
}

/// The state of a flow: the machine's part and the transport's.
#[derive(Debug)]
pub(crate) struct Flow<S, P> {
    pub(crate) site: Site,
    pub(crate) inbound: Option<Port>,
    pub(crate) outbound: Option<Port>,
    pub(crate) queue: CellQueue<P>,
    pub(crate) gates: Gates,
    pub(crate) state: S,
    pub(crate) receiver: Receiver<P>,
    pub(crate) sender: Sender,
    /// Streams that begin or end here, by their name on the circuit.
    pub(crate) streams: Vec<(StreamId, u32)>,
    /// Streams that ended with another of their circuits; cells of theirs may be under way.
    pub(crate) ended: Vec<StreamId>,
    /// The flows of all circuits of the first stream that has several, this one's among them.
    pub(crate) legs: Vec<FlowId>,
    /// Which of the streams is cut from next.
    pub(crate) turn: usize,
    /// Whether so much was cut that most of it must leave before more is.
    pub(crate) filled: bool,
    /// Whether the flow waits for its turn in the scheduler.
    pub(crate) scheduled: bool,
    /// Whether feedback to the predecessor is pending.
    pub(crate) feedback_pending: bool,
    /// Cells that the predecessor was told to be forwarded.
    pub(crate) reported: u64,
    /// What the transport adds to feedback to the predecessor.
    pub(crate) word: Option<u16>,
    /// The earliest pending timer that serves the sender's deadline.
    pub(crate) alarm: Option<Instant>,
    /// When a timer will look at the flow's rates, if one will.
    pub(crate) pace: Option<Instant>,
    /// When the transport wants to be called.
    pub(crate) timer: Option<Instant>,
    /// The part in the connection that the circuit's ends keep, if they do.
    pub(crate) connected: Option<Box<Connected<P>>>,
}

impl<S, P: Clone> Flow<S, P> {
    pub(crate) fn new(
        site: Site,
        ports: (Option<Port>, Option<Port>),
        gates: Gates,
        state: S,
        sender: Sender,
    ) -> Self {
        Self {
            site,
            inbound: ports.0,
            outbound: ports.1,
            queue: CellQueue::default(),
            gates,
            state,
            receiver: Receiver::default(),
            sender,
            streams: Vec::new(),
            ended: Vec::new(),
            legs: Vec::new(),
            turn: 0,
            filled: false,
            scheduled: false,
            feedback_pending: false,
            reported: 0,
            word: None,
            alarm: None,
            pace: None,
            timer: None,
            connected: None,
        }
    }

    /// Whether a stream ended here, so that what is still heard of it means nothing.
    pub(crate) fn has_ended(&self, stream: StreamId) -> bool {
        self.ended.contains(&stream) && self.streams.iter().all(|(other, _)| *other != stream)
    }

    /// Whether there is a cell to send that its gate does not hold back.
    #[inline]
    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        (self.queue.unsent() > 0 && self.gates.hop.is_open(now))
            || self.sender.wants_resend(&self.queue)
    }
}

impl<S, P: Payload> Flow<S, P> {
    /// The sending end of the circuit's connection, if there is one and it is here.
    pub(crate) fn source(&mut self) -> Option<&mut Source<P>> {
        self.connected.as_mut()?.source()
    }

    /// The receiving end of the circuit's connection, if there is one and it is here.
    pub(crate) fn sink(&mut self) -> Option<&mut Sink> {
        self.connected.as_mut()?.sink()
    }

    /// Takes a cell that begins here.
    #[inline]
    pub(crate) fn push_own(&mut self, cell: P) {
        match self.source() {
            Some(source) => source.push(cell),
            None => self.queue.push(cell),
        }
    }

    /// Cells that wait to leave for the first time.
    #[inline]
    pub(crate) fn waiting(&mut self) -> u64 {
        let kept = self.source().map_or(0, |source| source.unsent());
        self.queue.unsent() + kept
    }

    /// Whether no more cells may be cut, whatever waits.
    #[inline]
    pub(crate) fn is_full(&mut self) -> bool {
        self.source().is_some_and(|source| source.is_full())
    }

    /// Puts a cell into the queue that leaves with this tag.
    pub(crate) fn push_tagged(&mut self, tag: Tag, cell: P) {
        self.queue.push(cell);
        if let Some(connected) = &mut self.connected {
            connected.tags.push_back(tag);
        }
    }
}
