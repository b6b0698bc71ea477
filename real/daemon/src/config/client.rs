//! What the user of a client configures.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hopflow_onion::MAX_LEGS;
use hopflow_units::{Bytes, Duration, Rate};
use serde::{Deserialize, Serialize};

use super::{
    Config, EmulatedLink, Network, Trace, check_memory, check_port, default_drain, require,
};
use crate::{InputError, read};

/// The longest path: what a set-up message has room for sets no limit, patience does.
const LONGEST_PATH: u8 = 8;
/// The most circuits of a client: each costs its relays memory and a handshake.
const MOST_CIRCUITS: u32 = 4096;

/// A client: `client.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClientConfig {
    /// Which network the client uses.
    pub network: Network,
    /// Where applications connect to by SOCKS 5; "127.0.0.1:9050" by default.
    #[serde(default = "default_socks")]
    pub socks: SocketAddr,
    /// By which addresses the client reaches the first relays of its paths; by those that it has a
    /// route to, by default.
    #[serde(default)]
    pub families: Families,
    /// Memory for cells that wait; "256 MiB" by default.
    #[serde(default = "default_memory", with = "read::as_text")]
    pub memory: Bytes,
    /// Where metrics are served; nowhere by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<SocketAddr>,
    /// How long a client that shuts down waits for its streams to end; "10 s" by default.
    #[serde(default = "default_drain", with = "read::as_text")]
    pub drain: Duration,
    /// The client's access link; not known by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<ClientAccess>,
    /// How circuits are built and used.
    #[serde(default)]
    pub circuits: Circuits,
    /// An emulated access link, for testbeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<EmulatedLink>,
    /// What is written of circuits and links; nothing by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// A client's access link. Datagrams leave no faster than it carries them, and transports that plan rates go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClientAccess {
    /// What the link carries in each direction.
    #[serde(with = "read::as_text")]
    pub rate: Rate,
}

/// By which addresses a client reaches relays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Families {
    /// By those to which the host has a route.
    #[default]
    Any,
    /// By IPv4 only.
    Ipv4,
    /// By IPv6 only.
    Ipv6,
}

impl Families {
    /// Whether an address may be used.
    pub const fn allow(self, address: SocketAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Ipv4 => address.is_ipv4(),
            Self::Ipv6 => address.is_ipv6(),
        }
    }
}

/// The shortest time for which a circuit takes new streams: those that are built in advance are renewed as often.
const LEAST_AGE: Duration = Duration::from_secs(10);

/// How a client builds and uses circuits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Circuits {
    /// Relays of a circuit; 3 by default.
    pub length: u8,
    /// Circuits to the same exit, through different relays, that carry a stream together, if there are so many
    /// paths: from 1 to 4. One by default; two where the transport moves streams among circuits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legs: Option<u8>,
    /// Circuits built in advance, which nobody uses yet, up to `most`; 2 by default.
    pub spare: u32,
    /// Circuits at most, from 1 to 4096; 256 by default.
    pub most: u32,
    /// How long a circuit takes new streams, counted from its first, or, while it has had none,
    /// from when it was built, 10 s at least; "10 min" by default.
    #[serde(with = "read::as_text")]
    pub max_age: Duration,
    /// How long a circuit may take to be built; "10 s" by default.
    #[serde(with = "read::as_text")]
    pub build_timeout: Duration,
    /// How long a stream waits for a circuit, and then for the exit's answer; "30 s" by default.
    #[serde(with = "read::as_text")]
    pub stream_timeout: Duration,
}

impl Default for Circuits {
    fn default() -> Self {
        Self {
            length: 3,
            legs: None,
            spare: 2,
            most: 256,
            max_age: Duration::from_secs(600),
            build_timeout: Duration::from_secs(10),
            stream_timeout: Duration::from_secs(30),
        }
    }
}

const fn default_memory() -> Bytes {
    Bytes::new(256 << 20)
}

const fn default_socks() -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9050)
}

impl Circuits {
    fn check(&self) -> Result<(), InputError> {
        let fits = (1..=LONGEST_PATH).contains(&self.length);
        require(
            fits,
            "circuits.length",
            self.length,
            "a number of relays from 1 to 8",
        )?;
        let legs = self.legs.unwrap_or(1);
        let fits = (1..=MAX_LEGS).contains(&legs);
        require(
            fits,
            "circuits.legs",
            legs,
            "a number of circuits from 1 to 4",
        )?;
        let fits = (1..=MOST_CIRCUITS).contains(&self.most);
        require(
            fits,
            "circuits.most",
            self.most,
            "a number of circuits from 1 to 4096",
        )?;
        let fits = self.spare <= self.most;
        require(
            fits,
            "circuits.spare",
            self.spare,
            "a number up to that of circuits.most",
        )?;
        let fits = self.max_age >= LEAST_AGE;
        require(
            fits,
            "circuits.max-age",
            self.max_age,
            "a time of at least 10 s",
        )?;
        for (key, time) in [
            ("circuits.build-timeout", self.build_timeout),
            ("circuits.stream-timeout", self.stream_timeout),
        ] {
            require(!time.is_zero(), key, time, "a time longer than zero")?;
        }
        Ok(())
    }
}

impl ClientConfig {
    /// What the client's access link carries, as the operator states it or a testbed emulates it, if it is known.
    pub fn access_rate(&self) -> Option<Rate> {
        let stated = self.access.map(|access| access.rate);
        stated.or_else(|| self.link.as_ref()?.rate)
    }

    /// Reads a client's configuration from a file; paths in it are from the file's folder.
    ///
    /// # Errors
    /// If there is none, or it cannot be used.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        Self::load_file(path)
    }
}

impl FromStr for ClientConfig {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        Self::parse(text)
    }
}

impl Config for ClientConfig {
    fn check(&self) -> Result<(), InputError> {
        check_port("socks", Some(self.socks))?;
        check_port("metrics", self.metrics)?;
        check_memory(self.memory)?;
        self.circuits.check()?;
        self.trace.as_ref().map_or(Ok(()), Trace::check)?;
        self.link.as_ref().map_or(Ok(()), EmulatedLink::check)
    }

    fn paths(&mut self) -> Vec<&mut PathBuf> {
        let trace = self.trace.as_mut().map(|trace| &mut trace.folder);
        let paths = [&mut self.network.directory];
        paths.into_iter().chain(trace).collect()
    }
}
