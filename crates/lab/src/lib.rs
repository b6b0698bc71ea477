//! Scenarios, sweeps and runs over seeds.
