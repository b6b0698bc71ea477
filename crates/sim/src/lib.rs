//! The deterministic packet-level simulator.
