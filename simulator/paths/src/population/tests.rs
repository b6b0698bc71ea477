use hopflow_random::{Stream, Streams};

use super::flags::Class;
use super::*;
use crate::{CircuitFile, Continent};

fn stream() -> Stream {
    Streams::new(1).stream("population", 0)
}

fn quantile(mut values: Vec<u64>, share: f64) -> f64 {
    values.sort_unstable();
    values[((values.len() - 1) as f64 * share).round() as usize] as f64
}

fn bandwidths(population: &Population) -> Vec<u64> {
    let rates = population.relays.iter().map(|r| r.relay.bandwidth);
    rates.map(Rate::bytes_per_sec).collect()
}

fn count(population: &Population, class: Class) -> usize {
    let relays = population.relays.iter();
    relays.filter(|relay| relay.flags.class() == class).count()
}

#[test]
fn the_built_in_population_has_the_quartiles_of_2015() {
    let population = Population::builtin(850, &mut stream()).unwrap();
    let all = bandwidths(&population);
    // Quartiles of the 85 relays of the published circuits.
    for (share, expected) in [(0.25, 307_200.0), (0.5, 1_048_576.0), (0.75, 4_447_789.0)] {
        let ratio = quantile(all.clone(), share) / expected;
        assert!((0.85..1.18).contains(&ratio), "{share}: {ratio}");
    }
    assert_eq!(count(&population, Class::Guard), 200);
    assert_eq!(count(&population, Class::Exit), 140);
    assert!(population.relays.iter().all(|r| r.weight <= 10_000_000));
    let european = |r: &&PopulationRelay| r.relay.continent == Continent::Europe;
    let europe = population.relays.iter().filter(european).count();
    assert!((500..656).contains(&europe), "{europe}");
}

#[test]
fn the_smallest_built_in_population_has_a_relay_for_each_position() {
    let population = Population::builtin(3, &mut stream()).unwrap();
    for class in [Class::Guard, Class::Exit, Class::Neither] {
        assert_eq!(count(&population, class), 1);
    }
    let error = Population::builtin(2, &mut stream()).unwrap_err();
    assert!(error.to_string().contains("allowed are 3 to"), "{error}");
}

#[test]
fn a_scaled_population_keeps_classes_and_quantiles() {
    let big = Population::builtin(850, &mut stream()).unwrap();
    let small = big.scale(85, &mut stream()).unwrap();
    assert_eq!(small.relays.len(), 85);
    assert_eq!(count(&small, Class::Guard), 20);
    assert_eq!(count(&small, Class::Exit), 14);
    for share in [0.25, 0.5, 0.75] {
        let ratio = quantile(bandwidths(&small), share) / quantile(bandwidths(&big), share);
        assert!((0.75..1.33).contains(&ratio), "{share}: {ratio}");
    }
    assert_eq!(big.scale(850, &mut stream()).unwrap(), big);
    let error = small.scale(86, &mut stream()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("86 relays is asked for; allowed are 3 to 85")
    );
}

#[test]
fn stated_weights_are_kept_where_all_relays_are() {
    let mut big = Population::builtin(85, &mut stream()).unwrap();
    let balanced = big.weights;
    big.weights = BandwidthWeights::EQUAL;
    assert_ne!(balanced, big.weights);
    assert_eq!(big.scale(85, &mut stream()).unwrap(), big);
    let sample = big.scale(84, &mut stream()).unwrap();
    assert_eq!(sample, Population::new(sample.relays.clone()));
}

#[test]
fn a_cap_limits_weights_but_no_bandwidth() {
    let cap = Rate::from_kilobytes_per_sec(1_000);
    let population = Population::builtin(85, &mut stream()).unwrap();
    let capped = population.clone().with_weight_cap(cap);
    assert_eq!(bandwidths(&capped), bandwidths(&population));
    assert!(capped.relays.iter().all(|relay| relay.weight <= 1_000_000));
    assert_ne!(capped.weights, population.weights);
}

#[test]
fn circuits_tell_flags_and_families() {
    // Eight relays: 0 to 2 first, 3 to 5 in the middle, 6 and 7 last. 0 and 3 never meet.
    let mut text = String::new();
    for number in 0..900 {
        let [first, middle, last] = [number % 3, 3 + number / 3 % 3, 6 + number % 2];
        let middle = if (first, middle) == (0, 3) { 4 } else { middle };
        let relay = |at: u32| format!("\t{at:040X} EU {}", 1000 + at);
        let line = [
            number.to_string(),
            relay(first),
            relay(middle),
            relay(last),
            "\n".into(),
        ];
        text.push_str(&line.concat());
    }
    let file = CircuitFile::parse(text.as_bytes(), "made up").unwrap();
    let population = Population::from_circuits(&file);
    for relay in &population.relays {
        let at = relay.weight - 1000;
        let class = match at {
            0..=2 => Class::Guard,
            3..=5 => Class::Neither,
            _ => Class::Exit,
        };
        assert_eq!(relay.flags.class(), class, "{at}");
        assert_eq!(relay.family.is_some(), at == 0 || at == 3, "{at}");
    }
    let family = |at: u64| {
        population
            .relays
            .iter()
            .find(|r| r.weight == 1000 + at)
            .unwrap()
            .family
    };
    assert_eq!(family(0), family(3));
}
