//! How an engine is set up.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use hopflow_channel::{Fingerprint, Identity};
use hopflow_onion::{OnionPublic, OnionSecret};
use hopflow_overlay::BucketConfig;
use hopflow_units::Rate;

/// A relay's proofs of its identity.
#[derive(Debug)]
pub struct RelayIdentity {
    /// On links: the certificate and its key.
    pub certificate: Identity,
    /// In circuits' handshakes.
    pub onion: OnionSecret,
}

/// A relay on a circuit's path, as the directory describes it.
#[derive(Clone, Debug)]
pub struct Hop {
    /// Where it listens, for the carrier of the network's transport.
    pub address: SocketAddr,
    /// Of its certificate.
    pub fingerprint: Fingerprint,
    /// Its key for handshakes.
    pub onion: OnionPublic,
}

/// What others may make an engine hold at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Links that others opened.
    pub links: usize,
    /// Links that we opened, for their circuits or our own.
    pub opened: usize,
    /// Links that others opened and whose handshake is not over.
    pub handshakes: usize,
    /// Circuits on one link.
    pub circuits_per_link: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            links: 16_384,
            opened: 16_384,
            handshakes: 1024,
            circuits_per_link: 32_768,
        }
    }
}

/// How an engine is set up.
#[derive(Debug)]
pub struct EngineConfig {
    /// A relay's identity; a client has none and takes no links.
    pub relay: Option<Arc<RelayIdentity>>,
    /// Relays to which circuits may be extended; `None` means any.
    pub extend_to: Option<Arc<BTreeSet<(SocketAddr, Fingerprint)>>>,
    /// The token bucket, if the operator set one.
    pub bucket: Option<BucketConfig>,
    /// What its access link carries in each direction, if that is known: transports that plan rates
    /// ask for it.
    pub access: Option<Rate>,
    /// What others may make the engine hold.
    pub limits: Limits,
    /// What the engine's time zero is on the system's monotonic clock.
    pub epoch: std::time::Instant,
}
