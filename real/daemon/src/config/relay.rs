//! What the operator of a relay configures.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hopflow_units::{Bytes, Duration, Rate};
use serde::{Deserialize, Serialize};

use super::{
    Config, EmulatedLink, LEAST_MEMORY, Listen, Network, RelayLimits, Trace, check_memory,
    check_port, default_drain, require,
};
use crate::accounting::Accounting;
use crate::policy::ExitPolicy;
use crate::{InputError, read};

/// The most workers of a node: each has its own sockets and its own share of the circuits.
const MOST_WORKERS: u16 = 256;
/// A relay that moves less in a period does nothing but begin links.
const LEAST_ACCOUNTED: Bytes = Bytes::new(1_000_000);
/// A bucket must hold a batch of packets.
const LEAST_BURST: Bytes = Bytes::new(4096);

/// A relay: `relay.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RelayConfig {
    /// Which network the relay belongs to.
    pub network: Network,
    /// The folder of the relay's secret keys; they are made if it has none.
    pub keys: PathBuf,
    /// Where the relay takes links, by UDP or TCP as the network's transport has it: an address, or one
    /// of each family.
    pub listen: Listen,
    /// Threads that share the circuits; one where a rate is limited or that of the access link is known, or the link
    /// is emulated, else one a core, by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u16>,
    /// Memory for links, circuits and cells that wait; "512 MiB" by default.
    #[serde(default = "default_memory", with = "read::as_text")]
    pub memory: Bytes,
    /// Where metrics are served; nowhere by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<SocketAddr>,
    /// How long a relay that shuts down waits for its circuits to end; "10 s" by default.
    #[serde(default = "default_drain", with = "read::as_text")]
    pub drain: Duration,
    /// The limit on what the relay forwards; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<Bucket>,
    /// The relay's access link, which it may share with other applications; not known by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// What the relay moves at most in a period; no limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounting: Option<Accounting>,
    /// What others may make the relay hold.
    #[serde(default)]
    pub limits: RelayLimits,
    /// What the relay connects to; it is no exit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<ExitPolicy>,
    /// An emulated access link, for testbeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<EmulatedLink>,
    /// What is written of circuits and links; nothing by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// A limit on what leaves to relays and clients, all circuits and both of their directions together: a token
/// bucket. What an exit and servers send each other does not count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Bucket {
    /// The long-term rate.
    #[serde(with = "read::as_text")]
    pub rate: Rate,
    /// What may be sent at once after a pause; what the rate gives in a second, by default. Each worker has at
    /// least what a refill brings, and a cell more.
    #[serde(
        default,
        with = "read::as_optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub burst: Option<Bytes>,
    /// Time between refills; the transport's own by default.
    #[serde(
        default,
        with = "read::as_optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub refill: Option<Duration>,
}

/// A relay's access link. Datagrams leave no faster than it carries them, and transports that plan rates go by it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Access {
    /// What the link carries in each direction.
    #[serde(with = "read::as_text")]
    pub rate: Rate,
    /// By how many TCP connections the circuits that enter the relay count together where others
    /// compete for the link; with 0 nothing holds them to a number. The directory's by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

const fn default_memory() -> Bytes {
    Bytes::new(512 << 20)
}

impl Bucket {
    /// What may be sent at once after a pause.
    pub fn burst(&self) -> Bytes {
        let second = self.rate.bytes_in(Duration::from_secs(1));
        self.burst.unwrap_or_else(|| second.max(LEAST_BURST))
    }

    /// Whether so many workers can use their parts of it.
    fn check(&self, workers: u64) -> Result<(), InputError> {
        let burst = self.burst();
        // A worker sends nothing before its part of the burst has room for a cell.
        require(
            burst >= LEAST_BURST * workers,
            "bucket.burst",
            burst,
            "4 KiB or more for each worker",
        )?;
        let Some(refill) = self.refill else {
            return Ok(());
        };
        let fits = !refill.is_zero() && refill <= Duration::from_secs(1);
        require(
            fits,
            "bucket.refill",
            refill,
            "a time up to 1 s, but not zero",
        )
    }
}

impl RelayConfig {
    /// What the relay's access link carries, as the operator states it or a testbed emulates it, if it is known.
    pub fn access_rate(&self) -> Option<Rate> {
        let stated = self.access.map(|access| access.rate);
        stated.or_else(|| self.link.as_ref()?.rate)
    }

    /// Reads a relay's configuration from a file; paths in it are from the file's folder.
    ///
    /// # Errors
    /// If there is none, or it cannot be used.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        Self::load_file(path)
    }

    /// By how many TCP connections the circuits that enter the relay count where others compete for its
    /// link, if the operator says so.
    pub(crate) fn weight(&self) -> Option<f64> {
        self.access?.weight
    }

    /// The number of workers on a machine of this many cores.
    ///
    /// A limit on the rate, or that of the access link, emulated or not, is kept by one worker, unless the operator
    /// wants more: each then has its part of it. Nor are there more workers by default than have memory to work with.
    pub fn workers(&self, cores: usize) -> usize {
        let with_memory = self.memory.get() / LEAST_MEMORY.get();
        let with_memory = usize::try_from(with_memory).unwrap_or(usize::MAX);
        let limited = self.bucket.is_some() || self.access.is_some() || self.link.is_some();
        let default = if limited { 1 } else { cores.min(with_memory) };
        self.workers
            .map_or(default, usize::from)
            .clamp(1, MOST_WORKERS.into())
    }
}

impl FromStr for RelayConfig {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        Self::parse(text)
    }
}

impl Config for RelayConfig {
    fn check(&self) -> Result<(), InputError> {
        self.listen.check()?;
        check_port("metrics", self.metrics)?;
        let workers = self.workers.unwrap_or(1);
        let fits = (1..=MOST_WORKERS).contains(&workers);
        require(fits, "workers", workers, "a number from 1 to 256")?;
        check_memory(self.memory)?;
        let parts = u64::from(workers);
        require(
            self.memory >= LEAST_MEMORY * parts,
            "memory",
            self.memory,
            "16 MiB or more for each worker",
        )?;
        if let Some(Accounting { max, .. }) = self.accounting {
            require(
                max >= LEAST_ACCOUNTED,
                "accounting.max",
                max,
                "1 MB or more",
            )?;
        }
        self.limits.check()?;
        let bucket = self.bucket.as_ref();
        bucket.map_or(Ok(()), |bucket| bucket.check(parts))?;
        if let Some(weight) = self.weight() {
            let fits = (0.0..=100.0).contains(&weight);
            require(fits, "access.weight", weight, "a number from 0 to 100")?;
        }
        self.trace.as_ref().map_or(Ok(()), Trace::check)?;
        self.link.as_ref().map_or(Ok(()), EmulatedLink::check)
    }

    fn paths(&mut self) -> Vec<&mut PathBuf> {
        let trace = self.trace.as_mut().map(|trace| &mut trace.folder);
        let paths = [&mut self.network.directory, &mut self.keys];
        paths.into_iter().chain(trace).collect()
    }
}
