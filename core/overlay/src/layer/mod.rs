//! The layers that a transport is a stack of, and what each of them says of itself.
//!
//! A transport is a choice at every layer: what carries frames ([`LinkPlan`]), what repairs losses
//! ([`Repair`]), control on each hop ([`HopControl`]), control from end to end ([`EndControl`]) and
//! the choice among several circuits of a stream ([`PathChoice`]). Layers stand side by side under
//! the node, which passes each the signals that concern it: none wraps another, so that none can
//! forget to pass a signal on.
//!
//! [`LinkPlan`]: crate::LinkPlan
//! [`Repair`]: crate::Repair

mod end;
mod features;
mod hop;
mod path;

pub use end::{EndControl, EndCx, EndGates, EndSignal, EndState, NoEndControl, Preference};
pub use features::{Condition, Features, Info, Metric};
pub use hop::{
    AckSample, FlowEntry, Forwarded, Gates, HopControl, HopCx, HopReport, HopSignal, LossSample,
    NodeCx, NodeView, Way,
};
pub(crate) use hop::{FlowTable, OutgoingMessage, Visitor};
pub(crate) use path::LegCall;
pub use path::{GatesChoose, PathChoice, PathCx, PathSignal, PathState, WatchedFlow};
