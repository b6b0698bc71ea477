//! Regular samples of circuits and hops.

use hopflow_overlay::Measured;
use hopflow_units::{Bytes, Duration, Instant};

use crate::outcome::{HopSample, MetricSample, Sample};
use crate::spec::Sampling;
use crate::world::machine::Machine;
use crate::world::users::{Leg, User};

/// What is sampled while the simulation runs.
#[derive(Debug)]
pub(super) struct Sampler {
    circuits: Option<Series>,
    hops: Option<Series>,
    pub(super) samples: Vec<Sample>,
    pub(super) hop_samples: Vec<HopSample>,
    pub(super) metrics: Vec<MetricSample>,
    /// What one flow measured; keeps its memory.
    measured: Vec<Measured>,
}

/// When a regular sample is due.
#[derive(Clone, Copy, Debug)]
struct Series {
    interval: Duration,
    next: Instant,
}

impl Series {
    fn new(interval: Option<Duration>, from: Instant) -> Option<Self> {
        let interval = interval.filter(|interval| !interval.is_zero())?;
        Some(Self {
            interval,
            next: from,
        })
    }

    /// Whether a sample is due; if so, waits for the next one.
    fn take(series: &mut Option<Self>, now: Instant) -> bool {
        let Some(series) = series else { return false };
        let due = series.next <= now;
        if due {
            series.next += series.interval;
        }
        due
    }
}

impl Sampler {
    pub(super) fn new(sampling: &Sampling) -> Self {
        let from = Instant::ZERO + sampling.from;
        Self {
            circuits: Series::new(sampling.circuits, from),
            hops: Series::new(sampling.hops, from),
            samples: Vec::new(),
            hop_samples: Vec::new(),
            metrics: Vec::new(),
            measured: Vec::new(),
        }
    }

    /// When the next sample is due.
    pub(super) fn next(&self) -> Option<Instant> {
        let series = [self.circuits, self.hops];
        series.into_iter().flatten().map(|series| series.next).min()
    }

    /// Takes the samples that are due.
    pub(super) fn sample(&mut self, now: Instant, users: &[User], machines: &[Machine]) {
        if Series::take(&mut self.circuits, now) {
            self.sample_circuits(now, users, machines);
        }
        if Series::take(&mut self.hops, now) {
            self.sample_hops(now, users, machines);
        }
    }

    fn sample_circuits(&mut self, now: Instant, users: &[User], machines: &[Machine]) {
        self.samples.extend(users.iter().map(|user| Sample {
            at: now,
            circuit: user.number(),
            packaged: packaged(user, machines),
            delivered: user.delivered(),
        }));
    }

    fn sample_hops(&mut self, now: Instant, users: &[User], machines: &[Machine]) {
        for user in users {
            let senders = |leg: &Leg| leg.senders(user.measured());
            let senders = user.legs().iter().flat_map(senders);
            for (hop, (node, circuit)) in (0..).zip(senders) {
                let host = &machines[node.machine()].node(node.position).host;
                let Some(view) = host.flow_view(circuit, user.measured()) else {
                    continue;
                };
                self.hop_samples.push(HopSample {
                    at: now,
                    circuit: user.number(),
                    hop,
                    queue: view.queued,
                    outstanding: view.outstanding,
                    window: view.window,
                });
                host.measure(circuit, user.measured(), &mut self.measured);
                let sample = |measured| MetricSample {
                    at: now,
                    circuit: user.number(),
                    hop,
                    measured,
                };
                self.metrics.extend(self.measured.drain(..).map(sample));
            }
        }
    }
}

/// Bytes that the source of what is measured has packaged.
pub(super) fn packaged(user: &User, machines: &[Machine]) -> Bytes {
    let (node, stream) = user.source();
    let host = &machines[node.machine()].node(node.position).host;
    let view = host.stream_view(stream);
    view.map_or(Bytes::ZERO, |view| view.packaged)
}
