//! What waits at access links.

use hopflow_netem::{Link, LinkCounters};
use hopflow_units::{Duration, Instant};

use crate::outcome::QueueOutcome;
use crate::world::machine::Machine;
use crate::world::packets::Packet;

/// The queues of all access links, sampled from a time on.
#[derive(Debug)]
pub(super) struct QueueRecorder {
    interval: Duration,
    next: Instant,
    samples: u64,
    /// Up and down, for each machine.
    links: Vec<[Seen; 2]>,
}

/// What was seen of one link.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Sums over the samples.
    packets: u64,
    bytes: u64,
    /// The counters when recording began.
    before: LinkCounters,
}

impl Seen {
    fn sample(&mut self, now: Instant, link: &Link<Packet>) {
        self.packets += link.queue_len(now) as u64;
        self.bytes += link.queue_bytes(now).get();
    }

    fn outcome(&self, samples: u64, link: &Link<Packet>) -> QueueOutcome {
        let counters = link.counters();
        let mean = |sum: u64| sum as f64 / samples.max(1) as f64;
        QueueOutcome {
            mean_packets: mean(self.packets),
            mean_bytes: mean(self.bytes),
            offered: counters.sent - self.before.sent,
            dropped: counters.dropped() - self.before.dropped(),
        }
    }
}

impl QueueRecorder {
    pub(super) fn new(interval: Duration, from: Instant, machines: usize) -> Self {
        Self {
            interval,
            next: from,
            samples: 0,
            links: vec![<[Seen; 2]>::default(); machines],
        }
    }

    /// When the next sample is due.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    pub(super) fn sample(&mut self, now: Instant, machines: &[Machine]) {
        if self.next > now {
            return;
        }
        self.next += self.interval;
        for (seen, machine) in self.links.iter_mut().zip(machines) {
            for (seen, pipe) in seen.iter_mut().zip([&machine.up, &machine.down]) {
                if self.samples == 0 {
                    seen.before = *pipe.link().counters();
                }
                seen.sample(now, pipe.link());
            }
        }
        self.samples += 1;
    }

    pub(super) fn finish(&self, machines: &[Machine]) -> Vec<[QueueOutcome; 2]> {
        let of_machine = |(seen, machine): (&[Seen; 2], &Machine)| {
            let pipes = [&machine.up, &machine.down];
            [0, 1].map(|way| seen[way].outcome(self.samples, pipes[way].link()))
        };
        self.links.iter().zip(machines).map(of_machine).collect()
    }
}
