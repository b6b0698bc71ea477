//! What circuits hold of a relay's access link against TCP connections: `docs/joint.md`, section "Others
//! on the access link".
//!
//! ```sh
//! cargo run --release -p hopflow-transports --example compete -- \
//!     weight=1 circuits=10 connections=5 rtt=20 buffer=0.5 seeds=8
//! ```
//!
//! Endless downloads lead over one of ten entries, the relay, and one of ten exits; TCP connections
//! of other hosts end at the relay's machine. All links but the relay's are fast. For each seed it
//! prints the goodput of all circuits and of all connections, and the mean latency of cells; then the
//! mean over seeds, with half of its 95 % interval, of the circuits' part of all goodput over
//! w/(w + connections), w being the weight, or 1 if that is 0. Without connections it is their part of
//! what the link carries.

use std::ops::ControlFlow;
use std::sync::Arc;

use hopflow_random::{Stream, Streams};
use hopflow_sim::spec::{
    AccessSpec, Backbone, BucketSpec, CircuitSpec, Class, CrossSpec, NodeSpec, QueueSpec, Sampling,
    Workload, WorldSpec,
};
use hopflow_sim::{Outcome, Simulated};
use hopflow_units::{Duration, Instant, NodeId, Rate};
use toml::Table;

/// Entries, and exits.
const OTHERS: usize = 10;
/// Bytes per second of links that limit nothing, and of the relay's bucket.
const FAST: f64 = 125e6;
const BUCKET: f64 = 10e6;
/// Bytes of a packet of TCP.
const PACKET: f64 = 1500.0;
/// Student's t for 95 % intervals of two values and more.
const T: [f64; 9] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26];

/// Arguments and their defaults; times in seconds but for `rtt`, which is in milliseconds and is met
/// but for a tenth, rates in bytes per second, the buffer in products of rate and round trip.
const ARGUMENTS: [(&str, f64); 11] = [
    ("weight", 0.0),
    ("circuits", 10.0),
    ("connections", 5.0),
    ("rtt", 30.0),
    ("buffer", 1.0),
    ("rate", 2e6),
    ("loss", 0.0),
    ("seconds", 60.0),
    ("warm-up", 20.0),
    ("first-seed", 1.0),
    ("seeds", 3.0),
];

/// What the arguments say.
struct Settings([f64; ARGUMENTS.len()]);

impl Settings {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut values = ARGUMENTS.map(|(_, default)| default);
        for argument in arguments {
            let (key, value) = argument.split_once('=').unwrap_or((&argument, ""));
            let place = ARGUMENTS.iter().position(|(name, _)| *name == key);
            let place = place.ok_or_else(|| {
                let names = ARGUMENTS.map(|(name, _)| name).join(", ");
                format!("argument `{key}` is unknown; allowed is NAME=NUMBER with {names}")
            })?;
            let number = value.parse().ok().filter(|it: &f64| it.is_finite());
            let number = number.filter(|it| *it >= 0.0).ok_or_else(|| {
                format!("argument `{key}`: `{value}`; allowed is a number, at least 0")
            })?;
            values[place] = number;
        }
        Ok(Self(values))
    }

    fn get(&self, key: &str) -> f64 {
        let place = ARGUMENTS.iter().position(|(name, _)| *name == key);
        self.0[place.expect("it is an argument")]
    }

    fn count(&self, key: &str) -> usize {
        self.get(key) as usize
    }
}

fn rate(bytes: f64) -> Rate {
    Rate::from_bytes_per_sec(bytes as u64).expect("links carry something")
}

/// A node whose link limits nothing: a relay, or another host.
fn node(name: String, delay: f64) -> NodeSpec {
    NodeSpec {
        name,
        access: AccessSpec::new(
            rate(FAST),
            Duration::from_secs_f64(delay),
            QueueSpec::DropTail { packets: 1000 },
        ),
        bucket: None,
    }
}

/// The relay, then entries, exits, the connections' hosts, and clients.
fn nodes(settings: &Settings, rng: &mut Stream) -> Vec<NodeSpec> {
    // A packet crosses two access links in each direction.
    let quarter = settings.get("rtt") / 4000.0;
    let product = settings.get("rate") * settings.get("rtt") / 1000.0;
    let packets = (settings.get("buffer") * product / PACKET).round().max(2.0);
    let mut relay = node("relay".to_owned(), quarter);
    relay.access.rate = rate(settings.get("rate"));
    relay.access.queue = QueueSpec::DropTail {
        packets: packets as u32,
    };
    relay.access.loss = settings.get("loss");
    relay.bucket = Some(BucketSpec {
        rate: rate(BUCKET),
        depth: None,
        interval: None,
        reading: false,
    });
    let others = 2 * OTHERS + settings.count("connections") + settings.count("circuits");
    let others =
        (0..others).map(|other| node(format!("n{other}"), quarter * (0.8 + 0.4 * rng.unit())));
    std::iter::once(relay).chain(others).collect()
}

