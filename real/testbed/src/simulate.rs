//! The same downloads in the simulator.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use hopflow_daemon::directory::TransportChoice;
use hopflow_daemon::net::UNSENT_OF_CONNECTIONS;
use hopflow_overlay::Factory;
use hopflow_random::Stream;
use hopflow_sim::spec::{
    AccessSpec, Backbone, BucketSpec, CircuitSpec, Class, Fetch, NodeSpec, QueueSpec, Sampling,
    Session, TcpAlgorithm, TcpConfig, TrafficModel, WorldSpec,
};
use hopflow_sim::{Outcome, Simulated, SpecError};
use hopflow_units::{Bytes, Duration, Instant, NodeId, Rate};
use hopflow_wire::CELL_DATA;

use crate::clock;
use crate::fetch::request;
use crate::measure::{SAMPLE, SETTLE};
use crate::measured::{Download, HopState, Measured, Moment, RelayTotals};
use crate::server::head;
use crate::settings::{Congestion, Settings};

/// The rate of access links that have no limit; the simulator wants one.
const UNLIMITED: Rate = Rate::from_megabits_per_sec(10_000);
/// When a simulation ends at the latest.
const LATEST: Duration = Duration::from_secs(24 * 3600);
/// Which of a user's fetches is the download: before it, it connects and fetches a byte, and
/// connects again.
const DOWNLOAD: u32 = 3;

/// Threads that are woken at the same time begin within about this.
const SPREAD: Duration = Duration::from_millis(1);

/// Simulates the testbed and its downloads.
///
/// The network, the transport and what is sent are the same as for real, up to this: circuits exist
/// from the beginning; cells carry 498 bytes of data in place of 488 and packets no cryptography;
/// processors take no time; and connections of stream carriers are modelled, slow start included.
///
/// `seed` decides how the nodes' timers and buckets are out of step, and exactly when each download
/// begins.
///
/// # Errors
/// If the settings cannot be simulated.
pub fn simulate(settings: &Settings, seed: u64) -> Result<Measured, SpecError> {
    let choice = TransportChoice {
        preset: settings.transport.clone(),
        options: settings.options.clone(),
    };
    // What the real nodes add to the options.
    let choice = choice.on_real_hosts();
    let factory = hopflow_simulated_hosts::build(&choice.preset, &choice.options)
        .map_err(|error| SpecError(error.to_string()))?;
    let mut world = world(settings, seed);
    // How long it takes is known only behind it, and samples must not go on for ever.
    let ends = Reading::of(settings, &run(&world, &*factory)?).ends();
    world.end = ends.1.saturating_since(Instant::ZERO);
    let interval = interval(ends.1.saturating_since(ends.0));
    world.sampling.circuits = Some(interval);
    world.sampling.hops = Some(interval);
    Ok(Reading::of(settings, &run(&world, &*factory)?).measured())
}

/// Time between samples: as for real, but less where the downloads would be over before the first.
fn interval(span: Duration) -> Duration {
    let share = Duration::from_nanos(span.as_nanos() / 50);
    share.clamp(Duration::from_millis(1), clock::span(SAMPLE))
}

fn run(world: &WorldSpec, factory: &dyn Factory<Simulated>) -> Result<Outcome, SpecError> {
    let outcome = hopflow_sim::run(world, factory, &mut |_| ControlFlow::Continue(()))?;
    Ok(outcome.expect("nobody stops it"))
}

/// The access link of every node.
fn access(settings: &Settings) -> AccessSpec {
    AccessSpec::new(
        settings.rate.unwrap_or(UNLIMITED),
        settings.access_delay(),
        QueueSpec::DropTail { packets: 100 },
    )
}

fn world(settings: &Settings, seed: u64) -> WorldSpec {
    let node = |name: &str| NodeSpec {
        name: name.to_owned(),
        access: access(settings),
        bucket: settings
            .middle_rate
            .filter(|_| name.starts_with("middle"))
            .map(|rate| BucketSpec {
                rate,
                depth: None,
                interval: None,
                reading: false,
            }),
    };
    let names = ["client"]
        .into_iter()
        .chain(settings.relays().iter().copied());
    let path = |leg| {
        let relays = Settings::path(leg).map(|relay| NodeId::new(relay as u32 + 1));
        std::iter::once(NodeId::new(0)).chain(relays).collect()
    };
    let circuit = CircuitSpec {
        path: path(0),
        legs: (1..settings.legs()).map(path).collect(),
        class: Class::Bulk,
        workload: Arc::new(Script::of(settings)),
        start: Duration::ZERO,
        leave: None,
        rebuilt: Vec::new(),
    };
    WorldSpec {
        nodes: names.map(node).collect(),
        backbone: Backbone::default(),
        circuits: vec![circuit; settings.downloads as usize],
        cross: Vec::new(),
        faults: Vec::new(),
        end: settings.duration.map_or(LATEST, |limit| limit + LATEST),
        seed,
        sampling: Sampling::default(),
        tcp: TcpConfig {
            // As real nodes set their sockets.
            nagle: false,
            unsent: UNSENT_OF_CONNECTIONS,
            algorithm: settings.netns.map_or_else(TcpAlgorithm::default, algorithm),
            ..TcpConfig::default()
        },
        // As theirs as well.
        tls: true,
    }
}

const fn algorithm(tcp: Congestion) -> TcpAlgorithm {
    match tcp {
        Congestion::Cubic => TcpAlgorithm::Cubic,
        Congestion::NewReno => TcpAlgorithm::NewReno,
        Congestion::Bbr => TcpAlgorithm::Bbr,
    }
}

