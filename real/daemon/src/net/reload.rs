//! What changes in a relay while it runs: its limits and its directory.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tracing::warn;

use super::begins::Paces;
use super::change::{Change, ExitLimits, Families, Known, Overlay, knows_own};
use super::client::hops;
use super::clock::calendar_time;
use super::descriptors::Needs;
use super::owners::Shares;
use crate::check::{ListedKeys, listing};
use crate::config::{RelayConfig, RelayLimits};
use crate::directory::{Directory, Relay, newest};
use crate::{Hex, InputError};

/// A relay's configuration, of which limits and directory may change.
#[derive(Debug)]
pub(super) struct Reloadable {
    /// As the relay was started.
    pub(super) config: RelayConfig,
    pub(super) directory: Arc<Directory>,
    pub(super) own: ListedKeys,
    /// What its limits need, with the directory that it was started with.
    pub(super) needs: Needs,
    /// The limits that metrics tell.
    pub(super) told: Arc<Mutex<RelayLimits>>,
    /// Whether its sockets towards relays are of IPv6, where all are of one family: those of datagrams.
    pub(super) to_v6: Option<bool>,
}

impl Reloadable {
    /// What follows from another configuration.
    ///
    /// # Errors
    /// If anything else differs, or its directory cannot be used, is of another network or lists other keys of the
    /// relay.
    pub(super) fn change(&self, config: &RelayConfig) -> Result<Change, InputError> {
        self.refuse_other_keys(config)?;
        let directory = self.directory_of(config)?;
        let (old, new) = (&self.directory, &directory);
        for (key, same) in [
            ("network", old.network == new.network),
            ("transport", old.transport == new.transport),
        ] {
            require_same(key, same)?;
        }
        self.refuse_other_family(&directory)
            .map_err(|error| error.in_file(&config.network.directory))?;
        newest::refuse_older(&config.keys, &directory, &config.network.authority)?;
        let found = listing(config, &directory, &self.own)?;
        found.warnings.iter().for_each(|warning| warn!("{warning}"));
        let expired = directory.has_expired(calendar_time());
        let extend_to = if expired {
            Known::default()
        } else {
            known(&directory)
        };
        let needs = self.needs.with_relays(directory.relays.len());
        let limits = needs.fit(config.limits);
        Ok(Change {
            limits: needs.share(&limits),
            told: limits,
            exit: exit_limits(&limits, needs.workers),
            overlay: Arc::new(overlay(config, &self.own.0, &directory)),
            extend_to,
            directory: Arc::new(directory),
        })
    }

    /// The directory of a configuration. One that has expired since the relay read it stays, so that limits can change
    /// all the same.
    fn directory_of(&self, config: &RelayConfig) -> Result<Directory, InputError> {
        let loaded = config.network.load(calendar_time());
        if loaded.is_ok() || !self.directory.has_expired(calendar_time()) {
            return loaded;
        }
        match config.network.load(self.directory.valid_after) {
            Ok(same) if same == *self.directory => {
                let until = same.valid_until;
                warn!(%until, "the directory has expired: limits change, and no circuits are built until there is a newer one");
                Ok(same)
            }
            _ => loaded,
        }
    }

    /// Refuses relays that no socket of this one reaches.
    fn refuse_other_family(&self, directory: &Directory) -> Result<(), InputError> {
        let (Some(to_v6), Some(first)) = (self.to_v6, directory.relays.first()) else {
            return Ok(());
        };
        if first.address.is_ipv6() == to_v6 {
            return Ok(());
        }
        let family = if to_v6 { "IPv6" } else { "IPv4" };
        let problem = format!(
            "{}: allowed is an {family} address, by which this relay has reached others since it was started; for \
             the other family, restart the relay",
            first.address
        );
        Err(InputError::at("relays[0].address", problem))
    }

    /// Refuses what cannot change while the relay runs.
    fn refuse_other_keys(&self, config: &RelayConfig) -> Result<(), InputError> {
        let old = &self.config;
        for (key, same) in [
            (
                "network.authority",
                old.network.authority == config.network.authority,
            ),
            ("keys", old.keys == config.keys),
            ("listen", old.listen == config.listen),
            ("workers", old.workers == config.workers),
            ("memory", old.memory == config.memory),
            ("metrics", old.metrics == config.metrics),
            ("drain", old.drain == config.drain),
            ("bucket", old.bucket == config.bucket),
            ("access", old.access == config.access),
            ("accounting", old.accounting == config.accounting),
            ("exit", old.exit == config.exit),
            ("link", old.link == config.link),
            ("trace", old.trace == config.trace),
        ] {
            require_same(key, same)?;
        }
        Ok(())
    }
}

