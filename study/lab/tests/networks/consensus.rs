//! Consensus documents as sources, in builds that read them and in others.

use crate::population;

/// A scenario over so many relays of the document `FILE`.
fn with_consensus(relays: u32) -> String {
    let plain = format!("relays = {relays}");
    let with = format!("{plain}, consensus = \"FILE\"");
    population(relays, "{ tor = 3 }").replace(&plain, &with)
}

#[cfg(not(feature = "consensus"))]
#[test]
fn a_build_that_reads_no_consensus_says_how_to_get_one_that_does() {
    let parts = [
        "net.toml:6: network.source.population.consensus: is \"FILE\"",
        "the cargo feature \"consensus\"",
        "--features consensus",
    ];
    crate::assert_refused(&with_consensus(20), &parts);
}

#[cfg(feature = "consensus")]
mod with_the_parser {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Write as _;
    use std::fs;

    use hopflow_units::Rate;
    use tempfile::TempDir;

    use super::with_consensus;
    use crate::{assert_refused, parse_beside, relays};

    const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    /// 40 relays, of which 0 to 9 are guards and 10 to 17 exits; the number is the last digit but
    /// one of the fingerprint.
    fn document() -> String {
        let mut text = "network-status-version 3\nvote-status consensus\nconsensus-method 28\n\
             valid-after 2015-08-04 12:00:00\nfresh-until 2015-08-04 13:00:00\n\
             valid-until 2015-08-04 15:00:00\nvoting-delay 300 300\nclient-versions \n\
             server-versions \nknown-flags Exit Fast Guard Running Valid\n\
             dir-source madeup 00000000000000000000000000000000000000FF made.up 192.0.2.9 80 443\n\
             contact nobody\nvote-digest 00000000000000000000000000000000000000EE\n"
            .to_owned();
        for number in 0..40 {
            let identity = format!("{}{}A", "A".repeat(25), char::from(BASE64[number]));
            let digest = "BBBBBBBBBBBBBBBBBBBBBBBBBBA";
            let flags = match number {
                0..10 => "Fast Guard Running Valid",
                10..18 => "Exit Fast Running Valid",
                _ => "Fast Running Valid",
            };
            writeln!(
                text,
                "r relay {identity} {digest} 2015-08-04 11:00:00 10.{number}.0.1 9001 0\n\
                 s {flags}\nv Tor 0.2.6.10\npr Link=1-4 Relay=1-2\nw Bandwidth={}",
                1_000 + number
            )
            .unwrap();
        }
        text + "directory-footer\n\
                directory-signature 00000000000000000000000000000000000000FF \
                00000000000000000000000000000000000000DD\n\
                -----BEGIN SIGNATURE-----\nAAAA\n-----END SIGNATURE-----\n"
    }

    fn number(name: &str) -> u64 {
        u64::from_str_radix(name, 16).unwrap() / 16
    }

    #[test]
    fn each_seed_draws_a_sample_of_a_consensus_and_relays_stay_where_they_are() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("FILE"), document()).unwrap();
        let beside = folder.path().join("net.toml");
        let scenario = parse_beside(&with_consensus(20), &beside, None).unwrap();
        let mut router_of = BTreeMap::new();
        let mut samples = BTreeSet::new();
        for seed in 1..=5 {
            let world = scenario.sample(seed);
            world.validate().unwrap();
            let numbers: Vec<u64> = world.nodes[..20].iter().map(|n| number(&n.name)).collect();
            for (node, relay) in numbers.iter().enumerate() {
                let rate = world.nodes[node].bucket.unwrap().rate;
                assert_eq!(rate, Rate::from_kilobytes_per_sec(1_000 + relay));
                let router = world.backbone.router(node);
                assert_eq!(*router_of.entry(*relay).or_insert(router), router);
            }
            for circuit in &world.circuits {
                let path = relays(circuit);
                assert!(numbers[path[0]] < 10, "no guard");
                assert!((10..18).contains(&numbers[path[2]]), "no exit");
            }
            samples.insert(numbers);
        }
        assert!(samples.len() > 1, "each seed drew the same relays");
        let found = parse_beside(&with_consensus(41), &beside, None).unwrap_err();
        let expected = "relays: 41 is outside of what is allowed: 3 to 40";
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn a_consensus_that_is_missing_or_none_is_named() {
        let parts = ["there is no file \"FILE\"", "HOPFLOW_DATA"];
        assert_refused(&with_consensus(20), &parts);
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("FILE"), "a poem").unwrap();
        let beside = folder.path().join("net.toml");
        let found = parse_beside(&with_consensus(20), &beside, None).unwrap_err();
        assert!(found.contains("is not a consensus document"), "{found}");
    }
}
