//! TCP without I/O: the two halves of a connection as a deterministic state machine.
//!
//! A [`Connection`] is one endpoint. It never reads a clock and owns no socket: the driver hands
//! it segments and the time, and takes segments from it. Bytes are counted, not stored; the driver
//! carries the content beside the [`Segment`]s.
//!
//! Modelled are the handshake, NewReno (RFC 5681, RFC 6582), CUBIC (RFC 9438) and BBR
//! (draft-ietf-ccwg-bbr, with its pacing), loss recovery
//! by SACK (RFC 6675), with the detection of lost retransmissions, the reordering timer and the tail
//! loss probe of RFC 8985, or without SACK, rate reduction (RFC 9937), limited transmit (RFC 3042), the retransmission timer (RFC 6298) with
//! timestamps (RFC 7323), delayed acknowledgements, Nagle's rule, both buffers, zero windows, and
//! Linux's validation of the congestion window. Not modelled: sequence numbers that wrap, RST,
//! TIME-WAIT, giving up, simultaneous open, ECN, undoing of spurious recoveries, adaptation to
//! reordering, buffers that tune themselves, pacing with other algorithms, and negotiation of options: both ends are to
//! have the same `mss` and `sack`.

mod bbr;
mod config;
mod connection;
mod mix;
pub mod model;
pub mod pair;
mod ranges;
mod receiver;
mod recovery;
mod rto;
mod scoreboard;
mod segment;
mod sender;
mod stats;
mod window;

pub use config::{Algorithm, Config, ConfigError, DelayedAck};
pub use connection::Connection;
pub use ranges::{Range, RangeSet};
pub use segment::Segment;
pub use stats::Stats;
