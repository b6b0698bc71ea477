//! Made-up networks for tests.

use std::net::SocketAddr;
use std::sync::Arc;

use hopflow_engine::{Engine, EngineConfig, Hop, Limits, RelayIdentity};

use crate::directory::{Directory, Relay, TransportChoice};
use crate::keys::KeyStore;
use crate::net::Clock;
use crate::policy::ExitPolicy;
use crate::{Hex, UnixTime};

/// A network of so many relays that are guards, neither and exits, in this order, all of weight
/// 1000, each in a network of its own; the exits accept all public addresses.
pub(crate) fn network(guards: usize, middles: usize, exits: usize) -> Directory {
    let transport = TransportChoice {
        preset: "backtap".to_owned(),
        options: toml::Table::new(),
    };
    let valid = (UnixTime::from_secs(0), UnixTime::MAX);
    let mut directory = Directory::new("test", transport, valid);
    for index in 0..guards + middles + exits {
        directory.relays.push(Relay {
            nickname: format!("relay-{index}"),
            address: ([192, index as u8, 2, 1], 9001).into(),
            other_address: None,
            fingerprint: Hex([index as u8; 32]),
            onion_key: Hex([index as u8; 32]),
            weight: 1000,
            guard: index < guards,
            family: None,
            exit: (index >= guards + middles).then(|| exit(&["accept *:*"])),
        });
    }
    directory
}

/// What an exit of these rules connects to.
pub(crate) fn exit(rules: &[&str]) -> ExitPolicy {
    ExitPolicy {
        rules: rules.iter().map(|rule| rule.parse().unwrap()).collect(),
        allow_private: false,
    }
}

/// The identity of a relay at this address, and how it is a hop of paths.
pub(crate) fn identity(address: SocketAddr) -> (RelayIdentity, Hop) {
    let folder = tempfile::tempdir().unwrap();
    let keys = KeyStore::open(folder.path()).unwrap();
    let (certificate, onion) = (keys.identity().unwrap(), keys.onion().unwrap());
    let hop = Hop {
        address,
        fingerprint: certificate.fingerprint(),
        onion: onion.public(),
    };
    (RelayIdentity { certificate, onion }, hop)
}

/// The engine of a relay with this identity, or of a client.
pub(crate) fn engine(preset: &str, relay: Option<RelayIdentity>) -> Engine {
    let factory = hopflow_real_hosts::build(preset, &toml::Table::new()).unwrap();
    let config = EngineConfig {
        relay: relay.map(Arc::new),
        extend_to: None,
        bucket: None,
        access: None,
        limits: Limits::default(),
        worker: 0,
        epoch: Clock::start().epoch(),
    };
    Engine::new(config, &*factory).unwrap()
}
