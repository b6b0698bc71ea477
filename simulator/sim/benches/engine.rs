//! The cost of an event: the agenda against heaps, and packets over links.
//!
//! Each iteration does a thousand operations: read microseconds as nanoseconds per operation.
//!
//! `hold` is the classic measure of event queues: take the earliest event and schedule its source
//! again. `touch` re-schedules an arbitrary source, as a link does whose first packet was sent; a
//! plain heap cannot do that.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use divan::{Bencher, black_box};
use hopflow_netem::{CoDelConfig, Link, LinkConfig, QueueConfig, Verdict};
use hopflow_random::Streams;
use hopflow_sim::engine::{Agenda, Slot};
use hopflow_units::{Bytes, Duration, Instant, Rate};

const SOURCES: [u32; 3] = [100, 1_000, 10_000];
const OPERATIONS: u32 = 1_000;

fn main() {
    divan::main();
}

/// Delays as they occur: short ones by serialisation, long ones by propagation.
struct Delays(Vec<u64>, usize);

impl Delays {
    fn new() -> Self {
        let mut rng = Streams::new(1).stream("delays", 0);
        let draw = |_| {
            if rng.bernoulli(0.5) {
                rng.integer(1_000, 100_000)
            } else {
                rng.integer(10_000_000, 50_000_000)
            }
        };
        Self((0..1 << 16).map(draw).collect(), 0)
    }

    fn draw(&mut self) -> u64 {
        self.1 = (self.1 + 1) % self.0.len();
        self.0[self.1]
    }
}

fn filled_agenda(sources: u32, delays: &mut Delays) -> Agenda {
    let mut agenda = Agenda::new(sources as usize);
    for source in 0..sources {
        let time = Instant::from_nanos(delays.draw());
        agenda.set(Slot::new(source), Some(time));
    }
    agenda
}

#[divan::bench(args = SOURCES)]
fn hold_agenda(bencher: Bencher, sources: u32) {
    let mut delays = Delays::new();
    let mut agenda = filled_agenda(sources, &mut delays);
    bencher.bench_local(|| {
        for _ in 0..OPERATIONS {
            let (now, slot) = agenda.next().expect("every source is pending");
            agenda.set(slot, Some(now + Duration::from_nanos(delays.draw())));
        }
    });
}

#[divan::bench(args = SOURCES)]
fn touch_agenda(bencher: Bencher, sources: u32) {
    let mut delays = Delays::new();
    let mut agenda = filled_agenda(sources, &mut delays);
    let mut touched = 0;
    bencher.bench_local(|| {
        for _ in 0..OPERATIONS {
            touched = (touched + 7919) % sources;
            let time = Instant::from_nanos(delays.draw());
            agenda.set(Slot::new(touched), Some(time));
            black_box(agenda.next());
        }
    });
}

#[divan::bench(args = SOURCES)]
fn hold_binary_heap(bencher: Bencher, sources: u32) {
    let mut delays = Delays::new();
    let mut heap: BinaryHeap<_> = (0..sources).map(|s| Reverse((delays.draw(), s))).collect();
    bencher.bench_local(|| {
        for _ in 0..OPERATIONS {
            let mut top = heap.peek_mut().expect("every source is pending");
            top.0.0 += delays.draw();
        }
    });
}

#[divan::bench(args = SOURCES)]
fn hold_quaternary_heap(bencher: Bencher, sources: u32) {
    let mut delays = Delays::new();
    let mut heap: Vec<_> = (0..sources).map(|s| (delays.draw(), s)).collect();
    // A sorted table is a heap.
    heap.sort_unstable();
    bencher.bench_local(|| {
        for _ in 0..OPERATIONS {
            heap[0].0 += delays.draw();
            sift_down(&mut heap);
        }
    });
}

/// Restores the order of a heap of four children per node, of which only the top may be late.
fn sift_down(heap: &mut [(u64, u32)]) {
    let (item, mut hole) = (heap[0], 0);
    loop {
        let first = 4 * hole + 1;
        let children = heap.get(first..heap.len().min(first + 4)).unwrap_or(&[]);
        let Some((offset, &least)) = children.iter().enumerate().min_by_key(|child| child.1) else {
            break;
        };
        if least >= item {
            break;
        }
        heap[hole] = least;
        hole = first + offset;
    }
    heap[hole] = item;
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

/// A ring of links with one event each: packets hop from link to link.
#[divan::bench(args = SOURCES)]
fn hop_over_ring(bencher: Bencher, links: u32) {
    let mut rng = Streams::new(1).stream("ring", 0);
    let mut agenda = Agenda::new(links as usize);
    let size = Bytes::new(1250);
    let mut ring: Vec<_> = (0..links)
        .map(|_| link(QueueConfig::drop_tail(1000)))
        .collect();
    for packet in 0..links * 10 {
        let at = rng.integer(0, u64::from(links) - 1) as usize;
        let _ = ring[at].send(Instant::ZERO, packet, size, &mut rng);
        agenda.set(Slot::new(at as u32), ring[at].next_event());
    }
    bencher.bench_local(|| {
        for _ in 0..OPERATIONS {
            let (now, slot) = agenda.next().expect("packets never leave the ring");
            let next = Slot::new((slot.index() as u32 + 1) % links);
            while let Some(packet) = ring[slot.index()].receive(now) {
                let _ = ring[next.index()].send(now, packet, size, &mut rng);
            }
            agenda.set(slot, ring[slot.index()].next_event());
            agenda.set(next, ring[next.index()].next_event());
        }
    });
}
