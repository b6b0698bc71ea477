use super::*;

fn stream() -> Stream {
    Streams::new(1).stream("test", 0)
}

/// Mean of `count` draws.
fn mean(count: u32, mut draw: impl FnMut() -> f64) -> f64 {
    (0..count).map(|_| draw()).sum::<f64>() / f64::from(count)
}

#[test]
fn streams_differ_by_seed_name_and_index_and_repeat_themselves() {
    let mut firsts = Vec::new();
    for seed in [0, 1, u64::MAX] {
        for name in ["", "loss", "loss\0", "jitter", "a name of two words"] {
            for index in [0, 1, 1 << 40] {
                let streams = Streams::new(seed);
                let first = streams.stream(name, index).bits();
                assert_eq!(first, streams.stream(name, index).bits());
                firsts.push(first);
            }
        }
    }
    let drawn = firsts.len();
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts.len(), drawn);
}

#[test]
fn integers_stay_in_their_range_and_reach_both_ends() {
    let mut stream = stream();
    let mut seen = [0_u32; 6];
    for _ in 0..6_000 {
        seen[(stream.integer(10, 15) - 10) as usize] += 1;
    }
    // Six standard deviations around 1000.
    assert!(seen.iter().all(|&n| (827..=1173).contains(&n)), "{seen:?}");
    assert_eq!(stream.integer(7, 7), 7);
    stream.integer(0, u64::MAX);
}

#[test]
fn times_have_the_mean_of_their_distribution() {
    let mut stream = stream();
    let second = Duration::from_secs(1);
    let uniform = mean(20_000, || stream.uniform(second, second * 3).as_secs_f64());
    assert!((uniform - 2.0).abs() < 0.025, "{uniform}");
    let exponential = mean(20_000, || stream.exponential(second).as_secs_f64());
    assert!((exponential - 1.0).abs() < 0.043, "{exponential}");
}

#[test]
fn a_certain_outcome_draws_nothing() {
    let mut stream = stream();
    let before = stream.clone();
    assert!(!stream.bernoulli(0.0));
    assert!(stream.bernoulli(1.0));
    assert_eq!(stream, before);
    let rate = mean(20_000, || f64::from(u8::from(stream.bernoulli(0.1))));
    assert!((rate - 0.1).abs() < 0.013, "{rate}");
}

#[test]
fn a_table_is_inverted_linearly_between_its_points() {
    let table = CdfTable::new(vec![(0.0, 0.2), (10.0, 0.6), (10.0, 0.8), (30.0, 1.0)]).unwrap();
    assert_eq!(table.inverse(0.0), 0.0);
    assert_eq!(table.inverse(0.1), 0.0);
    assert!((table.inverse(0.4) - 5.0).abs() < 1e-12);
    assert_eq!(table.inverse(0.7), 10.0);
    assert!((table.inverse(0.9) - 20.0).abs() < 1e-12);
    assert_eq!(table.inverse(1.0), 30.0);
}

#[test]
fn a_table_that_is_no_distribution_is_refused_with_the_point_at_fault() {
    for (points, text) in [
        (vec![], "without reaching probability 1"),
        (vec![(0.0, 0.5)], "without reaching probability 1"),
        (vec![(0.0, 50.0), (1.0, 100.0)], "above 1"),
        (
            vec![(0.0, -0.5), (1.0, 1.0)],
            "point 0 (value 0, probability -0.5)",
        ),
        (
            vec![(2.0, 0.5), (1.0, 1.0)],
            "point 1 (value 1, probability 1) has a lower value",
        ),
        (vec![(f64::NAN, 1.0)], "not finite"),
    ] {
        let message = CdfTable::new(points).unwrap_err().to_string();
        assert!(message.contains(text), "{message}");
    }
}

/// The expected values come from a separate implementation in Python.
#[test]
fn the_numbers_are_the_same_bits_everywhere() {
    let mut stream = Streams::new(42).stream("golden", 7);
    let bits = [stream.bits(), stream.bits(), stream.bits()];
    assert_eq!(
        bits,
        [
            18_412_220_508_116_908_166,
            6_934_854_271_156_711_787,
            7_350_638_954_463_509_749
        ]
    );
    assert_eq!(stream.integer(0, 999), 866);
    let (low, high) = (Duration::from_millis(1), Duration::from_millis(2));
    let uniform = stream.uniform(low, high);
    assert_eq!(uniform, Duration::from_nanos(1_783_925));
    let exponential = stream.exponential(high);
    assert_eq!(exponential, Duration::from_nanos(1_045_542));
    assert_eq!(stream.unit().to_bits(), 4_600_343_153_921_538_416);
    let table = CdfTable::new(vec![(1.0, 0.0), (3.0, 0.25), (9.0, 1.0)]).unwrap();
    assert_eq!(stream.value(&table).to_bits(), 4_607_696_926_129_654_616);
}

#[test]
fn normal_numbers_have_mean_0_and_variance_1_and_are_the_same_bits_everywhere() {
    let mut stream = stream();
    let numbers: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|x| x * x).sum::<f64>() / count;
    assert!(mean.abs() < 0.015, "{mean}");
    assert!((variance - 1.0).abs() < 0.02, "{variance}");
    let beyond = numbers.iter().filter(|x| x.abs() > 1.96).count() as f64 / count;
    assert!((beyond - 0.05).abs() < 0.004, "{beyond}");
    let golden = Streams::new(42).stream("golden", 8).normal();
    assert_eq!(golden.to_bits(), 13_825_298_322_312_235_434);
}
