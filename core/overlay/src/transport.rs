//! What a transport decides: hooks that set gates.

use std::fmt::Debug;

use hopflow_units::{Bytes, Cells, Duration, Instant, LinkId, StreamId};
use hopflow_wire::{Neighbour, RelayCommand, RelayHeader};

use crate::{FlowId, Gate, NodeEnv, Plan, Site, Violation};

/// A transport: how fast each flow may go.
///
/// `self` is what all flows of a node share, [`Transport::Flow`] what one flow has for itself. The
/// machine calls the hooks; they set windows, credits and rates of [`Gate`]s and may send messages.
/// Whatever a transport does not need, it leaves out. Hooks that take what a peer said return a
/// [`Violation`] if the peer broke the protocol; the circuit is then closed.
pub trait Transport: Debug + Sized + Send + 'static {
    /// The name in scenarios and results.
    const NAME: &'static str;
    /// Parameters; valid, for they are checked where they are read.
    type Config: Clone + Debug + Send + Sync + 'static;
    /// State of one flow.
    type Flow: Debug + Send;

    /// What the transport needs of the machine.
    fn plan(config: &Self::Config) -> Plan;

    /// The state that the flows of one node share.
    fn new(config: &Self::Config, env: &NodeEnv) -> Self;

    /// A flow begins: sets up its gates.
    fn open(&mut self, site: &Site, gates: &mut Gates) -> Self::Flow;

    /// A stream begins at this end of its circuits: sets up the window of what it sends.
    fn open_stream(&mut self, gate: &mut Gate) {
        let _ = gate;
    }

    /// A stream ends. Its name may be given to another one.
    fn close_stream(&mut self, flow: &mut Self::Flow, stream: StreamId) {
        let _ = (flow, stream);
    }

    /// A flow ends. Its number may be given to another one.
    fn close(&mut self, site: &Site, flow: &mut Self::Flow) {
        let _ = (site, flow);
    }

    /// At the source, a cell of data was cut: it has passed the end-to-end gate and waits in the
    /// queue.
    fn on_cut(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>) {
        let _ = (flow, cx);
    }

    /// A cell arrived from the predecessor, in order.
    fn on_arrival(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>) {
        let _ = (flow, cx);
    }

    /// A cell leaves for the successor, for the first time.
    fn on_departure(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>) {
        let _ = (flow, cx);
    }

    /// At the sink, a cell of `stream` left the circuit's queue.
    fn on_taken(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>, stream: StreamId) {
        let _ = (flow, cx, stream);
    }

    /// At the sink, the application took a cell of `stream`: at once, or later if it did not read.
    fn on_consumed(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>, stream: StreamId) {
        let _ = (flow, cx, stream);
    }

    /// The successor reports cells as forwarded, or says something new in its word. The cells have
    /// been released from the hop's gate.
    fn on_forwarded(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>, sample: &Forwarded) {
        let _ = (flow, cx, sample);
    }

    /// The successor acknowledges cells.
    fn on_ack(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>, sample: &AckSample) {
        let _ = (flow, cx, sample);
    }

    /// Cells towards the successor were lost.
    fn on_loss(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>, sample: &LossSample) {
        let _ = (flow, cx, sample);
    }

    /// At the source, the far end sent a command other than data.
    ///
    /// # Errors
    /// If the transport does not expect the command, or not this one now.
    fn on_far_end(
        &mut self,
        flow: &mut Self::Flow,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        let _ = (flow, cx, header);
        Err(Violation::Unexpected)
    }

    /// The time that [`FlowCx::set_timer`] asked for has come.
    fn on_timer(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>) {
        let _ = (flow, cx);
    }

    /// A link's flows measured a round trip or a loss: for control over all circuits of a node.
    fn on_link(&mut self, cx: &mut LinkCx<'_>, sample: &LinkSample) {
        let _ = (cx, sample);
    }

    /// The node's regular call, if the plan asks for one.
    fn on_tick(&mut self, cx: &mut NodeCx<'_, Self::Flow>) {
        let _ = cx;
    }

    /// A neighbour sent a message about a flow, see [`NodeCx::tell`].
    ///
    /// # Errors
    /// If the message is not one of the transport's.
    fn on_message(
        &mut self,
        flow: &mut Self::Flow,
        cx: &mut FlowCx<'_>,
        sender: Neighbour,
        body: &[u8],
    ) -> Result<(), Violation> {
        let _ = (flow, cx, sender, body);
        Err(Violation::Unexpected)
    }
}

