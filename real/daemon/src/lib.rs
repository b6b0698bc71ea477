//! Relays and clients of a real overlay.
//!
//! What decides is kept apart from what does: the modules here take bytes, texts and the time as
//! arguments, so that tests need neither sockets nor clocks. [`directory`] says which relays a
//! network has, [`config`] and [`keys`] what a node is, [`policy`] what an exit connects to,
//! [`socks`] what an application asks for, [`path`] and [`pool`] which circuits carry it.

pub mod accounting;
pub mod check;
pub mod config;
pub mod directory;
mod hex;
pub mod keys;
pub mod net;

pub mod path;
pub mod policy;
pub mod pool;
mod private;

pub mod socks;
mod target;
#[cfg(test)]
mod testing;
mod time;
mod whole;

pub use hex::{Hex, NotHex};
pub use hopflow_config::InputError;
use hopflow_config::read;
pub use hopflow_wire::CELL;
pub use target::{Host, NoTarget, Target};
pub use time::UnixTime;
pub use whole::write_whole;
