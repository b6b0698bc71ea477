//! Traces that other programs read: what happens to circuits as qlog, what passes over links as pcapng.
//!
//! A driver's recorder hears of frames and asks a [`Watch`] after each event what is no longer as it was;
//! both yield [`Event`]s. [`qlog`] and [`pcapng`] make text and bytes of what was noted, for simulations and
//! for real nodes alike. Nothing here reads a clock or writes a file. `docs/traces.md` says what the
//! formats mean.

mod event;
pub mod ip;
pub mod link;
pub mod pcapng;
pub mod qlog;
mod watch;

pub use event::{Contents, Event, FlowState, Place, Step};
pub use watch::{Watch, Way};
