//! Links as their users see them.

mod codel;
mod impairments;
mod invariants;
mod queueing;

use hopflow_random::{Stream, Streams};
use hopflow_units::{Bytes, Duration, Instant, Rate};

use crate::{Link, LinkConfig, Verdict};

/// One megabyte per second: a microsecond per byte.
const RATE: Rate = Rate::from_kilobytes_per_sec(1000);
const DELAY: Duration = Duration::from_millis(10);
const SIZE: Bytes = Bytes::new(1000);

fn stream() -> Stream {
    Streams::new(3).stream("link test", 0)
}

const fn at_micros(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// Everything that arrives, with the time of its event.
fn drain(link: &mut Link<u32>) -> Vec<(Instant, u32)> {
    let mut arrived = Vec::new();
    while let Some(now) = link.next_event() {
        arrived.extend(std::iter::from_fn(|| link.receive(now)).map(|packet| (now, packet)));
        while link.take_dropped().is_some() {}
    }
    arrived
}

/// Runs `link` up to and with the events at `end` and returns what arrived.
fn run_until(link: &mut Link<u32>, end: Instant) -> Vec<u32> {
    let mut arrived = Vec::new();
    while let Some(now) = link.next_event().filter(|&next| next <= end) {
        arrived.extend(std::iter::from_fn(|| link.receive(now)));
        while link.take_dropped().is_some() {}
    }
    arrived
}

fn assert_conserved(link: &Link<u32>) {
    let counters = link.counters();
    assert_eq!(
        counters.sent + counters.duplicated,
        counters.delivered + counters.dropped() + link.in_flight() as u64,
        "{counters:?}"
    );
}
