//! The directory: which relays a network has, and what all its nodes agree on.
//!
//! A directory is a TOML file whose last lines are signatures over all that stands before them.
//! An authority, whose public key every node's configuration names, makes and signs it; nothing of
//! a file is looked at before a signature is verified.

mod authority;
mod check;
mod entry;
pub(crate) mod newest;
mod signed;

use std::net::SocketAddr;
use std::path::Path;

use hopflow_units::{Duration, Interval};
use serde::{Deserialize, Serialize};

use crate::policy::ExitPolicy;
use crate::{Hex, InputError, Target, UnixTime, read};

pub use authority::{AuthorityId, AuthorityKey};

/// The version of the file's format.
const VERSION: u32 = 1;
/// How far a node's clock may be off before the beginning of a directory's time of validity.
const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The highest weight of a relay: the sum over a network must fit into 64 bits.
pub const MOST_WEIGHT: u64 = 10_000_000_000;

/// What nodes of a network need to know of each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Directory {
    /// The version of the file's format: 1.
    version: u32,
    /// The network's name, of letters, digits and hyphens.
    pub network: String,
    /// When the directory begins to be valid.
    pub valid_after: UnixTime,
    /// When it ends to be valid.
    pub valid_until: UnixTime,
    /// The transport that every node speaks: neighbours must agree.
    pub transport: TransportChoice,
    /// The relays.
    #[serde(default)]
    pub relays: Vec<Relay>,
}

/// A transport of the registry with its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TransportChoice {
    /// The preset's name.
    pub preset: String,
    /// Options that override the preset's.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub options: toml::Table,
}

impl TransportChoice {
    /// The choice with the defaults of real hosts, unless the options say otherwise: a transport that
    /// judges queues by delay tolerates what a host's scheduling adds to it, [`TOLERANCE`], and its
    /// buckets are refilled every [`REFILL`]. Where the options have another tolerance, buckets that are refilled more
    /// often stay so.
    #[must_use]
    pub fn on_real_hosts(&self) -> Self {
        let mut choice = self.clone();
        let mut prefer = |option: &str, value: Interval| {
            let value = || toml::Value::String(value.to_string());
            choice.options.entry(option).or_insert_with(value);
        };
        prefer("tolerance", TOLERANCE);
        let preset = hopflow_real_hosts::build(&self.preset, &self.options);
        let often = preset.is_ok_and(|preset| preset.plan().link.refill < REFILL.get());
        if !(often && self.options.contains_key("tolerance")) {
            prefer("refill", REFILL);
        }
        let builds = hopflow_real_hosts::build(&choice.preset, &choice.options).is_ok();
        if builds { choice } else { self.clone() }
    }

    /// The choice of each of so many workers of a node whose circuits count together as `weight` TCP
    /// connections where others compete for its link; as many as the directory says, with `None`.
    ///
    /// # Errors
    /// If the transport has no weight. The error names the key that has it: `access.weight`, or the directory's.
    pub(crate) fn weighted(
        mut self,
        weight: Option<f64>,
        workers: usize,
    ) -> Result<Self, InputError> {
        let listed = self.options.get("weight");
        let listed = listed.and_then(|it| it.as_float().or(it.as_integer().map(|it| it as f64)));
        let key = match weight {
            Some(_) => "access.weight",
            None => "transport.options.weight",
        };
        let Some(weight) = weight.or(listed).filter(|weight| *weight > 0.0) else {
            self.options.remove("weight");
            return Ok(self);
        };
        self.options.insert("weight".to_owned(), weight.into());
        let built = hopflow_real_hosts::build(&self.preset, &self.options);
        let hints = self.options.get("hints").and_then(toml::Value::as_bool);
        if built.is_err() || hints == Some(false) {
            let problem = format!(
                "{weight}: the network's transport, {} as the directory has it, has no weight; allowed is 0, \
                 or a number from 0 to 100 with joint and joint-rr, which need hints for it",
                self.preset
            );
            return Err(InputError::at(key, problem));
        }
        self.options
            .insert("weight".to_owned(), (weight / workers as f64).into());
        Ok(self)
    }
}

/// What a round trip may take longer on a real host before cells count as waiting.
const TOLERANCE: Interval = Interval::from_millis(5);

/// The time between a bucket's refills there: less than [`TOLERANCE`], for cells that wait for one look like a
/// queue, and no less, for every refill wakes the relay and those that its cells go to.
const REFILL: Interval = Interval::from_millis(4);