/// What a download's circuit carries, one fetch after the other.
#[derive(Clone, Debug)]
struct Script {
    fetches: Vec<Fetch>,
}

impl Script {
    /// As for real: the stream of the byte that builds the circuit, the byte, the download's stream
    /// and, after a pause, the download.
    fn of(settings: &Settings) -> Self {
        let fetch = |request: u64, response: u64, pause| Fetch {
            request: Bytes::new(request),
            server_delay: Duration::ZERO,
            response: Some(Bytes::new(response)),
            pause,
            continued: false,
        };
        let address = ([127, 0, 0, 1], 50_000).into();
        // `more` bytes stand for what follows the answer.
        let get = |size: u64, more: u64| {
            let asked = request(address, size).len() as u64;
            let answer = head("200 OK", size).len() as u64 + size;
            fetch(asked, answer + more, Duration::ZERO)
        };
        let connect = |pause| fetch(15, 1, pause);
        // The byte's stream ends with a cell of its own, for the server closes behind the answer: both
        // fill windows that one would not, so that the download begins with larger ones.
        let end = CELL_DATA as u64;
        Self {
            fetches: vec![
                connect(Duration::ZERO),
                get(1, end),
                connect(clock::span(SETTLE)),
                get(settings.size.get(), 0),
            ],
        }
    }
}

impl TrafficModel for Script {
    fn session(&self) -> Box<dyn Session> {
        Box::new(Telling(self.fetches.clone().into_iter()))
    }

    fn is_greedy(&self) -> bool {
        false
    }
}

/// A script that is being played.
#[derive(Clone, Debug)]
struct Telling(std::vec::IntoIter<Fetch>);

impl Session for Telling {
    fn next(&mut self, random: &mut Stream) -> Option<Fetch> {
        let mut fetch = self.0.next()?;
        if !fetch.pause.is_zero() {
            fetch.pause += random.uniform(Duration::ZERO, SPREAD);
        }
        Some(fetch)
    }
}

/// A simulation's outcome, seen as a measurement.
struct Reading<'a> {
    settings: &'a Settings,
    outcome: &'a Outcome,
    /// When the first download was requested.
    begin: Instant,
}

impl<'a> Reading<'a> {
    fn of(settings: &'a Settings, outcome: &'a Outcome) -> Self {
        let downloads = outcome.downloads.iter();
        let downloads = downloads.filter(|it| it.index == DOWNLOAD);
        Self {
            settings,
            outcome,
            begin: downloads.map(|it| it.requested).min().unwrap_or_default(),
        }
    }

    /// When the first download was requested, and the last was complete.
    fn ends(&self) -> (Instant, Instant) {
        let downloads = self.outcome.downloads.iter();
        let end = downloads.map(|it| it.requested + it.ttlb).max();
        (self.begin, end.unwrap_or(self.begin))
    }

    fn since(&self, at: Instant) -> Duration {
        at.saturating_since(self.begin)
    }

    fn measured(&self) -> Measured {
        let downloads: Vec<_> = self
            .outcome
            .downloads
            .iter()
            .filter(|it| it.index == DOWNLOAD)
            .map(|it| Download {
                number: it.circuit,
                start: self.since(it.requested),
                ttfb: it.ttfb,
                ttlb: it.ttlb,
                bytes: self.settings.size,
            })
            .filter(|it| {
                self.settings
                    .duration
                    .is_none_or(|limit| it.start + it.ttlb <= limit)
            })
            .collect();
        let ends = downloads.iter().map(|it| it.start + it.ttlb);
        let span = ends.max().unwrap_or(Duration::ZERO);
        Measured {
            unfinished: self.settings.downloads - downloads.len() as u32,
            moments: self.moments(span),
            hops: self.hops(span),
            relays: self.relays(),
            downloads,
            span,
        }
    }

    fn moments(&self, span: Duration) -> Vec<Moment> {
        let mut before: BTreeMap<u32, (Bytes, Bytes)> = BTreeMap::new();
        let mut moments = Vec::new();
        for sample in &self.outcome.samples {
            if sample.at < self.begin {
                before.insert(sample.circuit, (sample.packaged, sample.delivered));
            } else if self.since(sample.at) <= span {
                let (packaged, delivered) =
                    before.get(&sample.circuit).copied().unwrap_or_default();
                moments.push(Moment {
                    at: self.since(sample.at),
                    circuit: sample.circuit,
                    packaged: sample.packaged.saturating_sub(packaged),
                    delivered: sample.delivered.saturating_sub(delivered),
                });
            }
        }
        moments
    }

    fn hops(&self, span: Duration) -> Vec<HopState> {
        // As for real.
        if self.settings.legs() > 1 {
            return Vec::new();
        }
        let samples = self.outcome.hops.iter();
        samples
            .filter(|sample| sample.at >= self.begin && self.since(sample.at) <= span)
            .map(|sample| HopState {
                at: self.since(sample.at),
                circuit: sample.circuit,
                hop: sample.hop,
                queue: sample.queue,
                outstanding: sample.outstanding,
                window: sample.window,
            })
            .collect()
    }

    fn relays(&self) -> Vec<RelayTotals> {
        let nodes = self.outcome.nodes.iter().skip(1);
        nodes
            .map(|node| RelayTotals {
                name: node.name.clone(),
                sent: node.cells_sent.get(),
                resent: node.cells_retransmitted.get(),
                dropped: node.cells_dropped.get(),
                largest_queue: node.largest_queue.get(),
            })
            .collect()
    }
}
