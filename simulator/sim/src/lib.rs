//! The deterministic packet-level simulator.
//!
//! [`run`] simulates the world of a [`spec::WorldSpec`]: overlay nodes, each with an access link to
//! a router, links between routers, circuits over the nodes, and users. Nodes are the same code that a real overlay runs,
//! driven through [`Host`](hopflow_overlay::Host); the simulator knows no transport. Links carry
//! datagrams, or the segments of a TCP model where a transport uses streams.
//!
//! The same specification gives the same outcome, bit for bit.

mod histogram;
mod outcome;
mod payload;
pub mod spec;
pub mod trace;
mod world;

pub use histogram::LatencyHistogram;
pub use outcome::{
    Cause, CircuitOutcome, Counters, Download, FailCause, Failure, HopSample, Latencies,
    LegTraffic, MetricSample, NewCircuit, NodeOutcome, OpenRequest, Outcome, Part, QueueOutcome,
    Sample, Stage, Tally, TraceBin, Vantage, Visit,
};
pub use payload::{DataOffset, Simulated};
pub use spec::SpecError;
pub use world::{
    Deployment, HopView, LinkView, MachineView, PacketView, Parallelism, Progress, TransferView,
    UserView, World, WorldView, run,
};
