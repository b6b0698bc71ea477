use hopflow_random::Streams;
use hopflow_units::Rate;

use super::*;
use crate::{Continent, Flags, PopulationRelay, Relay};

const GUARD: Flags = Flags::GUARD.union(Flags::FAST);
const EXIT: Flags = Flags::EXIT.union(Flags::FAST);
const BOTH: Flags = Flags::GUARD.union(EXIT);

fn stream() -> Stream {
    Streams::new(1).stream("paths", 0)
}

fn relay(flags: Flags, weight: u64) -> PopulationRelay {
    PopulationRelay {
        relay: Relay {
            name: String::new(),
            continent: Continent::Europe,
            bandwidth: Rate::from_kilobytes_per_sec(1),
        },
        flags,
        weight,
        family: None,
        network: None,
    }
}

/// Two guards, two exits, two that are both, four others.
fn population() -> Population {
    let others = (1..=4).map(|weight| relay(Flags::FAST, weight * 100));
    let flagged = [GUARD, GUARD, EXIT, EXIT, BOTH, BOTH];
    let relays = flagged.into_iter().zip([400, 600, 300, 500, 200, 100]);
    Population::new(relays.map(|(f, w)| relay(f, w)).chain(others).collect())
}

#[test]
fn every_relay_has_the_flag_of_its_position_and_none_comes_twice() {
    let population = population();
    for length in [3, 4, 6] {
        let selector = PathSelector::new(&population, length).unwrap();
        let mut stream = stream();
        for _ in 0..500 {
            let path = selector.draw(&mut stream).unwrap();
            assert_eq!(path.len(), length);
            let flags = |at: usize| population.relays[path[at] as usize].flags;
            assert!(flags(0).contains(Flags::GUARD) && flags(length - 1).contains(Flags::EXIT));
            let mut different = path.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), length);
        }
    }
}

#[test]
fn relays_are_chosen_by_weight() {
    // With one exit and one middle that nobody else can be, guards are chosen freely.
    let relays = [
        (GUARD, 100),
        (GUARD, 300),
        (EXIT, 50),
        (Flags::FAST, 9_000),
        (Flags::NONE, 900),
    ];
    let mut population = Population::new(relays.map(|(f, w)| relay(f, w)).to_vec());
    population.weights.wmg = 0;
    let selector = PathSelector::new(&population, 3).unwrap();
    let mut stream = stream();
    let paths: Vec<_> = (0..4_000)
        .map(|_| selector.draw(&mut stream).unwrap())
        .collect();
    let second = paths.iter().filter(|path| path[0] == 1).count();
    // Three quarters, five standard deviations around.
    assert!((2_863..=3_137).contains(&second), "{second}");
    assert!(
        paths.iter().all(|path| path[1..] == [3, 2]),
        "a slow relay is in no path"
    );
}

#[test]
fn kin_is_never_in_one_path() {
    let mut population = population();
    for (at, family, network) in [
        (0, Some(1), None),
        (2, Some(1), Some(9)),
        (4, None, Some(9)),
    ] {
        population.relays[at].family = family;
        population.relays[at].network = network;
    }
    let selector = PathSelector::new(&population, 4).unwrap();
    let mut stream = stream();
    for _ in 0..2_000 {
        let path = selector.draw(&mut stream).unwrap();
        let has = |relay| path.contains(&relay);
        assert!(!(has(2) && (has(0) || has(4))), "{path:?}");
    }
}

#[test]
fn draws_by_counting_follow_the_weights_too() {
    let population = population();
    let relays: Vec<_> = population.relays.iter().map(Candidate::from).collect();
    let guards = WeightedRelays::at(&relays, &population.weights, Position::Middle).unwrap();
    // Relays 6 and 9 weigh 100 and 400 of 1000 and more: refusals alone find them as well.
    let mut stream = stream();
    let allowed = |relay| relay == 6 || relay == 9;
    let mut share = |only_by_counting: bool| {
        let drawn = (0..5_000).filter(|_| {
            let relay = if only_by_counting {
                guards.draw_by_counting(&mut stream, allowed)
            } else {
                guards.draw(&mut stream, allowed)
            };
            relay == Some(9)
        });
        drawn.count()
    };
    // Four fifths, five standard deviations around.
    for count in [share(true), share(false)] {
        assert!((3_858..=4_142).contains(&count), "{count}");
    }
    assert_eq!(guards.draw(&mut stream, |_| false), None);
}

