//! Whole circuits of engines, in virtual time: every transport that can run for real.

mod network;
mod stalled;
mod support;
mod transfers;
