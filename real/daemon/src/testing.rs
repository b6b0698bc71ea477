//! Made-up networks for tests.

use crate::directory::{Directory, Relay, TransportChoice};
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
