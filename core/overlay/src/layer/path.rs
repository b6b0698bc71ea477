//! The choice among the circuits of a stream that has several.

use std::fmt::Debug;

use dyn_clone::DynClone;
use hopflow_units::{Bytes, Duration, Instant};
use hopflow_wire::{Neighbour, RelayCommand, RelayHeader};

use super::Info;
use crate::circuit::QueueView;
use crate::{FlowId, PathPlan, Site, Violation};

/// Which circuit of a stream takes its cells: the parameters.
///
/// It is asked about commands, messages and regular calls only, so that it costs nothing per cell.
pub trait PathChoice: Debug + Send + Sync + 'static {
    /// The name, and what the choice needs of other layers and of the driver.
    fn info(&self) -> &'static Info;

    /// What the choice needs of the node.
    fn plan(&self) -> PathPlan;

    /// What one node keeps; `None` if the gates choose alone.
    fn state(&self) -> Option<Box<dyn PathState>>;
}

/// What a node's choice among circuits knows.
pub trait PathState: DynClone + Debug + Send {
    /// Something happened to a flow.
    ///
    /// # Errors
    /// If a peer broke the protocol; the circuit is then closed.
    fn on(&mut self, cx: &mut PathCx<'_>, signal: PathSignal<'_>) -> Result<(), Violation>;

    /// Whether a relay command is for this layer, rather than for the end control.
    fn takes(&self, command: RelayCommand) -> bool;

    /// The node's regular call, with its flows in the order of their numbers. Returns the messages
    /// to send to the predecessors of flows, and whether the node may rest.
    fn on_tick(&mut self, flows: &[WatchedFlow]) -> (Vec<(FlowId, Vec<u8>)>, bool);

    /// A flow ends. Its number may be given to another one.
    fn close(&mut self, flow: FlowId);
}

dyn_clone::clone_trait_object!(PathState);

/// What happens to a flow.
#[derive(Clone, Copy, Debug)]
pub enum PathSignal<'a> {
    /// At an end of the circuit, the other end sent a relay command.
    Command(&'a RelayHeader),
    /// A neighbour's choice sent a message.
    Message(Neighbour, &'a [u8]),
    /// The time that [`PathCx::set_timer`] asked for has come.
    Timer,
}

/// A flow that the regular call looks at.
#[derive(Clone, Copy, Debug)]
pub struct WatchedFlow {
    /// Where the flow is.
    pub site: Site,
    /// The flow's queue.
    pub queue: QueueView,
    /// Bytes that the link to the successor takes at present; `None` where there is no such limit.
    pub room: Option<Bytes>,
}

/// What the choice may see and set.
#[derive(Debug)]
pub struct PathCx<'a> {
    /// The time.
    pub now: Instant,
    /// Where the flow is.
    pub site: &'a Site,
    pub(crate) legs: &'a [FlowId],
    pub(crate) had_legs: bool,
    pub(crate) calls: &'a mut Vec<LegCall>,
    pub(crate) timer: &'a mut Option<Instant>,
}

impl PathCx<'_> {
    /// At an end of the circuit, the flows in this direction of all circuits that share a stream
    /// with it, in the stream's order and with this one; empty without such a stream.
    pub fn legs(&self) -> &[FlowId] {
        self.legs
    }

    /// Whether the circuit has ever shared a stream with others.
    pub fn had_legs(&self) -> bool {
        self.had_legs
    }

    /// Sends a command to the other end along `flow`, which begins at this node: behind the cells
    /// that wait there, past the gates of data.
    pub fn send_along(&mut self, flow: FlowId, command: RelayCommand) {
        self.calls.push(LegCall::Send(flow, command));
    }

    /// Lets one leg alone take the cells of those of the flow's streams that have several.
    pub fn pin_streams(&mut self, leg: FlowId) {
        self.calls.push(LegCall::Pin(leg));
    }

    /// Lets no leg take them, until they are pinned.
    pub fn park_streams(&mut self) {
        self.calls.push(LegCall::Park);
    }

    /// Asks for [`PathSignal::Timer`] after `delay`, in place of one asked for before.
    pub fn set_timer(&mut self, delay: Duration) {
        *self.timer = Some(self.now + delay);
    }
}

/// What the choice wants with the legs of a flow's streams.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LegCall {
    Send(FlowId, RelayCommand),
    Pin(FlowId),
    Park,
}

/// Streams keep the circuits that their gates leave them.
#[derive(Clone, Copy, Debug, Default)]
pub struct GatesChoose;

impl PathChoice for GatesChoose {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info::new("fixed", "the gates of a stream's circuits choose");
        &INFO
    }

    fn plan(&self) -> PathPlan {
        PathPlan::default()
    }

    fn state(&self) -> Option<Box<dyn PathState>> {
        None
    }
}
