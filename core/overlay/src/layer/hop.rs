//! Control on each hop: how fast a node may forward each circuit to its successor.

use std::fmt::Debug;

use hopflow_units::{Bytes, Cells, Duration, Instant, LinkId};
use hopflow_wire::Neighbour;

use super::Info;
use crate::circuit::QueueView;
use crate::{
    BucketLevel, BusyFlows, ConfigError, FlowId, Gate, HopPlan, NodeEnv, Site, TokenBucket,
    Violation,
};

/// How fast a node may forward each circuit to its successor.
///
/// `self` is what all flows of a node share, [`HopControl::Flow`] what one flow has for itself. The
/// node calls [`on`](HopControl::on) for everything that happens on a hop; the control sets the
/// window, credit or rate of the hop's gate.
pub trait HopControl: Clone + Debug + Sized + Send + 'static {
    /// The name, what the control needs of other layers and of the driver, and what it measures.
    const INFO: Info;
    /// Parameters; valid, because they are checked where they are read.
    type Config: Clone + Debug + Send + Sync + 'static;
    /// State of one flow.
    type Flow: Clone + Debug + Send;

    /// What the control needs of the node.
    fn plan(config: &Self::Config) -> HopPlan;

    /// The state that the flows of one node share.
    fn new(config: &Self::Config, env: &NodeEnv) -> Self;

    /// A flow begins: sets up its gate.
    fn open(&mut self, site: &Site, gates: &mut Gates<'_>) -> Self::Flow;

    /// Something happened on the hop of a flow.
    ///
    /// # Errors
    /// If a peer broke the protocol; the circuit is then closed.
    fn on(
        &mut self,
        flow: &mut Self::Flow,
        cx: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation>;

    /// The node's regular call, if the plan asks for one.
    fn on_tick(&mut self, cx: &mut NodeCx<'_, Self::Flow>) {
        let _ = cx;
    }

    /// A flow is over: forgets it. Its number may be given to another one.
    fn close(&mut self, flow: FlowId) {
        let _ = flow;
    }

    /// A link is gone, after its flows. Its number may be given to another neighbour: forgets what
    /// was measured of this one.
    fn close_link(&mut self, link: LinkId) {
        let _ = link;
    }

    /// Whether nodes that run with the options `old` can go on with `new`. What neighbours have
    /// agreed on cannot change, for what is under way counts by it.
    ///
    /// # Errors
    /// Names an option that stays as it is; by default all of them do.
    fn check_change(old: &Self::Config, new: &Self::Config) -> Result<(), ConfigError> {
        ConfigError::if_changed(Self::INFO.name, old, new)
    }

    /// Takes options that [`check_change`](Self::check_change) allows, and keeps all that it knows.
    /// Options that are as they were change nothing.
    fn reconfigure(&mut self, config: &Self::Config) {
        let _ = config;
    }

    /// The options have changed: sets a flow's gate by them, where what happens next on the hop
    /// would not.
    fn reopen(&mut self, flow: &mut Self::Flow, site: &Site, gates: &mut Gates<'_>) {
        let _ = (flow, site, gates);
    }

    /// The load that the control reports to the end control at the source, in a unit that both
    /// know.
    fn load(&self, flow: &Self::Flow, now: Instant) -> u64 {
        let _ = (flow, now);
        0
    }

    /// The values of the metrics that [`INFO`](Self::INFO) declares, in that order; NaN for what
    /// was not measured yet. Called when somebody records or exports them, not for every cell.
    fn sample(&self, flow: &Self::Flow, out: &mut Vec<f64>) {
        let _ = (flow, out);
    }
}

/// What happens on a hop.
///
/// The node builds these from constants, so that arms that do nothing cost nothing.
#[derive(Clone, Copy, Debug)]
pub enum HopSignal<'a> {
    /// A cell arrived from the predecessor, in order.
    Arrived,
    /// A cell arrived beyond a gap: so many before it are lost, or late. Each is counted once,
    /// whatever arrives again, and at a time no more than the queue limit, which bounds the gap.
    ///
    /// Only where hops repair losses: over streams TCP hides them, and what ends repair is not
    /// numbered for the hop. A predecessor can leave any gaps.
    Missing(Cells),
    /// A cell left for the successor, for the first time.
    Departed,
    /// The successor reports cells as forwarded, or sends a new extension of feedback. The cells
    /// have been released from the hop's gate.
    Forwarded(&'a Forwarded),
    /// The successor acknowledges cells.
    Acked(&'a AckSample),
    /// Cells towards the successor were lost.
    Lost(&'a LossSample),
    /// A cell of the circuit's other direction leaves for this flow's predecessor, where the plan
    /// asks for it ([`FeedbackPlan::ahead`](crate::FeedbackPlan::ahead)). Feedback about this flow
    /// can go along, see [`HopCx::tell`].
    Returning,
    /// A neighbour's control sent a message, see [`NodeCx::send`].
    Message(Neighbour, &'a [u8]),
    /// At the source, the end control made its window much smaller: what was measured before
    /// tells nothing about it.
    EndJumped,
    /// The time that [`HopCx::set_timer`] asked for has come.
    Timer,
}

/// What a hop's control may see and set.
#[derive(Debug)]
pub struct HopCx<'a> {
    /// The time.
    pub now: Instant,
    /// Where the flow is.
    pub site: &'a Site,
    /// Lets cells out to the successor. Forward feedback releases it, or acknowledgements where
    /// there is no such feedback.
    pub gate: &'a mut Gate,
    /// The flow's queue.
    pub queue: QueueView,
    /// What the flow's node has for all of its flows.
    pub node: NodeView<'a>,
    /// An extension that feedback to the predecessor carries from now on.
    pub feedback_ext: &'a mut Option<u16>,
    /// At the source, what the end control hears of the hop, right after this call.
    pub report: &'a mut Option<HopReport>,
    pub(crate) timer: &'a mut Option<Instant>,
    pub(crate) tell: &'a mut bool,
}

/// What a node has for all of its flows, as controls may know it.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    pub(crate) now: Instant,
    pub(crate) bucket: Option<&'a TokenBucket>,
    pub(crate) busy: &'a BusyFlows,
}

impl NodeView<'_> {
    /// The level of the node's token bucket; `None` without one. Its rate follows the operator, who
    /// may change it at any time.
    pub fn bucket(&self) -> Option<BucketLevel> {
        self.bucket.map(|bucket| bucket.level(self.now))
    }

    /// The flows that are busy, if [`HopPlan::busy`] asks for them, in an order that their cells
    /// alone decide.
    pub fn busy_flows(&self) -> impl Iterator<Item = FlowId> {
        self.busy.flows(self.now)
    }

    /// How many flows are busy.
    pub fn busy(&self) -> usize {
        self.busy.count(self.now)
    }

    /// Whether a flow is busy.
    pub fn is_busy(&self, flow: FlowId) -> bool {
        self.busy.is_busy(self.now, flow)
    }
}

impl HopCx<'_> {
    /// Asks for [`HopSignal::Timer`] at `at`, or right after now if that is over, in place of one
    /// asked for before.
    pub fn set_timer(&mut self, at: Instant) {
        *self.timer = Some(at);
    }

    /// Lets the predecessor, if there is one, hear feedback about this flow with its extension,
    /// though no cell arrived or left.
    pub fn tell(&mut self) {
        *self.tell = true;
    }
}

