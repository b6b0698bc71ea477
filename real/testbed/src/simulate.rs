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
use crate::measured::{Download, HopState, Measured, Moment, RelayTotals, Unfinished, last_end};
use crate::server::head;
use crate::settings::{Congestion, Settings};
use crate::watch::Watch;

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
/// from the beginning; cells carry 498 bytes of data in place of 488 and datagrams no cryptography;
/// processors take no time; and connections of stream carriers are modelled, slow start and records of TLS included.
///
/// `seed` decides how the nodes' timers and buckets are out of step, and exactly when each download
/// begins. `None` if `watch` says that the user interrupted; it is told nothing.
///
/// # Errors
/// If the settings cannot be simulated.
pub fn simulate(
    settings: &Settings,
    seed: u64,
    watch: &dyn Watch,
) -> Result<Option<Measured>, SpecError> {
    let choice = TransportChoice {
        preset: settings.transport.clone(),
        options: settings.options.clone(),
    };
    // What the real nodes add to the options.
    let choice = choice.on_real_hosts();
    let factory = hopflow_simulated_hosts::build(&choice.preset, &choice.options)
        .map_err(|error| SpecError(error.to_string()))?;
    let run = |world: &WorldSpec| run(world, &*factory, watch);
    let limit = settings.duration;
    let limit = limit.map(|limit| limited(settings, (seed, limit), &run));
    let end = match limit.transpose()? {
        None => LATEST,
        Some(Some(end)) => end,
        Some(None) => return Ok(None),
    };
    let mut world = world(settings, seed);
    world.end = end;
    // How long it takes is known only behind it, and samples must not go on for ever.
    let Some(first) = run(&world)? else {
        return Ok(None);
    };
    let (begin, end) = Reading::of(settings, &first, world.end).ends();
    world.end = end.saturating_since(Instant::ZERO);
    let interval = interval(end.saturating_since(begin));
    world.sampling.circuits = Some(interval);
    world.sampling.hops = Some(interval);
    let outcome = run(&world)?;
    Ok(outcome.map(|outcome| Reading::of(settings, &outcome, world.end).measured()))
}

/// When downloads are cut off that may take so long; `None` if the user interrupted. When the first begins does not depend
/// on how long they are.
fn limited(
    settings: &Settings,
    (seed, limit): (u64, Duration),
    run: &dyn Fn(&WorldSpec) -> Result<Option<Outcome>, SpecError>,
) -> Result<Option<Duration>, SpecError> {
    let brief = Settings {
        size: Bytes::new(1),
        ..settings.clone()
    };
    let outcome = run(&world(&brief, seed))?;
    let begin = |outcome: &Outcome| Reading::of(&brief, outcome, LATEST).begin;
    Ok(outcome.map(|it| begin(&it).saturating_since(Instant::ZERO) + limit))
}

/// Time between samples: as for real, but less where there would be fewer than fifty. The mean backlog of short downloads
/// is another for that alone.
fn interval(span: Duration) -> Duration {
    let share = Duration::from_nanos(span.as_nanos() / 50);
    share.clamp(Duration::from_millis(1), clock::span(SAMPLE))
}

/// `None` if the user interrupted.
fn run(
    world: &WorldSpec,
    factory: &dyn Factory<Simulated>,
    watch: &dyn Watch,
) -> Result<Option<Outcome>, SpecError> {
    hopflow_sim::run(world, factory, &mut |_| {
        if watch.interrupted() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
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
        end: LATEST,
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
    /// When the simulation ended at the latest.
    latest: Instant,
}

impl<'a> Reading<'a> {
    fn of(settings: &'a Settings, outcome: &'a Outcome, latest: Duration) -> Self {
        let complete = outcome.downloads.iter().map(|it| (it.index, it.requested));
        let open = outcome.open.iter().map(|it| (it.index, it.requested));
        let downloads = complete.chain(open).filter(|(index, _)| *index == DOWNLOAD);
        Self {
            settings,
            outcome,
            begin: downloads.map(|(_, at)| at).min().unwrap_or_default(),
            latest: Instant::ZERO + latest,
        }
    }

    /// When the first download was requested, and the last was complete or cut off.
    fn ends(&self) -> (Instant, Instant) {
        let all = self.downloads().count() == self.settings.downloads as usize;
        if self.settings.duration.is_some() && !all {
            return (self.begin, self.latest);
        }
        let ends = self.downloads().map(|it| self.begin + it.start + it.ttlb);
        (self.begin, ends.max().unwrap_or(self.begin))
    }

    fn since(&self, at: Instant) -> Duration {
        at.saturating_since(self.begin)
    }

    /// The complete ones.
    fn downloads(&self) -> impl Iterator<Item = Download> {
        let downloads = self.outcome.downloads.iter();
        let downloads = downloads.filter(|it| it.index == DOWNLOAD);
        downloads.map(|it| Download {
            number: it.circuit,
            start: self.since(it.requested),
            ttfb: it.ttfb,
            ttlb: it.ttlb,
            bytes: self.settings.size,
        })
    }

    /// The download of this number, which was cut off, perhaps before its request.
    fn unfinished(&self, number: u32) -> Unfinished {
        let mut open = self.outcome.open.iter();
        let open = open.find(|it| it.circuit == number && it.index == DOWNLOAD);
        let requested = open.map_or(self.latest, |it| it.requested);
        let head = head("200 OK", self.settings.size.get()).len() as u64;
        let received = open.map_or(Bytes::ZERO, |it| it.received);
        Unfinished {
            number,
            start: self.since(requested),
            waited: self.latest.saturating_since(requested),
            ttfb: open.and_then(|it| it.ttfb),
            bytes: received.saturating_sub(Bytes::new(head)),
        }
    }

    fn measured(&self) -> Measured {
        let downloads: Vec<_> = self.downloads().collect();
        let is_complete = |number: &u32| downloads.iter().any(|it| it.number == *number);
        let numbers = (0..self.settings.downloads).filter(|number| !is_complete(number));
        let unfinished: Vec<_> = numbers.map(|number| self.unfinished(number)).collect();
        let span = last_end(downloads.iter(), unfinished.iter()).unwrap_or(Duration::ZERO);
        Measured {
            unfinished,
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
