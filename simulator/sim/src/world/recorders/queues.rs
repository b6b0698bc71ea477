//! What waits at an access link.

use hopflow_netem::{Link, LinkCounters};
use hopflow_units::{Duration, Instant};

use crate::outcome::QueueOutcome;
use crate::world::packets::Packet;

/// The queues of an access link, sampled from a time on.
#[derive(Clone, Debug)]
pub(crate) struct QueueRecorder {
    pub(crate) up: QueueSeries,
    pub(crate) down: QueueSeries,
}

/// The samples of one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueSeries {
    interval: Duration,
    /// When the next sample is due.
    pub(crate) next: Instant,
    samples: u64,
    /// Sums over the samples.
    packets: u64,
    bytes: u64,
    /// The counters when recording began.
    before: LinkCounters,
}

impl QueueSeries {
    /// Takes the sample that is due.
    pub(crate) fn sample(&mut self, link: &Link<Packet>) {
        let now = self.next;
        self.next += self.interval;
        if self.samples == 0 {
            self.before = *link.counters();
        }
        self.samples += 1;
        self.packets += link.queue_len(now) as u64;
        self.bytes += link.queue_bytes(now).get();
    }

    fn outcome(&self, link: &Link<Packet>) -> QueueOutcome {
        let counters = link.counters();
        let mean = |sum: u64| sum as f64 / self.samples.max(1) as f64;
        QueueOutcome {
            mean_packets: mean(self.packets),
            mean_bytes: mean(self.bytes),
            offered: counters.sent - self.before.sent,
            dropped: counters.dropped() - self.before.dropped(),
        }
    }
}

impl QueueRecorder {
    pub(crate) fn new(interval: Duration, from: Instant) -> Self {
        let series = QueueSeries {
            interval,
            next: from,
            samples: 0,
            packets: 0,
            bytes: 0,
            before: LinkCounters::default(),
        };
        Self {
            up: series,
            down: series,
        }
    }

    /// What was seen at the uplink and at the downlink.
    pub(super) fn finish(&self, [up, down]: [&Link<Packet>; 2]) -> [QueueOutcome; 2] {
        [self.up.outcome(up), self.down.outcome(down)]
    }
}