/// A flow's gates.
#[derive(Debug, Default)]
pub struct Gates {
    /// Lets cells out to the successor. Every cell passes it; forward feedback releases it, or
    /// acknowledgements where there is no such feedback.
    pub hop: Gate,
    /// At the source, lets data be cut into cells: end-to-end control. The transport releases it.
    pub end: Gate,
    /// At the source of a stream with several circuits: of those that may cut a cell, the one of
    /// the least rank does. While it is zero, as at first, the circuit cuts what it can.
    pub rank: u64,
    /// Whether a circuit of greater rank waits for one of less even while that may cut none.
    pub faithful: bool,
}

/// What is in a flow's queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueView {
    /// Cells that wait to be sent.
    pub unsent: Cells,
    /// Cells that have arrived and not been acknowledged by the successor.
    pub held: Cells,
    /// Cells sent so far; the next cell has this number.
    pub sent: Cells,
}

/// What a flow's hooks may see and set.
#[derive(Debug)]
pub struct FlowCx<'a> {
    /// The time.
    pub now: Instant,
    /// Where the flow is.
    pub site: &'a Site,
    /// The flow's gates.
    pub gates: &'a mut Gates,
    /// The flow's queue.
    pub queue: QueueView,
    /// A word that feedback to the predecessor carries, from now on.
    pub word: &'a mut Option<u16>,
    pub(crate) streams: &'a [(StreamId, u32)],
    pub(crate) stream_gates: &'a mut [Gate],
    pub(crate) far_end: &'a mut Vec<RelayHeader>,
    pub(crate) legs: &'a [FlowId],
    pub(crate) leg_calls: &'a mut Vec<LegCall>,
    pub(crate) timer: &'a mut Option<Instant>,
}

impl FlowCx<'_> {
    /// At the source, the gate of one stream; `None` if there is no such stream.
    pub fn stream_gate(&mut self, stream: StreamId) -> Option<&mut Gate> {
        let (_, index) = self.streams.iter().find(|(id, _)| *id == stream)?;
        self.stream_gates.get_mut(*index as usize)
    }

    /// Sends a command to the other end of the circuit, as a cell of the reverse flow. It waits
    /// and pays like every cell, but passes the gates of data. Only a sink can do this.
    pub fn send_far_end(&mut self, command: RelayCommand, stream: StreamId) {
        self.far_end.push(RelayHeader::control(command, stream));
    }

    /// At an end of the circuit, the flows in this direction of all circuits that share a stream
    /// with it, in the stream's order and with this one; empty without such a stream.
    pub fn legs(&self) -> &[FlowId] {
        self.legs
    }

    /// Sends a command to the other end along `flow`, which begins at this node: behind the cells
    /// that wait there, past the gates of data.
    pub fn send_along(&mut self, flow: FlowId, command: RelayCommand) {
        self.leg_calls.push(LegCall::Send(flow, command));
    }

    /// Lets one leg alone take the cells of those of the flow's streams that have several.
    pub fn pin_streams(&mut self, leg: FlowId) {
        self.leg_calls.push(LegCall::Pin(leg));
    }

    /// Lets no leg take them, until they are pinned.
    pub fn park_streams(&mut self) {
        self.leg_calls.push(LegCall::Park);
    }

    /// Asks for a call of [`Transport::on_timer`] at `at`.
    pub fn set_timer(&mut self, at: Instant) {
        *self.timer = Some(at);
    }
}