/// A relay, as everyone may know it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Relay {
    /// A name for people: 1 to 32 letters, digits and hyphens.
    pub nickname: String,
    /// Where it takes links: a UDP or a TCP port, as the network's transport has it.
    pub address: SocketAddr,
    /// Where clients reach it that have no route to that address: one of the other family. Relays reach
    /// each other at their `address`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_address: Option<SocketAddr>,
    /// The SHA-256 digest of its links' certificate.
    pub fingerprint: Hex<32>,
    /// The public X25519 key with which circuits are extended to it.
    pub onion_key: Hex<32>,
    /// How often it is chosen in comparison with others, in any unit that all relays share; up to
    /// [`MOST_WEIGHT`].
    pub weight: u64,
    /// Whether it may be the first relay of a path.
    #[serde(default)]
    pub guard: bool,
    /// Which relays the same people run, by a name for all of them: no two of a family are in one
    /// path. 1 to 32 letters, digits and hyphens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// What it connects to; a relay without is no exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<ExitPolicy>,
}

impl Relay {
    /// Where it takes links, one address or two.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        std::iter::once(self.address).chain(self.other_address)
    }

    /// Whether the relay may connect to `target`, as far as can be said before names are looked up.
    pub fn may_exit_to(&self, target: &Target) -> bool {
        self.exit
            .as_ref()
            .is_some_and(|policy| policy.may_allow(target))
    }

    /// Whether the relay may connect to some address at `port`.
    pub fn may_exit_to_port(&self, port: u16) -> bool {
        let exit = self.exit.as_ref();
        exit.is_some_and(|policy| policy.may_allow_port(port))
    }
}

impl Directory {
    /// A directory of no relays.
    pub fn new(network: &str, transport: TransportChoice, valid: (UnixTime, UnixTime)) -> Self {
        Self {
            version: VERSION,
            network: network.to_owned(),
            valid_after: valid.0,
            valid_until: valid.1,
            transport,
            relays: Vec::new(),
        }
    }

    /// The directory as a signed file.
    ///
    /// # Errors
    /// If it is one that no node would take.
    pub fn sign(&self, authority: &AuthorityKey) -> Result<String, InputError> {
        self.check()?;
        let body = toml::to_string(self).expect("a directory has a TOML form");
        Ok(authority.sign_text(body))
    }

    /// Reads the directory file at `path`, which `authority` must have signed.
    ///
    /// # Errors
    /// If there is no such file, it is not signed, not valid at the time `now`, or does not make
    /// sense.
    pub fn load(path: &Path, authority: &AuthorityId, now: UnixTime) -> Result<Self, InputError> {
        let text = read::file(path)?;
        Self::verify(&text, authority, now).map_err(|error| error.in_file(path))
    }

    /// Reads a directory from the text of a file that `authority` must have signed.
    ///
    /// # Errors
    /// If it is not signed, not valid at the time `now`, or does not make sense.
    pub fn verify(text: &str, authority: &AuthorityId, now: UnixTime) -> Result<Self, InputError> {
        let body = signed::verified(text, authority)?;
        let directory: Self = read::toml(body)?;
        directory.check()?;
        directory.check_time(now)?;
        Ok(directory)
    }

    /// The relay of this fingerprint.
    pub fn relay(&self, fingerprint: &Hex<32>) -> Option<&Relay> {
        let fits = |relay: &&Relay| relay.fingerprint == *fingerprint;
        self.relays.iter().find(fits)
    }

    /// Whether exits with at least half of the weight of all may connect to some address at `port`.
    pub fn most_may_exit_to_port(&self, port: u16) -> bool {
        let exits = || self.relays.iter().filter(|relay| relay.exit.is_some());
        let all: u64 = exits().map(|exit| exit.weight).sum();
        let allowing = exits().filter(|exit| exit.may_exit_to_port(port));
        let allowing: u64 = allowing.map(|exit| exit.weight).sum();
        allowing >= all - allowing
    }

    /// Whether its time of validity is over.
    pub fn has_expired(&self, now: UnixTime) -> bool {
        now >= self.valid_until
    }

    fn check_time(&self, now: UnixTime) -> Result<(), InputError> {
        let (after, until) = (self.valid_after, self.valid_until);
        if now.after(CLOCK_SKEW) < after {
            let problem = format!("is not valid before {after}; it is {now} by this clock");
            return Err(InputError::at("valid-after", problem));
        }
        if self.has_expired(now) {
            let problem = format!("expired at {until}; it is {now} by this clock");
            return Err(InputError::at("valid-until", problem));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
