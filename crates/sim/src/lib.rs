//! The deterministic packet-level simulator.

pub mod engine;
mod outcome;
pub mod random;
pub mod spec;

pub use outcome::{
    CircuitOutcome, Counters, Download, HopSample, LatencyHistogram, NodeOutcome, Outcome, Sample,
};
