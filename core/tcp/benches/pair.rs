//! Segments per second through both endpoints of a connection.

use divan::Bencher;
use divan::counter::ItemsCount;
use hopflow_tcp::pair::{LinkSpec, Pair};
use hopflow_tcp::{Algorithm, Config, Connection};
use hopflow_units::{Bytes, Duration, Instant, Rate};

fn main() {
    divan::main();
}

const SEGMENTS: u64 = 10_000;
const ALGORITHMS: [Algorithm; 2] = [Algorithm::NewReno, Algorithm::Cubic];

fn config(algorithm: Algorithm) -> Config {
    Config {
        algorithm,
        ..Config::default()
    }
}

/// Data segments straight from one endpoint into the other, acknowledgements straight back.
#[divan::bench(args = ALGORITHMS)]
fn endpoints_alone(bencher: Bencher, algorithm: Algorithm) {
    let config = config(algorithm);
    let (mut a, mut b) = (Connection::connect(&config), Connection::listen(&config));
    let mut now = Instant::ZERO;
    bencher.counter(ItemsCount::new(SEGMENTS)).bench_local(|| {
        let goal = a.stats().segments_sent + SEGMENTS;
        while a.stats().segments_sent < goal {
            now += Duration::from_micros(100);
            a.write(Bytes::new(1448 * 64));
            while let Some(segment) = a.poll_transmit(now) {
                b.receive(now, &segment);
                b.read(b.readable());
                while let Some(ack) = b.poll_transmit(now) {
                    a.receive(now, &ack);
                }
            }
        }
    });
}

/// Cells that are written one by one and sent at once, each a small segment with its own
/// acknowledgement.
#[divan::bench(args = ALGORITHMS)]
fn cells_without_delay(bencher: Bencher, algorithm: Algorithm) {
    let config = Config {
        nagle: false,
        ..config(algorithm)
    };
    let (mut a, mut b) = (Connection::connect(&config), Connection::listen(&config));
    let mut now = Instant::ZERO;
    bencher.counter(ItemsCount::new(SEGMENTS)).bench_local(|| {
        let goal = a.stats().segments_sent + SEGMENTS;
        while a.stats().segments_sent < goal {
            now += Duration::from_micros(1);
            a.write(Bytes::new(514));
            while let Some(segment) = a.poll_transmit(now) {
                b.receive(now, &segment);
                b.read(b.readable());
                while let Some(ack) = b.poll_transmit(now) {
                    a.receive(now, &ack);
                }
            }
        }
    });
}

/// A bulk transfer over a path with a rate, a delay and a queue that overflows.
#[divan::bench(args = ALGORITHMS)]
fn over_a_lossy_bottleneck(bencher: Bencher, algorithm: Algorithm) {
    let rate = Rate::from_megabits_per_sec(100);
    let delay = Duration::from_millis(25);
    let forward = LinkSpec::bottleneck(rate, rate.bytes_in(delay), delay);
    let mut pair = Pair::new(&config(algorithm), forward, LinkSpec::delay(delay));
    pair.offer(Bytes::new(1 << 50));
    bencher.counter(ItemsCount::new(SEGMENTS)).bench_local(|| {
        let goal = pair.sender.stats().segments_sent + SEGMENTS;
        while pair.sender.stats().segments_sent < goal {
            pair.step();
        }
    });
}
