//! Security of a link between two neighbours, without input or output.
//!
//! A [`DatagramChannel`] speaks DTLS 1.3 (RFC 9147), a [`StreamChannel`] TLS 1.3 (RFC 8446). Both
//! have the same shape, so a driver treats them alike: [`receive`](DatagramChannel::receive) takes
//! what the network brought and hands out plaintext, [`seal`](DatagramChannel::seal) turns
//! plaintext into what the network is to carry, and
//! [`poll_transmit`](DatagramChannel::poll_transmit) gives what the channel itself has to say:
//! handshake flights, acknowledgements, alerts. Time is an argument.
//!
//! Only the side that was called proves who it is: by a self-signed certificate whose
//! [`Fingerprint`] the caller knows beforehand. The caller stays anonymous; it has no key, and each
//! channel has fresh secrets, so nothing links two channels of one caller.
//!
//! The keys of both protocols come from X25519, the records are sealed with AES-128-GCM, and
//! nothing else is offered or accepted. See docs/adr/0007.

mod datagram;
mod fingerprint;
mod identity;
mod state;
mod stream;

pub use datagram::{Cookies, DatagramChannel, Knock};
pub use fingerprint::{Fingerprint, FingerprintError};
pub use identity::{Identity, IdentityError};
pub use state::{Error, HANDSHAKE_TIMEOUT, State};
pub use stream::StreamChannel;
