//! Who is let in, and how often.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use hopflow_channel::{Cookies, Knock};
use hopflow_units::Instant;

use super::meter::{Meter, Shared};
use super::{Origin, Prefix};
use crate::config::Pace;

/// How often an engine answers records of channels that are not there, to networks that share a bucket. Each
/// channel sends several in a second and needs one answer.
const ANSWERS: Pace = Pace {
    per_second: 100,
    burst: 100,
};

/// What an engine takes from others: nothing while it drains, and from each network no more often
/// than it may ask.
#[derive(Debug)]
pub(crate) struct Admission {
    /// How often each network begins circuits.
    circuits: Meter<Prefix>,
    /// How often each network opens links.
    links: Meter<Prefix>,
    /// For those who open links by datagrams.
    cookies: Cookies,
    /// How often records of channels that are not there are answered.
    answers: Shared,
    /// The addresses of the directory's relays.
    relays: BTreeSet<IpAddr>,
    draining: bool,
}

impl Admission {
    pub(crate) fn new() -> Self {
        Self {
            circuits: Meter::default(),
            links: Meter::default(),
            cookies: Cookies::generate(),
            answers: Shared::default(),
            relays: BTreeSet::new(),
            draining: false,
        }
    }

    /// Counts what comes from these addresses for the relays that are there, whatever else their
    /// networks ask for.
    pub(crate) fn set_relays(&mut self, relays: impl Iterator<Item = IpAddr>) {
        self.relays = relays.map(|address| address.to_canonical()).collect();
    }

    /// For whom counts what somebody at this address asks for now.
    pub(crate) fn origin(&self, now: Instant, from: IpAddr) -> Origin {
        let from = from.to_canonical();
        let prefix = if self.relays.contains(&from) {
            Prefix::Relay(from)
        } else {
            Prefix::of(from)
        };
        Origin { prefix, since: now }
    }

    /// Takes nothing while `draining`.
    pub(crate) const fn set_draining(&mut self, draining: bool) {
        self.draining = draining;
    }

    /// Whether nothing is taken at present.
    pub(crate) const fn is_draining(&self) -> bool {
        self.draining
    }

    /// Whether a network may begin one more circuit, or let one grow, which then counts.
    pub(crate) fn allows_circuit(&mut self, now: Instant, by: Prefix, pace: Pace) -> bool {
        self.circuits.allows(now, by, pace, by.share())
    }

    /// Whether a network may open one more link, which then counts.
    pub(crate) fn allows_link(&mut self, now: Instant, by: Prefix, pace: Pace) -> bool {
        self.links.allows(now, by, pace, by.share())
    }

    /// Whether who opens a link by datagrams has proven that it receives at its address.
    pub(crate) fn knock(&self, now: Instant, from: SocketAddr, data: &[u8]) -> Knock {
        self.cookies.check(now, from, data)
    }

    /// Whether one more record of a channel that is not there is answered, which then counts.
    pub(crate) fn allows_answer(&mut self, now: Instant, from: IpAddr) -> bool {
        self.answers.allows(now, Prefix::of(from), ANSWERS)
    }

    /// Forgets networks that may ask as often as any.
    pub(crate) fn forget(&mut self, now: Instant) {
        self.circuits.forget(now);
        self.links.forget(now);
    }
}