/// Cells that the successor forwarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forwarded {
    /// How many.
    pub cells: Cells,
    /// From sending the last of them to hearing that it was forwarded; `None` if it was sent more
    /// than once.
    pub rtt: Option<Duration>,
    /// The word that the successor added.
    pub word: Option<u16>,
}

/// Cells that the successor acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckSample {
    /// How many.
    pub cells: Cells,
    /// From sending the last of them to its acknowledgement; `None` if it was sent more than once.
    pub rtt: Option<Duration>,
}

/// Cells that were lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossSample {
    /// Whether a time-out, rather than duplicate acknowledgements, told so.
    pub timeout: bool,
}

/// What the flows of a link measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkSample {
    /// A round trip to the neighbour.
    Rtt(Duration),
    /// A loss on the way to the neighbour.
    Loss(LossSample),
}

/// What a link's hook may see and set.
#[derive(Debug)]
pub struct LinkCx<'a> {
    /// The time.
    pub now: Instant,
    /// The link.
    pub link: LinkId,
    /// The gate that all the link's cells pass. Acknowledgements release it.
    pub gate: &'a mut Gate,
}

/// What a node's hook may see and set.
#[derive(Debug)]
pub struct NodeCx<'a, S> {
    /// The time.
    pub now: Instant,
    pub(crate) flows: &'a mut dyn FlowTable<S>,
    pub(crate) messages: &'a mut Vec<Told>,
    pub(crate) rest: &'a mut bool,
    pub(crate) hasty_plans: &'a mut u64,
}

impl<S> NodeCx<'_, S> {
    /// Calls `visit` for every flow of the node, in the order of their numbers.
    pub fn for_each_flow(&mut self, mut visit: impl FnMut(FlowEntry<'_, S>)) {
        self.flows.for_each(&mut visit);
    }

    /// Asks for no regular call until the node receives something or an application writes: the
    /// next one is then at the time at which it would have been without the rest.
    pub fn rest(&mut self) {
        *self.rest = true;
    }

    /// Counts a plan that was made in less than full.
    pub fn note_hasty_plan(&mut self) {
        *self.hasty_plans += 1;
    }

    /// Sends a message about a flow to its predecessor or successor, of at most
    /// [`Message::MAX_BODY`](hopflow_wire::Message::MAX_BODY) bytes. Nothing happens where there is
    /// no such neighbour. Datagrams may lose it.
    pub fn tell(&mut self, flow: FlowId, to: Neighbour, body: Vec<u8>, way: Way) {
        debug_assert!(body.len() <= hopflow_wire::Message::MAX_BODY);
        self.messages.push(Told {
            flow,
            to,
            body,
            way,
        });
    }
}

/// How a message to a neighbour travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// With cells and feedback on the link.
    InBand,
    /// Outside of all links, in this time. Only simulators can do this.
    OutOfBand(Duration),
}

/// A flow that a node's hook looks at.
#[derive(Debug)]
pub struct FlowEntry<'a, S> {
    /// Where the flow is.
    pub site: &'a Site,
    /// The transport's state of it.
    pub state: &'a mut S,
    /// The flow's gates.
    pub gates: &'a mut Gates,
    /// The flow's queue.
    pub queue: QueueView,
    /// Bytes that the link to the successor takes at present; `None` where there is no such limit.
    pub room: Option<Bytes>,
    /// At the source, application bytes that wait to be cut and may be.
    pub pending: Bytes,
}

/// What a hook wants with the legs of a flow's streams.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LegCall {
    Send(FlowId, RelayCommand),
    Pin(FlowId),
    Park,
}

/// A message that a hook sends.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) flow: FlowId,
    pub(crate) to: Neighbour,
    pub(crate) body: Vec<u8>,
    pub(crate) way: Way,
}

/// A visitor of flows, see [`NodeCx::for_each_flow`].
pub(crate) type Visit<'v, S> = dyn FnMut(FlowEntry<'_, S>) + 'v;

/// The node's flows without the type of their payloads.
pub(crate) trait FlowTable<S>: Debug {
    fn for_each(&mut self, visit: &mut Visit<'_, S>);
}
