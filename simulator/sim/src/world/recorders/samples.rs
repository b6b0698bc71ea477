//! Regular samples of circuits and hops.

use hopflow_overlay::{CircuitHandle, Direction, Measured};
use hopflow_units::{Bytes, Duration, Instant};

use crate::outcome::{HopSample, MetricSample};
use crate::spec::Sampling;
use crate::world::machine::Machine;
use crate::world::users::{Client, Endpoint, Server, Sink};

/// What is sampled at a machine while the simulation runs.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    circuits: Option<Series>,
    hops: Option<Series>,
    pub(crate) watched: Vec<WatchedHop>,
    /// What sources here have packaged: when, of which user, and on the how manieth of its circuits.
    pub(super) packaged: Vec<(Instant, u32, u32, Bytes)>,
    /// What has been delivered here: when, of which user, on the how manieth of its circuits it is, and how
    /// much in all and over circuits before.
    pub(super) delivered: Vec<(Instant, u32, u32, [Bytes; 2])>,
    pub(super) hop_samples: Vec<HopSample>,
    pub(super) metrics: Vec<MetricSample>,
    /// What one flow measured; keeps its memory.
    measured: Vec<Measured>,
}

/// A node that sends what is measured of a user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchedHop {
    pub(crate) user: u32,
    /// Nodes from the source, over all legs of the user.
    pub(crate) hop: u32,
    pub(crate) position: u16,
    pub(crate) circuit: CircuitHandle,
    pub(crate) direction: Direction,
    /// From when on the user may have the circuit.
    pub(crate) from: Instant,
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
    pub(crate) fn new(sampling: &Sampling) -> Self {
        let from = Instant::ZERO + sampling.from;
        Self {
            circuits: Series::new(sampling.circuits, from),
            hops: Series::new(sampling.hops, from),
            watched: Vec::new(),
            packaged: Vec::new(),
            delivered: Vec::new(),
            hop_samples: Vec::new(),
            metrics: Vec::new(),
            measured: Vec::new(),
        }
    }

    /// When the next sample is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        let series = [self.circuits, self.hops];
        series.into_iter().flatten().map(|series| series.next).min()
    }

    /// Takes the samples that are due.
    pub(crate) fn sample(
        &mut self,
        now: Instant,
        machine: &Machine,
        clients: &[Client],
        servers: &[Server],
    ) {
        if Series::take(&mut self.circuits, now) {
            for client in clients {
                self.sample_end(now, machine, &client.endpoint, client.sink.as_ref());
            }
            for server in servers {
                self.sample_end(now, machine, &server.endpoint, server.sink.as_ref());
            }
        }
        if Series::take(&mut self.hops, now) {
            self.sample_hops(now, machine);
        }
    }

    /// Samples what is measured of a user at one of its ends: there it is delivered, or packaged.
    fn sample_end(
        &mut self,
        now: Instant,
        machine: &Machine,
        endpoint: &Endpoint,
        sink: Option<&Sink>,
    ) {
        let Endpoint { user, turn, .. } = *endpoint;
        match sink {
            Some(sink) => {
                let bytes = [sink.bytes, sink.before];
                self.delivered.push((now, user, sink.turn, bytes));
            }
            None => {
                let bytes = packaged(endpoint, machine);
                self.packaged.push((now, user, turn, bytes));
            }
        }
    }

    fn sample_hops(&mut self, at: Instant, machine: &Machine) {
        for watched in self.watched.iter().filter(|watched| watched.from <= at) {
            let host = &machine.node(watched.position).host;
            let Some(view) = host.flow_view(watched.circuit, watched.direction) else {
                continue;
            };
            let (circuit, hop) = (watched.user, watched.hop);
            self.hop_samples.push(HopSample {
                at,
                circuit,
                hop,
                queue: view.queued,
                outstanding: view.outstanding,
                window: view.window,
            });
            host.measure(watched.circuit, watched.direction, &mut self.measured);
            let sample = |measured| MetricSample {
                at,
                circuit,
                hop,
                measured,
            };
            self.metrics.extend(self.measured.drain(..).map(sample));
        }
    }
}

/// Bytes that a source has packaged.
pub(super) fn packaged(endpoint: &Endpoint, machine: &Machine) -> Bytes {
    let host = &machine.node(endpoint.position).host;
    let view = host.stream_view(endpoint.stream);
    view.map_or(Bytes::ZERO, |view| view.packaged)
}
