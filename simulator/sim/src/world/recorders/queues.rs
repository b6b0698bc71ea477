//! What waits at access links, for those who ask.
//!
//! Kept beside the recorder, as latencies are; nothing but the sampler's event pays for it.

use hopflow_units::{Duration, Instant};

use super::{Node, Packet, Source, World};
use crate::outcome::QueueOutcome;
use hopflow_netem::{Link, LinkCounters};

/// The queues of all access links, sampled from a moment on.
#[derive(Debug)]
pub(super) struct QueueRecorder {
    interval: Duration,
    next: Instant,
    samples: u64,
    /// Up and down, for each node.
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
    /// When the next sample is due.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    fn sample(&mut self, now: Instant, nodes: &[Node]) {
        if self.next > now {
            return;
        }
        self.next += self.interval;
        for (seen, node) in self.links.iter_mut().zip(nodes) {
            for (seen, link) in seen.iter_mut().zip([&node.up, &node.down]) {
                if self.samples == 0 {
                    seen.before = *link.counters();
                }
                seen.sample(now, link);
            }
        }
        self.samples += 1;
    }

    fn finish(&self, nodes: &[Node]) -> Vec<[QueueOutcome; 2]> {
        let of_node = |(seen, node): (&[Seen; 2], &Node)| {
            let links = [&node.up, &node.down];
            [0, 1].map(|way| seen[way].outcome(self.samples, links[way]))
        };
        self.links.iter().zip(nodes).map(of_node).collect()
    }
}

impl World {
    /// Samples the queues of all access links so often, from when recording begins
    /// ([`Sampling::from`](crate::spec::Sampling)).
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn record_queues(&mut self, interval: Duration) {
        assert!(!interval.is_zero(), "samples need an interval");
        self.queues = Some(QueueRecorder {
            interval,
            next: Instant::ZERO + self.recorder.from(),
            samples: 0,
            links: vec![<[Seen; 2]>::default(); self.machines().count()],
        });
        self.rearm_sampler();
    }

    pub(super) fn sample_queues(&mut self) {
        if let Some(queues) = &mut self.queues {
            queues.sample(self.now, &self.nodes);
        }
    }

    pub(super) fn queue_outcomes(&self) -> Vec<[QueueOutcome; 2]> {
        let queues = self.queues.as_ref();
        queues.map_or(Vec::new(), |queues| queues.finish(&self.nodes))
    }

    /// Sets when something is to be sampled next.
    pub(super) fn rearm_sampler(&mut self) {
        let queues = self.queues.as_ref().map(QueueRecorder::next);
        let next = self.recorder.next().into_iter().chain(queues).min();
        self.agenda.set(self.slot(Source::Sampler), next);
    }
}
