//! What a relay's workers go by and what may change while they run.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hopflow_channel::Fingerprint;
use hopflow_engine::Limits;
use hopflow_units::Duration;

use super::owners::Shares;
use crate::config::RelayLimits;
use crate::directory::Directory;

/// The relays that circuits are extended to.
pub(super) type Known = Arc<BTreeSet<(SocketAddr, Fingerprint)>>;

/// What a worker goes by from now on.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) directory: Arc<Directory>,
    pub(super) limits: Limits,
    /// Those of all workers together, for metrics.
    pub(super) told: RelayLimits,
    pub(super) extend_to: Known,
    pub(super) exit: ExitLimits,
    pub(super) overlay: Arc<Overlay>,
}

/// What an exit's worker spends on connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExitLimits {
    pub(super) shares: Shares,
    /// How long a name and a connection may take, all addresses together.
    pub(super) connect: Duration,
    /// How long a connection may carry nothing.
    pub(super) idle: Duration,
}

/// Addresses of the overlay itself, to which no exit connects: streams would enter it again from
/// there, or reach what its machines offer to themselves.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    /// Where relays take links.
    pub(super) relays: BTreeSet<SocketAddr>,
    /// The exit's own address, where it is public.
    pub(super) own: Option<IpAddr>,
}

impl Overlay {
    pub(super) fn has(&self, address: SocketAddr) -> bool {
        self.relays.contains(&address) || self.own == Some(address.ip())
    }
}
