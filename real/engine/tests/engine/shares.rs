//! Circuits that share a relay's token bucket get like shares of it, whichever way their data goes.

use hopflow_engine::StreamHandle;
use hopflow_units::Duration;

use crate::network::{Network, bucket};
use crate::support::{configured, pattern};

/// What the middle relay may forward, in kilobytes per second.
const RATE: u64 = 2000;
/// More than a circuit gets in any test here.
const SIZE: usize = 16_000_000;
/// How long shares are measured, and how long circuits take to come to theirs.
const SPAN: Duration = Duration::from_secs(2);

/// A download, and then two uploads of another client, over the same relays.
struct Scene {
    network: Network,
    /// The ends that hear.
    sinks: Vec<(usize, StreamHandle)>,
}

impl Scene {
    fn start(name: &str, options: &str, delay: Duration) -> Self {
        let factory = configured(name, options);
        let bucket = bucket(RATE, factory.plan().link.refill);
        let mut network = Network::limited(&*factory, 3, &[None, Some(bucket)]);
        network.weather.delay = delay;
        let circuit = network.circuit(&[1, 2, 3]);
        let (near, (exit, far)) = network.stream_pair(0, circuit);
        network.write(exit, far, pattern(SIZE, 0), true);
        network.run_for(SPAN);
        let client = network.add_client(&*factory);
        let mut sinks = vec![(0, near)];
        for upload in 1..3 {
            let circuit = network.circuit_of(client, &[1, 2, 3]);
            let (near, (exit, far)) = network.stream_pair(client, circuit);
            network.write(client, near, pattern(SIZE, upload), true);
            sinks.push((exit, far));
        }
        network.run_for(SPAN);
        Self { network, sinks }
    }

    /// What each gets of what all get together.
    fn shares(&mut self) -> Vec<f64> {
        let before = self.brought();
        self.network.run_for(SPAN);
        let after = self.brought();
        let brought = before
            .iter()
            .zip(&after)
            .map(|(before, after)| after - before);
        let brought: Vec<usize> = brought.collect();
        let all: usize = brought.iter().sum();
        brought.iter().map(|&it| it as f64 / all as f64).collect()
    }

    fn brought(&self) -> Vec<usize> {
        let sinks = self.sinks.iter();
        let lens = sinks.map(|(node, stream)| self.network.heard(*node, *stream).bytes.len());
        lens.collect()
    }
}

/// Checks the shares over links that take so many microseconds.
fn share(name: &str, options: &str, delays: &[u64], expected: [f64; 3]) {
    for &delay in delays {
        let shares = Scene::start(name, options, Duration::from_micros(delay)).shares();
        println!("{name}, {delay} us: {shares:.3?}");
        for (found, expected) in shares.iter().zip(expected) {
            let near = (0.9 * expected..=1.1 * expected).contains(found);
            assert!(near, "{name}, links of {delay} us: {shares:?}");
        }
    }
}

#[test]
fn circuits_get_equal_shares_of_a_bucket_that_is_refilled_often() {
    // As real hosts have it.
    let options = "tolerance = \"5 ms\"\nrefill = \"1 ms\"";
    for name in ["backtap", "marut"] {
        share(name, options, &[50, 300, 10_700], [1.0 / 3.0; 3]);
    }
}

#[test]
fn over_tcp_connections_share_alike_and_circuits_share_their_connection() {
    share("vanilla", "", &[50, 10_700], [0.5, 0.25, 0.25]);
}
