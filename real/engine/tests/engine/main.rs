//! Whole circuits of engines, in virtual time: every transport that can run for real.

mod by_ends;
mod floods;
mod hostile;
mod limits;
mod linked;
mod lost;
mod network;
mod observed;
mod sendmes;
mod setup;
mod shares;
mod stalled;
mod streams;
mod support;
mod transfers;
