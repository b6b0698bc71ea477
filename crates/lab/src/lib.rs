//! Scenarios, runs over seeds, and experiments.

pub mod builtin;
pub mod scenario;
