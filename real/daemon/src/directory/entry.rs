//! A relay's entry: what its operator hands to the authority.

use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Relay;
use crate::config::RelayConfig;
use crate::keys::KeyStore;
use crate::{Hex, InputError, read};

/// Entries of relays as a TOML document, in the directory's form.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    relays: Vec<Relay>,
}

impl Relay {
    /// The entry of the relay with this configuration, of weight 1 and no guard.
    ///
    /// # Errors
    /// If its keys can be neither read nor made, or it listens at an address that others cannot
    /// reach, and none is given; or if more than two are given, or two of one family.
    pub fn of(
        config: &RelayConfig,
        nickname: &str,
        addresses: &[SocketAddr],
    ) -> Result<Self, InputError> {
        let addresses = match addresses {
            [] => config.listen.addresses(),
            given => given,
        };
        let (address, other_address) = match *addresses {
            [address] => (address, None),
            [address, other] => (address, Some(other)),
            _ => {
                let problem = format!("{} are given: allowed are one or two", addresses.len());
                return Err(InputError::at("entry.address", problem));
            }
        };
        KeyStore::has_relay(&config.keys)?;
        let keys = KeyStore::open(&config.keys)?;
        let relay = Self {
            nickname: nickname.to_owned(),
            address,
            other_address,
            fingerprint: Hex(keys.identity()?.fingerprint().to_bytes()),
            onion_key: Hex(keys.onion()?.public().0),
            weight: 1,
            guard: false,
            family: None,
            exit: config.exit.clone(),
        };
        relay.check("entry")?;
        Ok(relay)
    }

    /// The entry as a TOML document, which [`read_entries`](Self::read_entries) reads.
    pub fn to_entry(&self) -> String {
        let relays = vec![self.clone()];
        toml::to_string(&Entries { relays }).expect("an entry has a TOML form")
    }

    /// Reads the entries of a file.
    ///
    /// # Errors
    /// If there is no such file, or it holds something else.
    pub fn read_entries(path: &Path) -> Result<Vec<Self>, InputError> {
        let text = read::file(path)?;
        let entries: Entries = read::toml(&text).map_err(|error| error.in_file(path))?;
        for (index, relay) in entries.relays.iter().enumerate() {
            let checked = relay.check(&format!("relays[{index}]"));
            checked.map_err(|error| error.in_file(path))?;
        }
        Ok(entries.relays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(folder: &Path, listen: &str) -> RelayConfig {
        let path = folder.join("relay.toml");
        let authority = "00".repeat(32);
        let text = format!(
            "keys = 'keys'\nlisten = '{listen}'\n\
             network = {{ directory = 'net.toml', authority = '{authority}' }}\n\
             exit = {{ policy = ['accept *:80'] }}\n"
        );
        std::fs::write(&path, text).unwrap();
        RelayConfig::load(&path).unwrap()
    }

    #[test]
    fn an_entry_is_of_the_relays_keys_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), "192.0.2.1:9001");
        let entry = Relay::of(&config, "one", &[]).unwrap();
        let keys = KeyStore::open(&config.keys).unwrap();
        let fingerprint = keys.identity().unwrap().fingerprint().to_bytes();
        assert_eq!(entry.fingerprint.0, fingerprint);
        assert!(entry.exit.is_some(), "its policy is part of it");
        let path = folder.path().join("one.entry");
        std::fs::write(&path, entry.to_entry()).unwrap();
        assert_eq!(Relay::read_entries(&path), Ok(vec![entry]));
    }

    #[test]
    fn an_address_that_nobody_reaches_needs_another() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), "0.0.0.0:9001");
        let message = Relay::of(&config, "one", &[]).unwrap_err().to_string();
        assert!(message.starts_with("entry.address: 0.0.0.0:9001: allowed"));
        let address = "192.0.2.7:443".parse().unwrap();
        let entry = Relay::of(&config, "one", &[address]).unwrap();
        assert_eq!(entry.address, address);
        let other = "[2001:db8::7]:443".parse().unwrap();
        let entry = Relay::of(&config, "one", &[other, address]).unwrap();
        assert_eq!((entry.address, entry.other_address), (other, Some(address)));
        let three = [other, address, other];
        let message = Relay::of(&config, "one", &three).unwrap_err().to_string();
        assert!(message.contains("entry.address: 3 are given: allowed are one or two"));
    }

    #[test]
    fn a_file_of_something_else_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.entry");
        std::fs::write(&path, "relays = [{ nickname = 'one' }]").unwrap();
        let message = Relay::read_entries(&path).unwrap_err().to_string();
        assert!(
            message.contains("one.entry:1: relays[0]: the key \""),
            "{message}"
        );
    }
}
