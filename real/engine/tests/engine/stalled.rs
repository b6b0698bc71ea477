//! One reader who stalls holds up nobody else, and costs little.

use hopflow_engine::StreamHandle;
use hopflow_units::{Duration, Rate};

use crate::network::{Network, bucket};
use crate::support::{pattern, transport};

/// What the middle relay may forward, in kilobytes per second.
const RATE: u64 = 1500;
/// Transports that use nearly all of what the relay has. BackTap as printed uses seven tenths, and planned
/// rates less.
const FILLING: [&str; 11] = [
    "vanilla",
    "tor-vegas",
    "pctcp",
    "n23",
    "backtap",
    "marut",
    "marut-timely",
    "marut-dctcp",
    "joint",
    "joint-rr",
    "vanilla-stream-window",
];
/// Bytes of each stream.
const SIZE: usize = 2_400_000;

/// Streams of one circuit, on which the exit sends.
struct Downloads {
    network: Network,
    streams: Vec<StreamHandle>,
    queue_limit: u64,
}

impl Downloads {
    /// Starts `count` streams, of which the client does not read those from the fifth on.
    fn start(name: &str, count: usize) -> Self {
        let factory = transport(name);
        let bucket = bucket(RATE, factory.plan().link.refill);
        let mut network = Network::limited(&*factory, 3, &[None, Some(bucket)]);
        // A round trip that is no multiple of the refills, or they would keep step.
        network.weather.delay = Duration::from_micros(10_700);
        let circuit = network.circuit(&[1, 2, 3]);
        let mut streams = Vec::new();
        for place in 0..count {
            let (near, (exit, far)) = network.stream_pair(0, circuit);
            network.set_reading(0, near, place < 4);
            network.write(exit, far, pattern(SIZE, place as u8), true);
            streams.push(near);
        }
        Self {
            network,
            streams,
            queue_limit: factory.plan().link.queue_limit.get(),
        }
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.network.now + span;
        while self.network.now < end {
            self.network.run_for(Duration::from_millis(50));
            for node in 0..4 {
                let queue = self.network.longest_queue(node);
                assert!(queue <= self.queue_limit, "{queue} cells at node {node}");
            }
            for stream in &self.streams {
                let view = self.network.engine(0).stream_view(*stream);
                let held = view.map_or(0, |view| view.held.get());
                assert!(held <= 4096, "{held} cells held");
            }
        }
    }

    /// Bytes that the first four streams have brought.
    fn brought(&self) -> u64 {
        let four = self.streams[..4].iter();
        let lens = four.map(|stream| self.network.heard(0, *stream).bytes.len() as u64);
        lens.sum()
    }

    /// The rate of the first four streams together, once they are under way.
    fn rate(&mut self) -> Rate {
        self.run_for(Duration::from_millis(1500));
        let before = self.brought();
        self.run_for(Duration::from_secs(3));
        Rate::from_bytes_per_sec((self.brought() - before) / 3).expect("some bytes came")
    }
}

fn stalls(name: &str) {
    let four = Downloads::start(name, 4).rate();
    let mut five = Downloads::start(name, 5);
    let beside = five.rate();
    println!("{name}: {four} alone, {beside} beside a stalled reader");
    assert!(four.as_f64() >= 1e3 * RATE as f64 * 0.8, "{name}: {four}");
    assert!(
        beside.as_f64() >= 0.95 * four.as_f64(),
        "{name}: {beside} beside a stalled reader, {four} alone"
    );
    let stalled = five.streams[4];
    assert!(five.network.heard(0, stalled).bytes.is_empty());
    five.network.set_reading(0, stalled, true);
    five.run_for(Duration::from_secs(10));
    for (place, stream) in five.streams.iter().enumerate() {
        let heard = five.network.heard(0, *stream);
        assert!(heard.finished, "{name}: stream {place} ends");
        let sent = pattern(SIZE, place as u8);
        assert!(heard.bytes == sent, "{name}: stream {place} is whole");
    }
}

#[test]
fn a_stalled_reader_leaves_the_rate_to_the_other_streams_of_its_circuit() {
    for name in FILLING {
        stalls(name);
    }
}
