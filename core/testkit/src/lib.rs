//! Shared fixtures for tests of nodes and transports; used by tests only.
//!
//! - [`Chain`] drives nodes in memory by the contract of [`Host`](hopflow_overlay::Host), over links
//!   that delay, lose, repeat and reorder, and checks what must hold at every step.
//! - [`Bench`] holds a single node and lets a test play its neighbours by hand.
//! - [`conformance`] is the battery of checks that every registered transport passes.
//! - [`fuzz`] turns any bytes into a hostile life of a node.
//! - [`qlog`] reads traces of circuits and checks their form, [`wireshark`] lets `tshark` read captures.
//! - [`skip`] says that a machine cannot do what a test needs, or fails where that is required.
//! - [`Counted`] payloads carry real bytes and tell how many of them exist.

mod bench;
mod chain;
pub mod conformance;
mod counted;
pub mod fuzz;
mod medium;
pub mod qlog;
mod required;
mod rng;
pub mod wireshark;

pub use bench::{Bench, Sent};
pub use chain::{Chain, CircuitNo, End, Manner, StreamNo, Watch};
pub use counted::Counted;
pub use medium::Medium;
pub use required::skip;
pub use rng::Rng;
