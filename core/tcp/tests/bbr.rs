//! BBR on paths whose rate and round-trip time are known.

use hopflow_tcp::pair::{LinkSpec, Pair};
use hopflow_tcp::{Algorithm, Config};
use hopflow_units::{Bytes, Duration, Instant, Rate};

const ROUND_TRIP: Duration = Duration::from_millis(80);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn config() -> Config {
    Config {
        algorithm: Algorithm::Bbr,
        send_buffer: Bytes::new(64 << 20),
        receive_buffer: Bytes::new(64 << 20),
        ..Config::default()
    }
}

fn rate() -> Rate {
    Rate::from_megabits_per_sec(20)
}

/// Bytes per second of payload of a link that is never idle.
fn payload() -> f64 {
    rate().as_f64() * 1448.0 / 1500.0
}

/// A path whose queue takes so many products of bandwidth and delay, and which loses some packets.
fn pair(config: &Config, products: f64, loss: f64) -> Pair {
    pair_of(config, products, (loss, 7))
}

/// The same with the losses of a seed.
fn pair_of(config: &Config, products: f64, (loss, seed): (f64, u64)) -> Pair {
    let queue = Bytes::new((products * rate().bytes_in(ROUND_TRIP).as_f64()) as u64);
    let forward = LinkSpec {
        loss,
        seed,
        ..LinkSpec::bottleneck(rate(), queue, ROUND_TRIP / 2)
    };
    Pair::new(config, forward, LinkSpec::delay(ROUND_TRIP / 2))
}

/// The share of the link's rate that a transfer without end delivers between two times.
fn share(pair: &mut Pair, from: Duration, to: Duration) -> f64 {
    pair.offer(Bytes::new(1 << 50));
    pair.run_until(Instant::ZERO + from);
    let before = pair.delivered();
    pair.run_until(Instant::ZERO + to);
    (pair.delivered() - before).as_f64() / (to - from).as_secs_f64() / payload()
}

/// The mean share over the losses of twelve seeds.
fn mean_share(config: &Config, products: f64, loss: f64) -> f64 {
    let shares = (1..=12).map(|seed| {
        let mut pair = pair_of(config, products, (loss, seed));
        share(&mut pair, ms(5000), ms(65_000))
    });
    shares.sum::<f64>() / 12.0
}

#[test]
fn the_link_is_busy_and_the_queue_short_whatever_the_queue_takes() {
    for products in [0.25, 0.5, 1.0, 2.0, 8.0] {
        let mut pair = pair(&config(), products, 0.0);
        let share = share(&mut pair, ms(5000), ms(65_000));
        assert!((0.96..1.0).contains(&share), "{products}: {share}");
        // CUBIC fills the queue: 0.7 of its round trip and more from one product on.
        let queueing = pair.mean_queueing();
        assert!(queueing < ROUND_TRIP / 4, "{products}: {queueing}");
    }
}

#[test]
fn the_start_takes_as_many_round_trips_as_doubling_does() {
    let mut pair = pair(&config(), 2.0, 0.0);
    pair.offer(Bytes::new(1 << 50));
    // Ten segments at first, 138 in flight at the link's rate: four doublings, and the handshake.
    pair.run_until(Instant::ZERO + ROUND_TRIP * 6);
    let before = pair.delivered();
    pair.run_for(ROUND_TRIP);
    let reached = (pair.delivered() - before).as_f64() / ROUND_TRIP.as_secs_f64();
    assert!(reached > 0.9 * payload(), "{reached} of {}", payload());
}

#[test]
fn losses_that_tell_of_no_queue_cost_little() {
    // NewReno has a tenth of the link at a loss of 1 %, by Mathis's formula.
    let without = mean_share(&config(), 1.0, 0.0);
    for (loss, least) in [(0.001, 0.97), (0.01, 0.87)] {
        let share = mean_share(&config(), 1.0, loss) / without;
        assert!(share > least, "{loss}: {share}");
    }
}

