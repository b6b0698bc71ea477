//! Scenarios, runs over seeds, and sweeps of the design space.
//!
//! A [`Scenario`](scenario::Scenario) is read from TOML and sampled once per seed. A
//! [`Campaign`](run::Campaign) makes its runs on all cores and keeps each finished one in a result
//! folder, so that an interrupted campaign goes on where it stopped.

pub mod builtin;
pub mod run;
pub mod scenario;
pub mod sweep;
