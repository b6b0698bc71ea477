//! Result folders with invented numbers: plausible shapes, known to no network.

use std::path::Path;

use hopflow_results::{
    Circuit, Class, Download, Folder, HopSample, Manifest, Metric, MetricUnit, Node, PathNode,
    Relay, RunKey, Sample, Tables, Value, Verdict,
};

pub(crate) const TRANSPORTS: [&str; 4] = ["vanilla", "pctcp", "n23", "backtap"];
pub(crate) const SEEDS: u64 = 6;

const SCENARIO: &str = "name = \"Dumbbell, 100 relays\"\nduration = \"60 s\"\n\n[network]\nkind = \"dumbbell\"\nrelays = 100\nbottleneck = \"12500 kB/s\"\n\n[[users]]\nclass = \"web\"\ncount = 27\nresponse = \"320 KiB\"\nthink = [\"1 s\", \"20 s\"]\n\n[[users]]\nclass = \"bulk\"\ncount = 3\nresponse = \"5 MiB\"\n\n[[transports]]\nname = \"vanilla\" # <one connection>\n\n[[transports]]\nname = \"backtap\"\n";

/// Uniform numbers from a linear congruential generator.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A skewed positive number with median one.
    fn skewed(&mut self, spread: f64) -> f64 {
        let normal: f64 = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
        libm::exp(spread * normal)
    }
}

/// Writes a result folder with runs of several transports.
pub(crate) fn write(dir: &Path) {
    let folder = Folder::create(dir).unwrap();
    let mut manifest = Manifest::new("0.1.0", "Dumbbell, 100 relays", SCENARIO);
    manifest.command = Some("hopflow compare dumbbell.toml --seeds 6".to_owned());
    manifest.transports = TRANSPORTS.map(str::to_owned).to_vec();
    manifest.seeds = (1..=SEEDS).collect();
    for (index, transport) in TRANSPORTS.iter().enumerate() {
        for seed in 1..=SEEDS {
            let key = RunKey::new(transport, seed as u32 - 1, seed, &[SCENARIO, "0.1.0"]);
            let tables = tables(index, seed);
            manifest
                .runs
                .push(folder.write_run(&key, &tables, 3.2 + index as f64).unwrap());
        }
    }
    folder.write_manifest(&manifest).unwrap();
}

fn tables(transport: usize, seed: u64) -> Tables {
    let mut random = Random(seed * 1000 + transport as u64);
    // The network is the same for all transports of a seed.
    let network = Random(seed).skewed(0.06);
    let slowness = [1.6, 1.5, 1.35, 0.75][transport] * network;
    let mut tables = Tables::default();
    for circuit in 0..30 {
        let class = if circuit % 10 == 0 {
            Class::Bulk
        } else {
            Class::Web
        };
        downloads(
            &mut tables.downloads,
            (circuit, class),
            slowness,
            &mut random,
        );
        tables.circuits.push(self::circuit(
            circuit,
            class,
            transport,
            slowness,
            &mut random,
        ));
    }
    over_time(&mut tables, transport, slowness, &mut random);
    relays_and_paths(&mut tables);
    tables
}

/// Nine relays, three for each position, and a client for each circuit; relay 3 is the bottleneck.
fn relays_and_paths(tables: &mut Tables) {
    let node = |(node, name): (u32, String), bucket| Node {
        node,
        name,
        region: "EU".to_owned(),
        access_bytes_per_s: 12.5e6,
        delay_s: 0.02,
        bucket_bytes_per_s: bucket,
    };
    for number in 0..9 {
        let name = format!("relay-{number}");
        tables.nodes.push(node((number, name.clone()), Some(2e6)));
        tables.relays.push(Relay {
            name,
            cells_sent: 1000,
            cells_retransmitted: 0,
            cells_dropped: 0,
            largest_queue_cells: 40,
            utilisation: Some(if number == 3 { 0.97 } else { 0.3 }),
        });
    }
    for circuit in 0..30 {
        let client = 9 + circuit;
        let name = format!("client-{circuit}");
        tables.nodes.push(node((client, name), None));
        let second = if circuit % 10 == 0 {
            3
        } else {
            3 + circuit % 3
        };
        let row = &mut tables.circuits[circuit as usize];
        row.bottleneck = row.bottleneck.filter(|node| *node == second);
        let path = [client, circuit % 3, second, 6 + circuit / 3 % 3];
        tables
            .paths
            .extend((0..).zip(path).map(|(position, node)| PathNode {
                circuit,
                leg: 0,
                position,
                node,
            }));
    }
}