fn require_same(key: &str, same: bool) -> Result<(), InputError> {
    if same {
        return Ok(());
    }
    let problem = "it differs from what the relay was started with: allowed are changes of limits and of \
                   the directory's relays; for others, restart the relay";
    Err(InputError::at(key, problem.to_owned()))
}

/// Whether relays reach each other at IPv6 addresses.
pub(super) fn reach_by_v6(directory: &Directory) -> bool {
    let first = directory.relays.first();
    first.is_some_and(|relay| relay.address.is_ipv6())
}

/// The relays of a directory: where they take links, and how they prove themselves.
pub(super) fn known(directory: &Directory) -> Known {
    let listed = hops(directory).into_iter();
    Arc::new(
        listed
            .map(|hop| ((hop.address, hop.fingerprint), hop.onion))
            .collect(),
    )
}

/// What each of so many workers spends on an exit's connections.
pub(super) fn exit_limits(limits: &RelayLimits, workers: usize) -> ExitLimits {
    ExitLimits {
        begins: Paces {
            circuit: limits.begins(),
            network: limits.creates(),
        },
        shares: Shares {
            all: (limits.connections as usize).div_ceil(workers),
            each: limits.connections_per_circuit as usize,
        },
        connect: limits.connect_timeout,
        idle: limits.idle_timeout,
    }
}

/// Where an exit does not connect to: the relays of the directory, and itself, unless its operator lets
/// it reach private networks, as on testbeds.
pub(super) fn overlay(config: &RelayConfig, own: &Hex<32>, directory: &Directory) -> Overlay {
    let public = config.exit.as_ref().is_some_and(|exit| !exit.allow_private);
    let listed = directory.relay(own);
    let own: Vec<SocketAddr> = match listed {
        Some(relay) => relay.addresses().collect(),
        None => config.listen.addresses().to_vec(),
    };
    let own = own.into_iter().map(|address| address.ip());
    Overlay {
        relays: directory.relays.iter().flat_map(Relay::addresses).collect(),
        own: own.filter(|own| public && !own.is_unspecified()).collect(),
        refuses_own: public,
        knows_own: if public {
            knows_own()
        } else {
            Families::default()
        },
        ..Overlay::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyStore;
    use crate::testing::network;
    use hopflow_units::Duration;

    #[test]
    fn each_relay_that_the_directory_gains_takes_a_descriptor_from_links_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let authority = KeyStore::open(&folder.path().join("authority")).unwrap();
        let authority = authority.authority().unwrap();
        let sign = |relays| {
            let mut directory = network(relays, 0, 0);
            directory.valid_after = calendar_time();
            directory.valid_until = calendar_time().after(Duration::from_secs(3600));
            let text = directory.sign(&authority).unwrap();
            std::fs::write(folder.path().join("directory.toml"), text).unwrap();
            directory
        };
        let directory = sign(2);
        let file = folder.path().join("relay.toml");
        let text = format!(
            "keys = 'keys'\nlisten = '127.0.0.1:9'\n[network]\ndirectory = 'directory.toml'\n\
             authority = '{}'\n[limits]\nlinks = 1000\n",
            authority.id()
        );
        std::fs::write(&file, text).unwrap();
        let config = RelayConfig::load(&file).unwrap();
        let reloadable = Reloadable {
            config: config.clone(),
            directory: Arc::new(directory),
            own: (Hex([99; 32]), Hex([99; 32])),
            needs: Needs {
                of_link: 1,
                opened: 2,
                exit: false,
                workers: 1,
                files: 0,
                descriptors: Some(600),
            },
            told: Arc::new(Mutex::new(config.limits)),
            to_v6: None,
        };
        let links = || reloadable.change(&config).unwrap().told.links;
        let before = links();
        sign(12);
        assert_eq!(before - links(), 10);
    }
}
