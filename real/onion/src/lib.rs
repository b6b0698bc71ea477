//! Circuit cryptography: what hides a circuit's cells from its relays, without sockets or clock.
//!
//! ```text
//! client                     relay 1          relay 2          relay 3 (last hop)
//! ┌─────────────────────┐
//! │ seal for relay 3    │── cell, index i ─────────────────────▶ open
//! │ layer of relay 2    │                  apply_layer
//! │ layer of relay 1    │ apply_layer
//! └─────────────────────┘
//! ```
//!
//! - A client agrees on keys with every hop by a Noise NK handshake ([`Initiator`], [`answer`]),
//!   which proves the hop by its [`OnionPublic`] key and leaves the client anonymous.
//! - A relay proves which one it is to a neighbour to which it opened a link ([`Introduction`]).
//! - Both sides then hold the same [`HopKeys`]. Cells are sealed end to end between the client and
//!   the last hop; each hop before it adds or removes one cipher layer ([`DirectionKeys`]). Every
//!   operation takes the cell's index in its flow, so cells may be handled in any order.
//! - [`OnionPayload`] is what a cell carries at the circuit's ends.
//! - [`setup`] is the codec of the messages that build a circuit.
//!
//! `docs/adr/0006-circuit-cryptography.md` says why it is so, and what it does not stop.

mod handshake;
mod hop;
mod introduction;
mod keys;
mod linking;
mod payload;
mod primitives;
pub mod setup;

pub use handshake::{HandshakeError, Initiator, answer};
pub use hop::{DirectionKeys, Forged, HopKeys};
pub use introduction::{Hint, Introduction};
pub use keys::{OnionPublic, OnionSecret, ParseKeyError};
pub use linking::{LinkAnswer, LinkRequest, MAX_LEGS};
pub use payload::OnionPayload;
pub use setup::{Handshake, MAX_HANDSHAKE_PAYLOAD, SEALED_SETUP, SETUP_PLAIN};

/// Bytes of the authentication tag of a sealed cell or set-up message.
pub const TAG: usize = 16;
