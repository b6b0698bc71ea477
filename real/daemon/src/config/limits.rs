//! What others may make a relay hold and do.

use hopflow_engine::{Limits, Pace};
use hopflow_units::Duration;
use serde::{Deserialize, Serialize};

use super::require;
use crate::{InputError, read};

/// More would not fit into any machine's memory.
const MOST: u32 = 1_000_000;

/// Longer than any application waits.
const LONGEST: Duration = Duration::from_secs(600_000);

/// What others may make a relay hold and do at most, all workers together. At a limit the network
/// that has most loses its oldest; a network is an IPv4 prefix of 24 bits or an IPv6 prefix of 48.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RelayLimits {
    /// Links that others opened.
    pub links: u32,
    /// Of these, those whose handshake is not over.
    pub half_open_links: u32,
    /// Circuits through the relay.
    pub circuits: u32,
    /// Of these, those that carry no data yet.
    pub nascent_circuits: u32,
    /// How often a network may begin a circuit, in the long run; each worker counts on its own.
    pub creates_per_second: u32,
    /// How often at once after a pause.
    pub creates_burst: u32,
    /// How long a circuit may carry no cell before it is closed.
    #[serde(with = "read::as_text")]
    pub circuit_idle_timeout: Duration,
    /// An exit's connections to targets. Of the network that has most, the circuit that has most loses one.
    pub connections: u32,
    /// Of these, those of one circuit.
    pub connections_per_circuit: u32,
    /// How often a circuit may begin a stream at an exit, in the long run; all circuits of a network as often as it
    /// may begin circuits. Each worker counts on its own.
    pub begins_per_second: u32,
    /// How often at once after a pause.
    pub begins_burst: u32,
    /// How long an exit looks a name up and connects, all together.
    #[serde(with = "read::as_text")]
    pub connect_timeout: Duration,
    /// How long an exit's connection may carry nothing before it is closed.
    #[serde(with = "read::as_text")]
    pub idle_timeout: Duration,
}

impl Default for RelayLimits {
    fn default() -> Self {
        let limits = Limits::default();
        let number = |limit: usize| u32::try_from(limit).unwrap_or(u32::MAX);
        Self {
            links: number(limits.links),
            half_open_links: number(limits.handshakes),
            circuits: number(limits.circuits),
            nascent_circuits: number(limits.nascent),
            creates_per_second: limits.creates.per_second,
            creates_burst: limits.creates.burst,
            circuit_idle_timeout: limits.idle,
            connections: 16_384,
            connections_per_circuit: 1024,
            begins_per_second: 20,
            begins_burst: 200,
            connect_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(60 * 60),
        }
    }
}

impl RelayLimits {
    pub(super) fn check(&self) -> Result<(), InputError> {
        for (key, value) in [
            ("limits.links", self.links),
            ("limits.half-open-links", self.half_open_links),
            ("limits.circuits", self.circuits),
            ("limits.nascent-circuits", self.nascent_circuits),
            ("limits.creates-per-second", self.creates_per_second),
            ("limits.creates-burst", self.creates_burst),
            ("limits.connections", self.connections),
            (
                "limits.connections-per-circuit",
                self.connections_per_circuit,
            ),
            ("limits.begins-per-second", self.begins_per_second),
            ("limits.begins-burst", self.begins_burst),
        ] {
            let fits = (1..=MOST).contains(&value);
            require(fits, key, value, "a number from 1 to 1000000")?;
        }
        for (key, value) in [
            ("limits.circuit-idle-timeout", self.circuit_idle_timeout),
            ("limits.connect-timeout", self.connect_timeout),
            ("limits.idle-timeout", self.idle_timeout),
        ] {
            let fits = (Duration::from_secs(1)..=LONGEST).contains(&value);
            require(fits, key, value, "a time from 1 s to 10000 min")?;
        }
        Ok(())
    }

    /// How often a network may begin circuits.
    pub(crate) const fn creates(&self) -> Pace {
        Pace {
            per_second: self.creates_per_second,
            burst: self.creates_burst,
        }
    }

    /// How often a circuit may begin streams.
    pub(crate) const fn begins(&self) -> Pace {
        Pace {
            per_second: self.begins_per_second,
            burst: self.begins_burst,
        }
    }

    /// The part of each of so many workers.
    pub(crate) fn share(&self, workers: usize) -> Limits {
        let whole = Limits {
            links: self.links as usize,
            handshakes: self.half_open_links as usize,
            circuits: self.circuits as usize,
            nascent: self.nascent_circuits as usize,
            creates: self.creates(),
            idle: self.circuit_idle_timeout,
            ..Limits::default()
        };
        whole.share(workers)
    }
}
