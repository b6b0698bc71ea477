//! The sans-IO overlay node that every transport shares.
//!
//! A [`Node`] moves cells: it takes frames in, keeps a queue per circuit and direction (a *flow*),
//! and gives frames out as gates, scheduler and token bucket allow. How fast each flow may go is
//! decided by a [`Transport`], a small set of hooks that open and close [`Gate`]s. Drivers (the
//! simulator, a daemon) see neither: they talk to a [`Host`].
//!
//! ```text
//!              ┌────────────────────────── Node ──────────────────────────┐
//! frames in ──▶│ hop::Receiver ─▶ CellQueue ─▶ Scheduler ─▶ hop::Sender ──│─▶ frames out
//!              │   (order, acks)  one a flow    ▲      ▲    (loss, RTT)   │
//! application ─│─▶ edge: cut cells ──┘        Gates  TokenBucket          │─▶ application
//!              │                               ▲                          │
//!              │                    Transport hooks set windows, rates    │
//!              └──────────────────────────────────────────────────────────┘
//! ```
//!
//! The crate does no I/O, reads no clock and holds no global state: time is an argument.

mod activity;
mod bucket;
mod connection;
mod edge;
mod error;
mod flow;
mod gate;
mod hop;
mod host;
mod link;
mod node;
mod plan;
mod queue;
mod rtt;
mod sched;
mod slots;
mod timers;
mod transport;

pub use bucket::{BucketConfig, TokenBucket};
pub use connection::EndToEnd;
pub use edge::sendme::{Acknowledger, SendmeWindow};
pub use error::{ConfigError, Violation};
pub use flow::{Direction, FlowId, Role, Site};
pub use gate::Gate;
pub use host::{
    CircuitHandle, CircuitSpec, Event, Factory, FlowView, HopSpec, Host, NodeCounters, NodeEnv,
    StreamHandle, StreamSpec, StreamView,
};
pub use node::Node;
pub use plan::{Charging, Excess, LegUse, Multiplexing, Order, Plan, Scope, Tick, Turn};
pub use rtt::{RttConfig, RttEstimator};
pub use transport::{
    AckSample, FlowCx, FlowEntry, Forwarded, Gates, LinkCx, LinkSample, LossSample, NodeCx,
    QueueView, Transport, Way,
};

/// Bytes of frames that one datagram holds at most: two cells and feedback within an Ethernet
/// frame, with room for the headers of UDP, IP and DTLS.
pub const MAX_DATAGRAM: hopflow_units::Bytes = hopflow_units::Bytes::new(1400);
