//! Whether a directory makes sense.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::{Directory, MOST_WEIGHT, Relay, TransportChoice, VERSION};
use crate::InputError;

/// The longest name of a network or relay.
const LONGEST_NAME: usize = 32;

impl Directory {
    pub(super) fn check(&self) -> Result<(), InputError> {
        if self.version != VERSION {
            let problem = format!("{}: allowed is {VERSION}", self.version);
            return Err(InputError::at("version", problem));
        }
        check_name("network", &self.network)?;
        if self.valid_after >= self.valid_until {
            let problem = format!(
                "{}: allowed is a time after valid-after, {}",
                self.valid_until, self.valid_after
            );
            return Err(InputError::at("valid-until", problem));
        }
        self.transport.check()?;
        for (index, relay) in self.relays.iter().enumerate() {
            relay.check(&format!("relays[{index}]"))?;
        }
        self.check_address_families()?;
        self.check_unique("nickname", |relay| Some(relay.nickname.clone()))?;
        self.check_unique("fingerprint", |relay| Some(relay.fingerprint.to_string()))?;
        // Who lists the key of another one could be taken for it.
        self.check_unique("onion-key", |relay| Some(relay.onion_key.to_string()))?;
        self.check_unique("address", |relay| Some(relay.address.to_string()))?;
        let other = |relay: &Relay| Some(relay.other_address?.to_string());
        self.check_unique("other-address", other)
    }

    /// Any relay may be next to any other: all are to be reached in the same way.
    fn check_address_families(&self) -> Result<(), InputError> {
        let family = |relay: &Relay| {
            if relay.address.is_ipv6() {
                "IPv6"
            } else {
                "IPv4"
            }
        };
        let mut relays = self.relays.iter().map(family).enumerate();
        let Some((_, first)) = relays.next() else {
            return Ok(());
        };
        match relays.find(|(_, other)| *other != first) {
            None => Ok(()),
            Some((index, _)) => {
                let address = self.relays[index].address;
                let problem = format!("{address}: allowed is {first}, as relays[0] has it");
                Err(InputError::at(format!("relays[{index}].address"), problem))
            }
        }
    }

    fn check_unique(
        &self,
        key: &str,
        value_of: impl Fn(&Relay) -> Option<String>,
    ) -> Result<(), InputError> {
        let mut seen = BTreeMap::new();
        for (index, relay) in self.relays.iter().enumerate() {
            let Some(value) = value_of(relay) else {
                continue;
            };
            if let Some(other) = seen.get(&value) {
                let problem = format!("{value}: relays[{other}] has it already");
                return Err(InputError::at(format!("relays[{index}].{key}"), problem));
            }
            seen.insert(value, index);
        }
        Ok(())
    }
}

impl Relay {
    pub(super) fn check(&self, key: &str) -> Result<(), InputError> {
        check_name(&format!("{key}.nickname"), &self.nickname)?;
        if let Some(family) = &self.family {
            check_name(&format!("{key}.family"), family)?;
        }
        check_reachable(&format!("{key}.address"), self.address)?;
        if let Some(other) = self.other_address {
            let key = format!("{key}.other-address");
            check_reachable(&key, other)?;
            if other.is_ipv6() == self.address.is_ipv6() {
                let problem = format!(
                    "{other}: allowed is an address of the other family than {}",
                    self.address
                );
                return Err(InputError::at(key, problem));
            }
        }
        if self.weight > MOST_WEIGHT {
            let problem = format!("{}: allowed is up to {MOST_WEIGHT}", self.weight);
            return Err(InputError::at(format!("{key}.weight"), problem));
        }
        Ok(())
    }
}

impl TransportChoice {
    /// Whether the registry has it, and nodes that go by its options can have the weight that these state.
    fn check(&self) -> Result<(), InputError> {
        let built = hopflow_real_hosts::build(&self.preset, &self.options);
        built.map_err(|error| {
            let key = match error.key.as_str() {
                "preset" => "transport.preset".to_owned(),
                option => format!("transport.options.{option}"),
            };
            let problem = match error.value.as_str() {
                "" => error.allowed,
                value => format!("{value}: allowed is {}", error.allowed),
            };
            InputError::at(key, problem)
        })?;
        self.clone().weighted(None, 1).map(|_| ())
    }
}

fn check_reachable(key: &str, address: SocketAddr) -> Result<(), InputError> {
    // What extends a circuit has no room for a scope, without which nobody reaches link-local addresses.
    let is_local = match address {
        SocketAddr::V4(_) => false,
        SocketAddr::V6(it) => {
            it.scope_id() != 0 || it.flowinfo() != 0 || it.ip().is_unicast_link_local()
        }
    };
    let is_nowhere = address.ip().is_unspecified() || address.ip().is_multicast();
    if address.port() == 0 || is_nowhere || is_local {
        let problem = format!("{address}: allowed is an address that others can reach");
        return Err(InputError::at(key, problem));
    }
    let canonical = address.ip().to_canonical();
    if canonical != address.ip() {
        let problem = format!("{address}: allowed is the IPv4 address itself, {canonical}");
        return Err(InputError::at(key, problem));
    }
    Ok(())
}

fn check_name(key: &str, name: &str) -> Result<(), InputError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(fits) {
        let problem =
            format!("\"{name}\": allowed are 1 to {LONGEST_NAME} letters, digits and hyphens");
        return Err(InputError::at(key, problem));
    }
    Ok(())
}
