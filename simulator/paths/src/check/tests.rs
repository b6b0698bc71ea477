use hopflow_units::Rate;

use super::*;
use crate::Continent;

#[test]
fn tails_agree_with_the_tables() {
    // Critical values of Abramowitz and Stegun, table 26.8, and of Smirnov's table.
    for (value, degrees, tail) in [(3.841, 1, 0.05), (18.307, 10, 0.05), (135.807, 100, 0.01)] {
        let got = chi_square_tail(value, degrees);
        assert!((got - tail).abs() < 0.003, "{value} {degrees}: {got}");
    }
    for (value, tail) in [(1.358, 0.05), (1.628, 0.01)] {
        assert!((kolmogorov_tail(value) - tail).abs() < 0.0003);
    }
    assert_eq!(kolmogorov_tail(0.0), 1.0);
}

fn paths(relays: &[u32]) -> Vec<Vec<u32>> {
    relays.iter().map(|&relay| vec![relay]).collect()
}

#[test]
fn equal_use_is_no_distance_and_shifted_use_is_its_share() {
    let one = paths(&[vec![0; 60], vec![1; 40]].concat());
    let same = UseTest::at(0, 2, [&one, &one]);
    assert_eq!(
        (same.chi_square, same.degrees, same.distance),
        (0.0, 1, 0.0)
    );
    assert!(same.p_value > 0.9);
    let other = paths(&[vec![0; 40], vec![1; 60]].concat());
    let test = UseTest::at(0, 2, [&one, &other]);
    // The statistic of a table of two by two: 200 · (60² - 40²)² / 100⁴.
    assert!((test.chi_square - 8.0).abs() < 1e-9, "{test:?}");
    assert!((test.distance - 0.2).abs() < 1e-12);
    assert!(test.p_value < 0.01);
}

#[test]
fn rarely_used_relays_are_one_cell() {
    let one = paths(&[vec![0; 50], vec![1, 2, 3]].concat());
    let other = paths(&[vec![0; 50], vec![4, 5, 6]].concat());
    let test = UseTest::at(0, 7, [&one, &other]);
    assert_eq!((test.degrees, test.distance), (1, 0.0));
}

#[test]
fn the_distance_of_bandwidths_is_the_largest_gap_of_the_cumulative_shares() {
    let relays: Vec<Relay> = (1..=4)
        .map(|rate| Relay {
            name: rate.to_string(),
            continent: Continent::Europe,
            bandwidth: Rate::from_bytes_per_sec(rate).unwrap(),
        })
        .collect();
    let gap = |one: &[u32], other: &[u32]| {
        let test = BandwidthTest::of(&relays, [&paths(one), &paths(other)]);
        let reverse = BandwidthTest::of(&relays, [&paths(other), &paths(one)]);
        assert!((test.distance - reverse.distance).abs() < 1e-12);
        test.distance
    };
    assert_eq!(gap(&[0, 1, 2, 3], &[3, 2, 1, 0]), 0.0);
    assert_eq!(gap(&[0, 0, 1, 1], &[2, 2, 3, 3]), 1.0);
    assert_eq!(gap(&[0, 1, 2, 3], &[0, 1, 3, 3]), 0.25);
    assert_eq!(gap(&[1, 1, 1, 1], &[0, 1, 2, 3]), 0.5);
    let path = vec![vec![3, 1, 2], vec![0, 3, 3]];
    assert_eq!(path_bandwidths(&relays, &path), [1, 2]);
}