/// What a source's hop control reports to the end control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HopReport {
    /// Cells were forwarded.
    Forwarded {
        /// How many.
        cells: Cells,
        /// Whether the load of the hop was measured anew.
        measured: bool,
    },
    /// Cells were lost.
    Lost,
}

/// Cells that the successor forwarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forwarded {
    /// How many.
    pub cells: Cells,
    /// From sending the last of them to hearing that it was forwarded; `None` if it was sent more
    /// than once.
    pub rtt: Option<Duration>,
    /// The extension that the successor added.
    pub ext: Option<u16>,
}

/// Cells that the successor acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckSample {
    /// How many.
    pub cells: Cells,
    /// From sending the last of them to its acknowledgement; `None` if it was sent more than once, or may have
    /// waited behind a gap.
    pub rtt: Option<Duration>,
}

/// Cells that were lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossSample {
    /// Whether a time-out, rather than duplicate acknowledgements, showed it.
    pub timeout: bool,
}

/// The gates of a flow.
#[derive(Debug)]
pub struct Gates<'a> {
    /// Lets cells out to the successor.
    pub hop: &'a mut Gate,
    /// At the source, lets data be packaged into cells.
    pub end: Option<&'a mut Gate>,
}

/// What a node's regular call may see and set.
#[derive(Debug)]
pub struct NodeCx<'a, S> {
    /// The time.
    pub now: Instant,
    /// What the node has for all of its flows.
    pub node: NodeView<'a>,
    pub(crate) flows: &'a mut dyn FlowTable<S>,
    pub(crate) messages: &'a mut Vec<OutgoingMessage>,
    pub(crate) rest: &'a mut bool,
    pub(crate) fallback_plans: &'a mut u64,
}

impl<S> NodeCx<'_, S> {
    /// Calls `visit` for every flow of the node, in the order of their numbers.
    pub fn for_each_flow(&mut self, mut visit: impl FnMut(FlowEntry<'_, S>)) {
        self.flows.for_each(&mut visit);
    }

    /// Asks for no regular call until the node receives something or an application does: the
    /// next one is then at the time at which it would have been without the rest.
    pub fn rest(&mut self) {
        *self.rest = true;
    }

    /// Counts a plan that the fallback made.
    pub fn note_fallback_plan(&mut self) {
        *self.fallback_plans += 1;
    }

    /// Sends a message about a flow to its predecessor or successor, of at most
    /// [`Message::MAX_BODY`](hopflow_wire::Message::MAX_BODY) bytes. Nothing happens where there is
    /// no such neighbour, or the message is longer. Datagrams may lose it.
    pub fn send(&mut self, flow: FlowId, to: Neighbour, body: Vec<u8>, way: Way) {
        self.messages.push(OutgoingMessage {
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
    /// Outside of all links, in this time, which is at least what
    /// [`HopPlan::out_of_band`](crate::HopPlan::out_of_band) says. Only simulators can do this.
    OutOfBand(Duration),
}

/// A flow that a node's regular call looks at.
#[derive(Debug)]
pub struct FlowEntry<'a, S> {
    /// Where the flow is.
    pub site: &'a Site,
    /// The control's state of it.
    pub state: &'a mut S,
    /// The flow's gates.
    pub gates: Gates<'a>,
    /// The flow's queue.
    pub queue: QueueView,
    /// At the source, application bytes that wait to be packaged and may be.
    pub pending: Bytes,
}

/// A message of a layer to a neighbour.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingMessage {
    pub(crate) flow: FlowId,
    pub(crate) to: Neighbour,
    pub(crate) body: Vec<u8>,
    pub(crate) way: Way,
}

/// A visitor of flows, see [`NodeCx::for_each_flow`].
pub(crate) type Visitor<'v, S> = dyn FnMut(FlowEntry<'_, S>) + 'v;

/// The node's flows without the type of their payloads.
pub(crate) trait FlowTable<S>: Debug {
    fn for_each(&mut self, visit: &mut Visitor<'_, S>);
}