#[test]
fn once_in_five_seconds_the_queue_empties() {
    let mut pair = pair(&config(), 4.0, 0.0);
    pair.offer(Bytes::new(1 << 50));
    let product = rate().bytes_in(ROUND_TRIP);
    let mut begun = Vec::new();
    let mut is_small = true;
    while pair.now() < Instant::ZERO + ms(40_000) {
        pair.step();
        let window = pair.sender.cwnd().as_f64() / product.as_f64();
        if window < 0.6 && !is_small {
            begun.push(pair.now());
        } else if window > 1.0 {
            is_small = false;
        }
        is_small |= window < 0.6;
    }
    let between: Vec<_> = begun.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(between.iter().all(|it| *it > ms(5000)), "{begun:?}");
    // A round trip that is smaller than the first probe found puts the second one off.
    let later = &between[1..];
    assert!(later.len() >= 5, "{begun:?}");
    assert!(later.iter().all(|it| *it < ms(5500)), "{begun:?}");
    assert!(pair.sender.cwnd() > product, "it goes on as before");
}

#[test]
fn an_application_with_pauses_is_not_taken_for_a_slow_path() {
    let mut pair = pair(&config(), 1.0, 0.0);
    pair.offer(Bytes::new(4 << 20));
    pair.run_until(Instant::ZERO + ms(6000));
    for _ in 0..20 {
        pair.offer(Bytes::new(20_000));
        pair.run_for(ms(400));
    }
    let (before, start) = (pair.delivered(), pair.now());
    pair.offer(Bytes::new(1 << 20));
    while pair.delivered() < before + Bytes::new(1 << 20) {
        assert!(pair.step());
    }
    let took = (pair.now() - start).as_secs_f64();
    let ideal = ROUND_TRIP.as_secs_f64() / 2.0 + f64::from(1 << 20) / payload();
    assert!(took < 1.3 * ideal, "{took} s, not {ideal}");
}

#[test]
fn without_selective_acknowledgements_it_is_no_worse_than_newreno() {
    // The draft advises against it: every loss is too much, and probing comes back slowly.
    let [bbr, reno] = [Algorithm::Bbr, Algorithm::NewReno].map(|algorithm| {
        let config = Config {
            algorithm,
            sack: false,
            ..config()
        };
        mean_share(&config, 0.5, 0.001)
    });
    assert!(bbr > reno, "{bbr} and {reno}");
}

#[test]
fn a_path_that_becomes_slower_is_followed() {
    // A loss of a tenth is more than what is tolerated: the amount in flight falls.
    let mut bbr = pair(&config(), 1.0, 0.1);
    let share = share(&mut bbr, ms(5000), ms(35_000));
    assert!((0.02..0.9).contains(&share), "{share}");
}

#[test]
fn a_driver_that_transmits_later_is_not_called_again_at_once() {
    let mut pair = pair(&config(), 1.0, 0.0);
    pair.offer(Bytes::new(1 << 50));
    pair.run_until(Instant::ZERO + ms(3000));
    // With the link busy and nothing lost, the next timer is that of pacing.
    let at = pair.sender.poll_timeout().expect("something waits");
    assert!(at < pair.now() + ms(10), "{at} at {}", pair.now());
    pair.sender.handle_timeout(at);
    let next = pair
        .sender
        .poll_timeout()
        .expect("the timer of losses runs");
    assert!(next > at, "{next} after {at}");
}

/// A pair that has sent for two seconds and then rested for twenty.
fn rested() -> Pair {
    let mut pair = pair(&config(), 1.0, 0.0);
    pair.offer(Bytes::new(4 << 20));
    pair.run_for(Duration::from_secs(22));
    pair
}

#[test]
fn a_question_that_comes_after_an_idle_time_empties_no_queue() {
    let mut pair = rested();
    let before = pair.sender.cwnd();
    pair.receiver.write(Bytes::new(1448));
    pair.offer(Bytes::ZERO);
    pair.run_for(ROUND_TRIP * 2);
    assert_eq!(pair.sender.cwnd(), before, "nothing is in flight to empty");
}

#[test]
fn what_follows_an_idle_time_says_how_long_the_round_trip_is() {
    let mut pair = rested();
    pair.offer(Bytes::new(1 << 50));
    let product = rate().bytes_in(ROUND_TRIP);
    let mut least = Bytes::MAX;
    for _ in 0..40 {
        pair.run_for(ROUND_TRIP / 2);
        least = least.min(pair.sender.cwnd());
    }
    assert!(least > product, "{least} of {product}");
}
