//! How an engine is set up.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use hopflow_channel::{Fingerprint, Identity};
use hopflow_onion::{OnionPublic, OnionSecret};
use hopflow_overlay::BucketConfig;
use hopflow_units::{Duration, Rate};

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

/// The relays of a directory: where each listens, the fingerprint of its certificate, and its key for handshakes.
pub type KnownRelays = BTreeMap<(SocketAddr, Fingerprint), OnionPublic>;

/// What others may make an engine hold and do at most.
///
/// At a limit the network (an IPv4 prefix of 24 bits, an IPv6 prefix of 48) that has most loses its
/// oldest. Each relay to which circuits may be extended counts as a network of its own, and may have eight times as
/// much: by its address when it opens a link, by its key when it begins circuits there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Links that others opened. A network that has most of them gets no further one.
    pub links: usize,
    /// Links that we opened, for their circuits or our own. Where each circuit has its own, the
    /// network that asked for most of them loses its oldest.
    pub opened: usize,
    /// Links that others opened and whose handshake is not over.
    pub handshakes: usize,
    /// Circuits that others began. Those that carry no data yet go first. A link has names for 65,535:
    /// with fewer circuits than that none runs out of them.
    pub circuits: usize,
    /// Of these, those that carry no data yet.
    pub nascent: usize,
    /// How often a network may begin or extend a circuit, or have a message passed on to later hops of one, and as
    /// often open a link; relays eight times as often.
    pub creates: Pace,
    /// How long a circuit that others began may carry no cell after its first one.
    pub idle: Duration,
}

/// A token bucket for requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Requests in a second, in the long run; at least one.
    pub per_second: u32,
    /// Requests at once after a pause; at least one.
    pub burst: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            links: 16_384,
            opened: 16_384,
            handshakes: 1024,
            circuits: 60_000,
            nascent: 16_384,
            creates: Pace {
                per_second: 200,
                burst: 2000,
            },
            idle: Duration::from_secs(4 * 60 * 60),
        }
    }
}

impl Limits {
    /// The part of each of so many engines that serve one node together. Each engine meters on its
    /// own how often a network begins circuits: a network's links may all lead to one engine.
    #[must_use]
    pub fn share(self, engines: usize) -> Self {
        let part = |whole: usize| whole.div_ceil(engines.max(1));
        Self {
            links: part(self.links),
            opened: part(self.opened),
            handshakes: part(self.handshakes),
            circuits: part(self.circuits),
            nascent: part(self.nascent),
            ..self
        }
    }
}

/// How an engine is set up.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// A relay's identity; a client has none and takes no links.
    pub relay: Option<Arc<RelayIdentity>>,
    /// Relays to which circuits may be extended, and which are believed to be those that they prove to be; `None`
    /// means any, and that no other relay is known.
    pub extend_to: Option<Arc<KnownRelays>>,
    /// The token bucket, if the operator set one.
    pub bucket: Option<BucketConfig>,
    /// What its access link carries in each direction, if that is known: transports that plan rates
    /// ask for it.
    pub access: Option<Rate>,
    /// What others may make the engine hold.
    pub limits: Limits,
    /// Which of a node's workers the engine is: clients link only circuits that end at the same one.
    pub worker: u16,
    /// What the engine's time zero is on the system's monotonic clock.
    pub epoch: std::time::Instant,
}
