//! The sans-IO overlay node that every transport shares.
//!
//! A [`Node`] moves cells: it takes frames in, keeps a queue per circuit and direction (a *flow*),
//! and gives frames out as gates, scheduler and token bucket allow. How fast each flow may go is
//! decided by a [`Stack`] of layers that open and close [`Gate`]s. Drivers (the simulator, a
//! daemon) see neither: they talk to a [`Host`].
//!
//! ```text
//!              ┌────────────────────────── Node ──────────────────────────┐
//! frames in ──▶│ Circuits: per flow       Egress:                         │
//!              │   repair ─▶ queue ─▶ gate ─▶ scheduler ─▶ bucket ─▶ links│─▶ frames out
//!              │     ▲         ▲        ▲                                 │
//!              │     │       Edge ◀─────┼───── Streams ◀──────────────────│◀─▶ application
//!              │  feedback     ▲        │                                 │
//!              │         end control  hop control     (layers of a Stack) │
//!              └──────────────────────────────────────────────────────────┘
//! ```
//!
//! The parts own their state and do not call each other. A [`Node`] routes: it looks a circuit up
//! once for each event and visits it with the parts that the event needs.
//!
//! The crate does no I/O, reads no clock and holds no global state: time is an argument.

mod busy;
mod change;
mod circuit;
mod edge;
mod egress;
mod error;
mod gate;
mod host;
pub mod infos;
mod layer;
mod node;
mod plan;
mod repair;
mod site;
mod slots;
mod stack;
mod timers;

pub use busy::BusyFlows;
pub use circuit::QueueView;
pub use edge::sendme::{Acknowledger, SendmeWindow};
pub use egress::{BucketConfig, BucketLevel, TokenBucket};
pub use error::{ConfigError, Violation};
pub use gate::Gate;
pub use host::{
    CircuitHandle, CircuitSpec, Event, Factory, FlowView, Hold, Holding, HopSpec, Host, Measured,
    NodeCounters, NodeEnv, StreamHandle, StreamSpec, StreamView,
};
pub use layer::{
    AckSample, Condition, EndControl, EndCx, EndGates, EndSignal, EndState, Features, FlowEntry,
    Forwarded, Gates, GatesChoose, HopControl, HopCx, HopReport, HopSignal, Info, LossSample,
    Metric, NoEndControl, NodeCx, NodeView, PathChoice, PathCx, PathSignal, PathState, Preference,
    WatchedFlow, Way,
};
pub use node::Node;
pub use plan::{
    Charging, EndPlan, Excess, FeedbackPlan, HopPlan, LegUse, LinkPlan, Multiplexing, Order,
    PathPlan, Plan, Repair, SchedulerPlan, Scope, Tick, Turn,
};
pub use repair::{EndToEnd, HopRepair, RttConfig, RttEstimator};
pub use site::{Direction, FlowId, Role, Site};
pub use stack::Stack;

/// Bytes of frames that one datagram holds at most: two cells and feedback within an Ethernet
/// frame, with room for the headers of UDP, IP and DTLS.
pub const MAX_DATAGRAM: hopflow_units::Bytes = hopflow_units::Bytes::new(1400);
