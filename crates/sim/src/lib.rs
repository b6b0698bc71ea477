//! The deterministic packet-level simulator.

pub mod engine;
pub mod net;
mod outcome;
pub mod random;
pub mod spec;

pub use outcome::{
    CircuitOutcome, Counters, Download, HopSample, LatencyHistogram, NodeOutcome, Outcome, Sample,
};