/// An endless download by the client at `client`.
fn circuit(client: usize, rng: &mut Stream) -> CircuitSpec {
    let forever = Duration::from_secs(1_000_000);
    let mut one_from = |first: usize| first + (rng.unit() * OTHERS as f64) as usize;
    let path = [client, one_from(1), 0, one_from(1 + OTHERS)];
    CircuitSpec {
        path: path.map(|node| NodeId::new(node as u32)).to_vec(),
        legs: Vec::new(),
        class: Class::Bulk,
        workload: Arc::new(Workload {
            response: None,
            think: (forever, forever),
            server_delay: Duration::ZERO,
            server_delay_max: Duration::ZERO,
        }),
        start: Duration::from_secs_f64(2.0 * rng.unit()),
        leave: None,
        rebuilt: Vec::new(),
    }
}

fn world(settings: &Settings, seed: u64) -> WorldSpec {
    let rng = &mut Streams::new(seed).stream("compete", 0);
    let hosts = 1 + 2 * OTHERS;
    let clients = hosts + settings.count("connections");
    let from = Duration::from_secs_f64(settings.get("warm-up"));
    WorldSpec {
        nodes: nodes(settings, rng),
        circuits: (0..settings.count("circuits"))
            .map(|number| circuit(clients + number, rng))
            .collect(),
        backbone: Backbone::default(),
        cross: (hosts..clients)
            .map(|host| CrossSpec {
                from: NodeId::new(host as u32),
                to: NodeId::new(0),
                start: Duration::from_secs_f64(2.0 * rng.unit()),
                algorithm: None,
            })
            .collect(),
        faults: Vec::new(),
        end: Duration::from_secs_f64(settings.get("seconds")),
        seed,
        sampling: Sampling {
            circuits: Some(from),
            hops: None,
            from,
        },
        tcp: hopflow_tcp::Config::default(),
        tls: false,
    }
}

/// Goodput of all circuits and of all connections after the warm-up, in bytes per second, and the mean
/// latency of cells, in seconds.
fn measured(settings: &Settings, outcome: &Outcome) -> (f64, f64, f64) {
    let from = Instant::ZERO + Duration::from_secs_f64(settings.get("warm-up"));
    let early = outcome.samples.iter().filter(|sample| sample.at <= from);
    let early: u64 = early.map(|sample| sample.delivered.get()).sum();
    let all = outcome.circuits.iter();
    let all: u64 = all.map(|circuit| circuit.delivered.get()).sum();
    let cross: u64 = outcome.cross.iter().map(|bytes| bytes.get()).sum();
    let latencies = outcome.circuits.iter();
    let latencies = latencies.filter_map(|circuit| circuit.latency.mean());
    let (sum, count) = latencies.fold((0.0, 0.0), |(sum, count), it| {
        (sum + it.as_secs_f64(), count + 1.0)
    });
    let span = settings.get("seconds") - settings.get("warm-up");
    (
        (all - early) as f64 / span,
        cross as f64 / span,
        sum / count,
    )
}

/// The mean, and half of its 95 % interval.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|it| (it - mean) * (it - mean)).sum();
    let t = T.get(values.len().wrapping_sub(2)).copied();
    let t = t.unwrap_or(f64::NAN);
    (mean, t * (squares / (count - 1.0) / count).sqrt())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = Settings::read(std::env::args().skip(1))?;
    let (weight, connections) = (settings.get("weight"), settings.get("connections"));
    let options: Table = format!("weight = {weight:?}").parse()?;
    let factory = hopflow_transports::build::<Simulated>("joint", &options)?;
    let held_to = if weight > 0.0 { weight } else { 1.0 };
    let mut shares = Vec::new();
    let first = settings.count("first-seed") as u64;
    for seed in first..first + settings.count("seeds") as u64 {
        let spec = world(&settings, seed);
        let outcome = hopflow_sim::run(&spec, &*factory, &mut |_| ControlFlow::Continue(()))?;
        let outcome = outcome.ok_or("nobody stops it")?;
        let (circuits, cross, latency) = measured(&settings, &outcome);
        println!(
            "seed {seed}: circuits {:.0} kB/s, connections {:.0} kB/s, latency {:.0} ms",
            circuits / 1e3,
            cross / 1e3,
            latency * 1e3
        );
        shares.push(if connections > 0.0 {
            circuits / (circuits + cross) * (held_to + connections) / held_to
        } else {
            circuits / settings.get("rate")
        });
    }
    let (mean, half) = mean(&shares);
    println!("{mean:.2} ± {half:.2}");
    Ok(())
}