#[test]
fn a_client_begins_all_its_paths_with_its_guards() {
    let population = Population::builtin(200, &mut stream()).unwrap();
    let selector = PathSelector::new(&population, 3).unwrap();
    let mut stream = stream();
    let client = selector.client(3, &mut stream);
    assert_eq!(client.guards().len(), 3);
    let mut seen = [0; 3];
    for _ in 0..900 {
        let path = selector.draw_for(&client, &mut stream).unwrap();
        seen[client.guards().iter().position(|&g| g == path[0]).unwrap()] += 1;
    }
    assert!(
        seen.iter().all(|&uses| (230..370).contains(&uses)),
        "{seen:?}"
    );
    assert!(selector.client(1_000, &mut stream).guards().len() < 200);
}

#[test]
fn a_network_without_weights_is_used_evenly() {
    let relays = [GUARD, GUARD, EXIT, Flags::FAST, Flags::FAST];
    let population = Population::new(relays.map(|flags| relay(flags, 0)).to_vec());
    let selector = PathSelector::new(&population, 3).unwrap();
    assert!(selector.draw(&mut stream()).is_some());
}

#[test]
fn a_position_that_nobody_can_take_is_named() {
    let population = Population::new(vec![relay(GUARD, 1), relay(Flags::FAST, 1)]);
    let error = PathSelector::new(&population, 3).unwrap_err();
    assert_eq!(
        error,
        PopulationError::NoRelay {
            position: Position::Exit
        }
    );
    assert!(error.to_string().contains("\"exit\""));
    let error = PathSelector::new(&population, 2).unwrap_err();
    assert!(error.to_string().contains("allowed are 3 or more"));
}

#[test]
fn relays_that_are_both_enter_where_nobody_else_can() {
    let both = [relay(BOTH, 1_000_000), relay(BOTH, 1_000_000)];
    let others = (0..10).map(|_| relay(Flags::FAST, 1_000_000));
    let population = Population::new(both.into_iter().chain(others).collect());
    let selector = PathSelector::new(&population, 3).unwrap();
    assert!(selector.draw(&mut stream()).is_some());
}

#[test]
fn no_path_is_drawn_where_the_constraints_leave_none() {
    let mut kin = [relay(GUARD, 1), relay(Flags::FAST, 1), relay(EXIT, 1)];
    kin[0].family = Some(1);
    kin[2].family = Some(1);
    let selector = PathSelector::new(&Population::new(kin.to_vec()), 3).unwrap();
    assert_eq!(selector.draw(&mut stream()), None);
}

#[test]
fn enormous_weights_do_not_overflow() {
    let relays = [GUARD, EXIT, Flags::FAST].map(|flags| relay(flags, u64::MAX));
    let population = Population::new(relays.to_vec());
    let selector = PathSelector::new(&population, 3).unwrap();
    assert_eq!(selector.draw(&mut stream()), Some(vec![0, 2, 1]));
}

/// The quantiles are those of the circuits over 100 relays that the `BackTap` paper simulated.
#[test]
fn paths_over_built_in_relays_are_as_fast_as_published_ones() {
    let published = [
        (0.1, 524_288.0),
        (0.25, 1_101_894.0),
        (0.5, 2_560_000.0),
        (0.75, 5_001_582.0),
    ];
    let mut slowest = Vec::new();
    for network in 0..40 {
        let mut stream = Streams::new(network).stream("paths", 0);
        let population = Population::builtin(85, &mut stream).unwrap();
        let relays: Vec<_> = population.relays.iter().map(|r| r.relay.clone()).collect();
        let selector = PathSelector::new(&population, 3).unwrap();
        let paths: Vec<_> = (0..500)
            .map(|_| selector.draw(&mut stream).unwrap())
            .collect();
        slowest.extend(crate::check::path_bandwidths(&relays, &paths));
    }
    slowest.sort_unstable();
    for (share, expected) in published {
        let got = slowest[(slowest.len() as f64 * share) as usize] as f64;
        assert!((0.8..1.25).contains(&(got / expected)), "{share}: {got}");
    }
}
