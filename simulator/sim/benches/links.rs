//! The cost of a packet over a link.
//!
//! Each iteration does a thousand operations: read microseconds as nanoseconds per operation.

use divan::{Bencher, black_box};
use hopflow_netem::{CoDelConfig, Link, LinkConfig, QueueConfig, Verdict};
use hopflow_random::Streams;
use hopflow_units::{Bytes, Duration, Instant, Rate};

const OPERATIONS: u32 = 1_000;

fn main() {
    divan::main();
}

fn link(queue: QueueConfig) -> Link<u32> {
    Link::new(LinkConfig {
        queue,
        ..LinkConfig::with_rate(Rate::from_megabits_per_sec(100), Duration::from_millis(10))
    })
}

/// A packet enters and one leaves, with about a hundred under way and `waiting` in the queue.
fn send_and_receive(bencher: Bencher, mut link: Link<u32>, waiting: u32) {
    let mut rng = Streams::new(1).stream("link", 0);
    let size = Bytes::new(1250);
    for packet in 0..=waiting {
        let _ = link.send(Instant::ZERO, packet, size, &mut rng);
    }
    let mut now = Instant::ZERO;
    bencher.bench_local(|| {
        for packet in 0..OPERATIONS {
            now += Duration::from_micros(100);
            let verdict = link.send(now, packet, size, &mut rng);
            debug_assert_eq!(verdict, Verdict::Queued);
            while link.next_event().is_some_and(|at| at <= now) {
                black_box(link.receive(now));
            }
            black_box(link.take_dropped());
        }
    });
}

#[divan::bench(args = [0, 100])]
fn link_drop_tail(bencher: Bencher, waiting: u32) {
    send_and_receive(bencher, link(QueueConfig::drop_tail(1000)), waiting);
}

#[divan::bench(args = [0, 100])]
fn link_codel(bencher: Bencher, waiting: u32) {
    let queue = QueueConfig {
        codel: Some(CoDelConfig::default()),
        ..QueueConfig::UNLIMITED
    };
    send_and_receive(bencher, link(queue), waiting);
}
