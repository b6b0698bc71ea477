//! Who is let in, and how often.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use hopflow_channel::{Cookies, Fingerprint, Knock};
use hopflow_onion::{Hint, Introduction, OnionPublic};
use hopflow_units::Instant;

use super::backlog::Backlog;
use super::meter::{Meter, Shared};
use super::{Origin, Prefix};
use crate::config::{KnownRelays, Pace};

/// How often an engine answers records of channels that are not there, to networks that share a bucket. Each
/// channel sends several in a second and needs one answer.
const ANSWERS: Pace = Pace {
    per_second: 100,
    burst: 100,
};

/// What all circuits under way together have at most of what set-up messages may take of a bucket at once.
const MOST_FURTHER: f64 = 0.5;

/// For what a set-up message asks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Asks {
    /// A circuit that is under way goes on.
    Further,
    /// A circuit begins or gets longer than others are, and so much is kept for those.
    More(f64),
}

/// What an engine takes from others: nothing while it drains, and from each network no more often
/// than it may ask.
#[derive(Debug)]
pub(crate) struct Admission {
    /// How often each network begins circuits.
    circuits: Meter<Prefix>,
    /// How often each network opens links.
    links: Meter<Prefix>,
    /// Whose set-up messages took what is lacking of a bucket that cells wait for.
    setup: Backlog,
    /// For those who open links by datagrams.
    cookies: Cookies,
    /// How often records of channels that are not there are answered.
    answers: Shared,
    /// The addresses of the directory's relays.
    addresses: BTreeSet<IpAddr>,
    /// The relays themselves, and their keys.
    relays: BTreeMap<Hint, (Fingerprint, OnionPublic)>,
    draining: bool,
}

impl Admission {
    pub(crate) fn new() -> Self {
        Self {
            circuits: Meter::default(),
            links: Meter::default(),
            setup: Backlog::default(),
            cookies: Cookies::generate(),
            answers: Shared::default(),
            addresses: BTreeSet::new(),
            relays: BTreeMap::new(),
            draining: false,
        }
    }

    /// Counts what comes from the addresses of these relays, or from who proves to be one of them, for them,
    /// whatever else their networks ask for.
    pub(crate) fn set_relays(&mut self, relays: &KnownRelays) {
        let addresses = relays.keys().map(|(at, _)| at.ip().to_canonical());
        self.addresses = addresses.collect();
        let by_hint = |((_, fingerprint), onion): (&(_, Fingerprint), &OnionPublic)| {
            let hint = Introduction::hint_of(&fingerprint.to_bytes());
            (hint, (*fingerprint, *onion))
        };
        self.relays = relays.iter().map(by_hint).collect();
    }

    /// The relay that somebody says to be, and its key.
    pub(crate) fn claimed(
        &self,
        introduction: &Introduction,
    ) -> Option<(Fingerprint, OnionPublic)> {
        self.relays.get(&introduction.hint()).copied()
    }

    /// For whom counts what somebody at this address asks for now.
    pub(crate) fn origin(&self, now: Instant, from: IpAddr) -> Origin {
        let from = from.to_canonical();
        let prefix = if self.addresses.contains(&from) {
            Prefix::At(from)
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

    /// Whether a set-up message may be sent for somebody, where the part `left` of what such may take at once is left; it
    /// takes the part `takes`, which then counts.
    pub(crate) fn allows_setup(&mut self, by: Prefix, left: f64, asks: Asks, takes: f64) -> bool {
        self.setup.set_lack(1.0 - left);
        let used = self.setup.part_of(by);
        let allows = match asks {
            Asks::Further => left.min(MOST_FURTHER - self.setup.under_way()) > used,
            Asks::More(kept) => left > kept + (1.0 - kept) * used,
        };
        if allows {
            let further = matches!(asks, Asks::Further);
            self.setup.add(by, takes, further);
        }
        allows
    }

    /// Whether a relay is one of the directory's.
    pub(crate) fn knows(&self, relay: &Fingerprint) -> bool {
        let hint = Introduction::hint_of(&relay.to_bytes());
        self.relays
            .get(&hint)
            .is_some_and(|(known, _)| known == relay)
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
        self.setup.forget();
    }
}
