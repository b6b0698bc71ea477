//! Who is let in, and how often.

use std::net::SocketAddr;

use hopflow_channel::{Cookies, Knock};
use hopflow_units::Instant;

use super::{Meter, Prefix};
use crate::config::Pace;

/// What an engine takes from others: nothing while it drains, and from each network no more often
/// than it may ask.
#[derive(Debug)]
pub(crate) struct Admission {
    /// How often each network begins circuits.
    circuits: Meter,
    /// How often each network opens links.
    links: Meter,
    /// For those who open links by datagrams.
    cookies: Cookies,
    draining: bool,
}

impl Admission {
    pub(crate) fn new() -> Self {
        Self {
            circuits: Meter::default(),
            links: Meter::default(),
            cookies: Cookies::generate(),
            draining: false,
        }
    }

    /// Takes nothing from now on.
    pub(crate) const fn drain(&mut self) {
        self.draining = true;
    }

    /// Whether nothing is taken any more.
    pub(crate) const fn is_draining(&self) -> bool {
        self.draining
    }

    /// Whether a network may begin one more circuit, or let one grow, which then counts.
    pub(crate) fn allows_circuit(&mut self, now: Instant, by: Prefix, pace: Pace) -> bool {
        self.circuits.allows(now, by, pace)
    }

    /// Whether a network may open one more link, which then counts.
    pub(crate) fn allows_link(&mut self, now: Instant, by: Prefix, pace: Pace) -> bool {
        self.links.allows(now, by, pace)
    }

    /// Whether who opens a link by datagrams has proven that it receives at its address.
    pub(crate) fn knock(&self, now: Instant, from: SocketAddr, data: &[u8]) -> Knock {
        self.cookies.check(now, from, data)
    }

    /// Forgets networks that may ask as often as any.
    pub(crate) fn forget(&mut self, now: Instant) {
        self.circuits.forget(now);
        self.links.forget(now);
    }
}
