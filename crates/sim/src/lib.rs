//! The deterministic packet-level simulator.

mod outcome;
pub mod spec;

pub use outcome::{
    CircuitOutcome, Counters, Download, HopSample, LatencyHistogram, NodeOutcome, Outcome, Sample,
};
