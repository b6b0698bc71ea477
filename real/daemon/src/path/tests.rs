use super::*;
use crate::testing::{exit, network};
use crate::{Target, directory};
use hopflow_random::Streams;

fn chooser(directory: Directory) -> PathChooser {
    let stream = Streams::new(1).stream("paths", 0);
    PathChooser::new(Arc::new(directory), Draws::Repeatable(stream))
}

fn any() -> Wish<'static> {
    Wish {
        length: 3,
        exit: &|_| true,
        avoid: &|_| false,
        never: &[],
    }
}

#[test]
fn a_path_has_different_relays_and_a_guard_and_an_exit_at_its_ends() {
    let mut chooser = chooser(network(3, 3, 3));
    for length in 1..=6 {
        for _ in 0..200 {
            let path = chooser.choose(&Wish { length, ..any() }).unwrap();
            assert_eq!(path.len(), length);
            let mut distinct = path.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), length);
            let relay = |at: usize| &chooser.directory.relays[path[at]];
            assert!(length == 1 || relay(0).guard);
            assert!(relay(length - 1).exit.is_some());
        }
    }
}

#[test]
fn relays_are_chosen_as_often_as_their_weights_say() {
    let mut directory = network(4, 4, 4);
    directory.relays[0].weight = 3000;
    let mut chooser = chooser(directory);
    let drawn = (0..6000).map(|_| chooser.choose(&any()).unwrap()[0]);
    let first = drawn.filter(|&guard| guard == 0).count();
    // Half of the guards' weight, and all guards are needed as guards.
    assert!((2800..3200).contains(&first), "{first}");
}

#[test]
fn the_exit_allows_the_target() {
    let mut directory = network(2, 2, 4);
    for relay in &mut directory.relays[4..7] {
        relay.exit = Some(exit(&["accept *:443"]));
    }
    directory.relays[7].exit = Some(exit(&["accept *:80"]));
    let mut chooser = chooser(directory);
    let target: Target = "example.org:80".parse().unwrap();
    let wish = Wish {
        exit: &|relay| relay.may_exit_to(&target),
        ..any()
    };
    for _ in 0..100 {
        assert_eq!(chooser.choose(&wish).unwrap()[2], 7);
    }
    let target: Target = "example.org:22".parse().unwrap();
    let wish = Wish {
        exit: &|relay| relay.may_exit_to(&target),
        ..any()
    };
    assert_eq!(chooser.choose(&wish), None);
}

#[test]
fn a_relay_that_may_not_be_taken_never_is() {
    let mut chooser = chooser(network(2, 2, 1));
    let wish = Wish {
        never: &[0],
        ..any()
    };
    for _ in 0..100 {
        assert!(!chooser.choose(&wish).unwrap().contains(&0));
    }
    let wish = Wish {
        never: &[0, 1],
        ..any()
    };
    assert_eq!(chooser.choose(&wish), None, "no guard is left");
}

#[test]
fn a_relay_to_avoid_is_taken_only_where_nothing_else_is_left() {
    let mut chooser = chooser(network(2, 2, 1));
    let wish = Wish {
        avoid: &|relay| relay == 0 || relay == 4,
        ..any()
    };
    let path = chooser.choose(&wish).unwrap();
    assert_eq!(path[2], 4, "the only exit");
    let wish = Wish {
        avoid: &|relay| relay == 0,
        ..any()
    };
    for _ in 0..100 {
        assert!(!chooser.choose(&wish).unwrap().contains(&0));
    }
}

#[test]
fn the_smallest_networks_have_paths() {
    for (guards, middles, exits) in [(1, 1, 1), (2, 0, 1), (1, 0, 2)] {
        let mut lopsided = network(guards, middles, exits);
        lopsided.relays[0].weight = 5000;
        let mut chooser = chooser(lopsided);
        assert!(
            chooser.choose(&any()).is_some(),
            "{guards} {middles} {exits}"
        );
    }
    let mut all_flags = network(0, 0, 3);
    for relay in &mut all_flags.relays {
        relay.guard = true;
        relay.weight = 0;
    }
    assert!(chooser(all_flags).choose(&any()).is_some());
    for (guards, middles, exits) in [(0, 0, 0), (1, 1, 0), (0, 2, 1), (1, 0, 1)] {
        let mut chooser = chooser(network(guards, middles, exits));
        assert_eq!(chooser.choose(&any()), None, "{guards} {middles} {exits}");
    }
}

#[test]
fn the_only_guard_is_kept_from_being_the_exit() {
    let mut directory = network(0, 2, 2);
    directory.relays[2].guard = true;
    let mut chooser = chooser(directory);
    for _ in 0..100 {
        let path = chooser.choose(&any()).unwrap();
        assert_eq!((path[0], path[2]), (2, 3));
    }
}

#[test]
fn the_heaviest_network_does_not_overflow() {
    let mut directory = network(50, 50, 50);
    for relay in &mut directory.relays {
        relay.weight = directory::MOST_WEIGHT;
    }
    assert!(chooser(directory).choose(&any()).is_some());
}

/// Whether paths of three relays have both of two relays.
fn meet(directory: Directory, pair: [usize; 2]) -> bool {
    let mut chooser = chooser(directory);
    (0..300).any(|_| {
        let path = chooser.choose(&any()).expect("there is a path");
        pair.iter().all(|relay| path.contains(relay))
    })
}

#[test]
fn relays_of_a_family_are_never_in_one_path() {
    assert!(meet(network(2, 2, 2), [0, 4]));
    let mut related = network(2, 2, 2);
    for relay in [0, 4] {
        related.relays[relay].family = Some("one".to_owned());
    }
    related.relays[2].family = Some("other".to_owned());
    assert!(!meet(related.clone(), [0, 4]));
    assert!(meet(related, [2, 4]), "of different families");
}

#[test]
fn relays_of_a_network_are_never_in_one_path() {
    let in_one_network = |addresses: [&str; 2]| {
        let mut related = network(2, 2, 2);
        for (relay, address) in [3, 5].into_iter().zip(addresses) {
            related.relays[relay].address = address.parse().unwrap();
        }
        !meet(related, [3, 5])
    };
    assert!(in_one_network(["198.51.1.1:1", "198.51.200.9:1"]));
    assert!(!in_one_network(["198.51.1.1:1", "198.52.1.1:1"]));
    assert!(in_one_network(["[2001:db8:1::1]:1", "[2001:db8:2::2]:1"]));
    assert!(in_one_network(["[::ffff:198.51.1.1]:1", "198.51.2.2:1"]));
    // Networks on one machine, and those behind a router, are made for tests.
    assert!(!in_one_network(["127.0.0.1:1", "127.0.0.1:2"]));
    assert!(!in_one_network(["10.0.0.1:1", "10.0.0.2:1"]));
}

#[test]
fn relays_whose_other_addresses_are_in_one_network_are_never_in_one_path() {
    let mut related = network(2, 2, 2);
    for relay in [0, 4] {
        let other = format!("[2001:db8:{relay}::1]:9001");
        related.relays[relay].other_address = Some(other.parse().unwrap());
    }
    assert!(!meet(related, [0, 4]));
}

#[test]
fn a_network_of_relatives_has_no_path() {
    let mut relatives = network(1, 1, 1);
    for relay in &mut relatives.relays {
        relay.family = Some("one".to_owned());
    }
    let mut chooser = chooser(relatives);
    assert_eq!(chooser.choose(&any()), None);
    assert!(chooser.choose(&Wish { length: 1, ..any() }).is_some());
}
