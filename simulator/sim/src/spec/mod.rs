//! What to simulate.

mod backbone;
mod circuit;
mod error;
mod fault;
mod node;
mod traffic;
mod world;

pub use hopflow_tcp::{
    Algorithm as TcpAlgorithm, Config as TcpConfig, ConfigError as TcpConfigError,
};

pub use backbone::{Backbone, BackboneLink, MOST_ROUTERS};
pub use circuit::{CircuitSpec, Class, Rebuilt};
pub use error::SpecError;
pub use fault::{Absence, Fault, FaultKind};
pub use node::{AccessSpec, BucketSpec, NodeSpec, QueueSpec};
pub use traffic::{Exchange, Fetch, Page, Session, TrafficModel, Workload};
pub use world::{CrossSpec, Sampling, WorldSpec, check_tcp};
