//! The engine of a relay or client, without its sockets.
//!
//! An [`Engine`] joins what the other crates give: the overlay's node with its transport, the
//! channels that secure links, the set-up of circuits and the cryptography of their cells. A
//! driver brings datagrams, bytes of connections and the time, and carries away what the engine
//! gives out; a test does the same without a socket or a clock.
//!
//! ```text
//!               ┌──────────────────────── Engine ────────────────────────┐
//!   datagrams ─▶│ channel ─▶ frames ─▶ open, at a circuit's end ─▶ ┌────┐ │─▶ events: streams,
//!   and bytes   │ (DTLS,        └────▶ set-up of circuits          │Host│ │   circuits
//!             ◀─│  TLS)   ◀─ frames ◀─ seal or add a layer  ◀───── └────┘ │◀─ write, finish, reset
//!               └────────────────────────────────────────────────────────┘
//! ```
//!
//! One engine is one worker: it shares nothing with others, so a relay with several cores runs
//! several. `docs/spec/overlay.md` specifies what travels.

mod circuit;
mod config;
mod crypt;
mod engine;
mod link;
mod observer;
mod offers;
mod origin;
mod types;

pub use config::{EngineConfig, Hop, KnownRelays, Limits, Pace, RelayIdentity};
pub use engine::Engine;
pub use hopflow_overlay::StreamHandle;
pub use observer::{Observer, Turn};
pub use offers::{OFFERS, check_offers};
pub use origin::Meter;
pub use types::{
    Action, CircuitKey, ConnId, Counters, Event, Failure, LostLink, Network, OpenedLink, Transmit,
    Via,
};
