//! Throughput against formulas.

use hopflow_tcp::pair::{LinkSpec, Pair};
use hopflow_tcp::{Algorithm, Config};
use hopflow_units::{Bytes, Duration, Instant, Rate};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn config(algorithm: Algorithm) -> Config {
    Config {
        algorithm,
        send_buffer: Bytes::new(64 << 20),
        receive_buffer: Bytes::new(64 << 20),
        ..Config::default()
    }
}

/// Bytes per second that a bulk transfer delivers from `from` to `to`.
fn goodput(pair: &mut Pair, from: Duration, to: Duration) -> f64 {
    pair.offer(Bytes::new(1 << 50));
    pair.run_until(Instant::ZERO + from);
    let before = pair.delivered();
    pair.run_until(Instant::ZERO + to);
    (pair.delivered() - before).as_f64() / (to - from).as_secs_f64()
}

fn bottleneck(config: &Config, rate: Rate, round_trip: Duration, queue: Bytes) -> Pair {
    let forward = LinkSpec::bottleneck(rate, queue, round_trip / 2);
    Pair::new(config, forward, LinkSpec::delay(round_trip / 2))
}

/// Payload rate of a link that is never idle.
fn payload_rate(rate: Rate) -> f64 {
    rate.as_f64() * 1448.0 / 1500.0
}

#[test]
fn a_small_window_bounds_throughput_to_window_over_round_trip() {
    let config = Config {
        receive_buffer: Bytes::new(100 * 1448),
        ..config(Algorithm::NewReno)
    };
    let link = LinkSpec::delay(ms(50));
    let mut pair = Pair::new(&config, link, link);
    let rate = goodput(&mut pair, ms(2000), ms(12_000));
    let expected = 100.0 * 1448.0 / 0.1;
    assert!((rate / expected - 1.0).abs() < 0.02, "{rate} {expected}");
}

#[test]
fn a_buffer_of_one_bandwidth_delay_product_keeps_the_link_busy() {
    let rate = Rate::from_megabits_per_sec(20);
    let queue = rate.bytes_in(ms(50));
    for algorithm in [Algorithm::NewReno, Algorithm::Cubic] {
        let mut pair = bottleneck(&config(algorithm), rate, ms(50), queue);
        let share = goodput(&mut pair, ms(5000), ms(65_000)) / payload_rate(rate);
        assert!(share > 0.95 && share <= 1.001, "{algorithm:?}: {share}");
    }
}

#[test]
fn without_a_buffer_the_sawtooth_fills_three_quarters() {
    let rate = Rate::from_megabits_per_sec(20);
    let mut pair = bottleneck(
        &config(Algorithm::NewReno),
        rate,
        ms(100),
        Bytes::new(4 * 1500),
    );
    let share = goodput(&mut pair, ms(20_000), ms(200_000)) / payload_rate(rate);
    assert!((share - 0.75).abs() < 0.06, "{share}");
}

/// Throughput of Reno in bytes per second under random loss (Padhye et al., 1998, equation 19 with
/// b = 1): `p` losses per segment, a window that grows by a segment per window acknowledged, and no
/// timeouts, which SACK and limited transmit avoid at these rates.
fn padhye(mss: f64, p: f64, rtt: f64) -> f64 {
    let window = 1.0 + (8.0 * (1.0 - p) / (3.0 * p) + 1.0).sqrt();
    let rounds = 0.5 + (2.0 * (1.0 - p) / (3.0 * p) + 0.25).sqrt();
    mss * ((1.0 - p) / p + window) / (rtt * (rounds + 1.0))
}

#[test]
fn random_loss_gives_the_throughput_of_padhyes_formula() {
    let round_trip = ms(100);
    for p in [0.001, 0.003, 0.01, 0.02] {
        let forward = LinkSpec {
            loss: p,
            seed: 1,
            ..LinkSpec::delay(round_trip / 2)
        };
        let config = config(Algorithm::NewReno);
        let mut pair = Pair::new(&config, forward, LinkSpec::delay(round_trip / 2));
        let rate = goodput(&mut pair, ms(20_000), ms(2_000_000));
        let expected = padhye(1448.0, p, 0.1);
        let ratio = rate / expected;
        assert!(
            (ratio - 1.0).abs() < 0.2,
            "loss {p}: {rate}, not {expected}"
        );
    }
}
