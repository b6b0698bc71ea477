//! What operators and users configure: `relay.toml` and `client.toml`.

mod client;
mod limits;
mod link;
mod listen;
mod relay;
mod trace;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use hopflow_units::{Bytes, Duration};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::directory::{AuthorityId, Directory};
use crate::{InputError, UnixTime, read};

pub use client::{Circuits, ClientAccess, ClientConfig, Families};
pub use hopflow_onion::MAX_LEGS;
pub use limits::RelayLimits;
pub use link::{EmulatedLink, Queue};
pub use listen::Listen;
pub use relay::{Access, Bucket, RelayConfig};
pub use trace::{Trace, What};

/// The least memory with which a node can do something.
const LEAST_MEMORY: Bytes = Bytes::new(16 << 20);

/// Which network a node belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Network {
    /// The file of the network's directory.
    pub directory: PathBuf,
    /// The public key of the authority that signs it.
    pub authority: AuthorityId,
}

impl Network {
    /// Reads the network's directory, which must be valid at the time `now`.
    ///
    /// # Errors
    /// If there is none, or it is not to be trusted.
    pub fn load(&self, now: UnixTime) -> Result<Directory, InputError> {
        Directory::load(&self.directory, &self.authority, now)
    }
}

/// Where the node of a configuration, a relay or a client, serves metrics.
///
/// # Errors
/// If there is none, or it says of no place.
pub fn metrics_address(path: &Path) -> Result<SocketAddr, InputError> {
    /// The only key that matters.
    #[derive(Deserialize)]
    struct Served {
        metrics: Option<SocketAddr>,
    }
    let text = read::file(path)?;
    let in_text = |error: InputError| error.in_text(&path.display().to_string(), &text);
    let served: Served = read::toml(&text).map_err(in_text)?;
    served.metrics.ok_or_else(|| {
        let problem = "missing: the node serves no metrics; allowed is an address with a port, such as \
                       \"127.0.0.1:9100\"";
        in_text(InputError::at("metrics", problem.to_owned()))
    })
}

/// A file of configuration.
trait Config: DeserializeOwned {
    /// Whether the values can be used.
    fn check(&self) -> Result<(), InputError>;

    /// The paths in it.
    fn paths(&mut self) -> Vec<&mut PathBuf>;

    /// Reads and checks a file; its paths are from the folder that it is in.
    fn load_file(path: &Path) -> Result<Self, InputError> {
        let text = read::file(path)?;
        let in_text = |error: InputError| error.in_text(&path.display().to_string(), &text);
        let mut config = Self::parse(&text).map_err(in_text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for path in config.paths() {
            *path = folder.join(&path);
        }
        Ok(config)
    }

    /// Reads and checks a text.
    fn parse(text: &str) -> Result<Self, InputError> {
        let config: Self = read::toml(text)?;
        config.check()?;
        Ok(config)
    }
}

/// Refuses `value` at `key` unless it `fits`.
fn require(
    fits: bool,
    key: &str,
    value: impl std::fmt::Display,
    allowed: &str,
) -> Result<(), InputError> {
    if fits {
        return Ok(());
    }
    Err(InputError::at(
        key,
        format!("{value}: allowed is {allowed}"),
    ))
}

/// Refuses an address at `key` whose port the system would choose: nobody would know where to connect to.
fn check_port(key: &str, address: Option<SocketAddr>) -> Result<(), InputError> {
    let wrong = address.filter(|address| address.port() == 0);
    wrong.map_or(Ok(()), |address| {
        require(false, key, address, "an address with a port from 1")
    })
}

fn check_memory(memory: Bytes) -> Result<(), InputError> {
    require(memory >= LEAST_MEMORY, "memory", memory, "16 MiB or more")
}

/// How long a node that shuts down waits for its circuits to end, by default.
const fn default_drain() -> Duration {
    Duration::from_secs(10)
}

#[cfg(test)]
mod tests;