fn downloads(
    rows: &mut Vec<Download>,
    (circuit, class): (u32, Class),
    slowness: f64,
    random: &mut Random,
) {
    let (bytes, size) = match class {
        Class::Bulk => (5_242_880, 6.5),
        Class::Web => (327_680, 1.0),
    };
    let mut start_s = 20.0 * random.uniform();
    for request in 0.. {
        let ttfb_s = 0.12 + 0.35 * slowness * random.skewed(0.6);
        let ttlb_s = ttfb_s + 0.9 * size * slowness * random.skewed(0.5);
        if start_s + ttlb_s > 60.0 {
            return;
        }
        rows.push(Download {
            circuit,
            class,
            request,
            start_s,
            ttfb_s,
            ttlb_s,
            bytes,
        });
        start_s += ttlb_s
            + if class == Class::Web {
                1.0 + 8.0 * random.uniform()
            } else {
                0.0
            };
    }
}

fn circuit(
    circuit: u32,
    class: Class,
    transport: usize,
    slowness: f64,
    random: &mut Random,
) -> Circuit {
    let goodput = 260e3 / slowness * random.skewed([0.6, 0.35, 0.5, 0.2][transport]);
    let latency = 0.08 + 0.25 * slowness * random.skewed(0.3);
    Circuit {
        circuit,
        hops: 3,
        class,
        packaged_bytes: (goodput * 60.0) as u64,
        delivered_bytes: (goodput * 59.0) as u64,
        rate_bytes_per_s: goodput * 1.04,
        goodput_bytes_per_s: goodput,
        fair_bytes_per_s: Some(240e3),
        bottleneck: Some(3),
        backlog_mean_bytes: Some(110e3 * slowness),
        latency_mean_s: Some(latency),
        latency_p50_s: Some(latency * 0.9),
        latency_p95_s: Some(latency * 2.4),
        closed: false,
    }
}

fn over_time(tables: &mut Tables, transport: usize, slowness: f64, random: &mut Random) {
    if transport == 3 {
        tables.metric_units.push(MetricUnit {
            metric: "round_trip".into(),
            unit: "seconds".into(),
            about: "the latest round trip of the hop".into(),
        });
    }
    for step in 0..600_u32 {
        let t_s = f64::from(step) * 0.1;
        let filled = 1.0 - libm::exp(-t_s / (3.0 + slowness));
        for circuit in 0..3 {
            let swing = 1.0 + 0.25 * libm::sin(t_s / 1.7 + f64::from(circuit)) * slowness;
            let backlog = 130e3 * slowness * filled * swing * random.skewed(0.1);
            let delivered_bytes = (200e3 * t_s) as u64;
            let packaged_bytes = delivered_bytes + backlog as u64;
            tables.samples.push(Sample {
                circuit,
                t_s,
                packaged_bytes,
                delivered_bytes,
            });
            for hop in 0..3 {
                let share = [0.6, 0.3, 0.1][hop as usize];
                let queue = backlog / 512.0 * share;
                let window = (transport >= 2).then_some((20.0 + 30.0 * filled * swing) as u64);
                if transport == 3 {
                    tables.metrics.push(Metric {
                        circuit,
                        hop,
                        t_s,
                        metric: "round_trip".into(),
                        value: 0.04 + backlog / 1e7,
                    });
                }
                tables.hops.push(HopSample {
                    circuit,
                    hop,
                    t_s,
                    queue_cells: queue as u64,
                    outstanding_cells: (18.0 + 25.0 * filled * swing) as u64,
                    window_cells: window,
                });
            }
        }
    }
}

/// Values of a figure over a swept round-trip time, with the paper's.
pub(crate) fn values() -> Vec<Value> {
    let mut values = Vec::new();
    for (transport, window) in [("vanilla", 512e3), ("backtap", f64::INFINITY)] {
        for rtt in (50..=500).step_by(50).map(f64::from) {
            let paper = f64::min(1500.0, window / rtt);
            let mean = paper * (1.01 - rtt / 20_000.0);
            let verdict = match rtt {
                r if r < 400.0 => Verdict::Reproduced,
                r if r < 450.0 => Verdict::Undecided,
                r if r < 500.0 => Verdict::NotReproduced,
                _ => Verdict::NotJudged,
            };
            values.push(Value {
                figure: "backtap-fig5a".to_owned(),
                quantity: "rate".to_owned(),
                unit: "kB/s".to_owned(),
                transport: transport.to_owned(),
                x: Some(rtt),
                n: 20,
                mean,
                ci_low: Some(mean * 0.985),
                ci_high: Some(mean * 1.015),
                paper: (rtt < 500.0).then_some(paper),
                band_low: (rtt < 500.0).then_some(paper * 0.95),
                band_high: (rtt < 500.0).then_some(paper * 1.05),
                verdict,
                wanted: (verdict == Verdict::Undecided).then_some(31),
            });
        }
    }
    values
}
