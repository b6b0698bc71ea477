//! What one run tells of its point of the design space.

use std::collections::BTreeSet;

use hopflow_results::{
    Circuit, Class, CrossFlow, Download, Failure, Folder, Link, OpenRequest, Relay, Requests,
    RunEntry, jain_at_bottlenecks, max_min_index,
};
use hopflow_sim::spec::WorldSpec;
use hopflow_stats::{FairFlow, Lasted, Mean, Survival, max_min};
use hopflow_units::NodeId;

use super::metric::Metric;
use crate::run::{Resource, on_path};

/// The tables of a run that are measured.
#[derive(Debug)]
pub(super) struct Run {
    circuits: Vec<Circuit>,
    downloads: Vec<Download>,
    open_requests: Vec<OpenRequest>,
    failures: Vec<Failure>,
    relays: Vec<Relay>,
    links: Vec<Link>,
    cross: Vec<CrossFlow>,
}

impl Run {
    pub(super) fn read(folder: &Folder, entry: &RunEntry) -> Result<Self, hopflow_results::Error> {
        Ok(Self {
            circuits: folder.read_table(entry)?,
            downloads: folder.read_table(entry)?,
            open_requests: folder.read_optional(entry)?,
            failures: folder.read_optional(entry)?,
            relays: folder.read_table(entry)?,
            links: folder.read_table(entry)?,
            cross: folder.read_table(entry)?,
        })
    }

    /// A metric of the run in the world that it was made in; `None` if it does not tell.
    pub(super) fn measure(&self, metric: Metric, world: &WorldSpec) -> Option<f64> {
        match metric {
            Metric::Goodput => Some(self.goodput(|_| true)),
            Metric::BulkGoodput => self.goodput_of(Class::Bulk),
            Metric::WebGoodput => self.goodput_of(Class::Web),
            Metric::Ttfb => median(self.requests().first_bytes(is_web)),
            Metric::Ttlb => median(self.requests().last_bytes(is_web)),
            Metric::Latency => self.latency(),
            Metric::Fairness => max_min_index(&self.circuits),
            Metric::Jain => Mean::of(&jain_at_bottlenecks(&self.circuits)).map(|mean| mean.mean),
            Metric::Loss => self.loss(),
            Metric::Friendliness => self.friendliness(world),
        }
    }

    /// Megabytes of data per second of some circuits.
    fn goodput(&self, which: impl Fn(&&Circuit) -> bool) -> f64 {
        let circuits = self.circuits.iter().filter(which);
        circuits.map(|c| c.goodput_bytes_per_s).sum::<f64>() / 1e6
    }

    fn goodput_of(&self, class: Class) -> Option<f64> {
        let any = self.circuits.iter().any(|circuit| circuit.class == class);
        any.then(|| self.goodput(|circuit| circuit.class == class))
    }

    fn requests(&self) -> Requests<'_> {
        Requests {
            downloads: &self.downloads,
            open: &self.open_requests,
            failed: &self.failures,
        }
    }

    /// Milliseconds: circuits count as the bytes that they deliver.
    fn latency(&self) -> Option<f64> {
        let circuits = self.circuits.iter();
        let delayed = circuits.filter_map(|c| Some((c.latency_mean_s?, c.delivered_bytes as f64)));
        let (sum, bytes) = delayed.fold((0.0, 0.0), |(sum, bytes), (latency, delivered)| {
            (sum + latency * delivered, bytes + delivered)
        });
        (bytes > 0.0).then(|| 1e3 * sum / bytes)
    }

    fn loss(&self) -> Option<f64> {
        let packets: u64 = self.links.iter().map(|link| link.drops).sum();
        let cells: u64 = self.relays.iter().map(|relay| relay.cells_dropped).sum();
        let sent: u64 = self.relays.iter().map(|relay| relay.cells_sent).sum();
        (sent > 0).then(|| 1e3 * (packets + cells) as f64 / sent as f64)
    }

    /// The mean over connections beside the overlay.
    fn friendliness(&self, world: &WorldSpec) -> Option<f64> {
        let shares: Vec<f64> = self
            .cross
            .iter()
            .zip(&world.cross)
            .filter_map(|(flow, spec)| {
                let fair = self.fair_share_beside(world, spec.to)?;
                Some(flow.goodput_bytes_per_s / fair)
            })
            .collect();
        Mean::of(&shares).map(|mean| mean.mean)
    }

    /// The max-min fair rate, in bytes of data per second, of a connection that ends at a relay,
    /// over the access link that it shares with the circuits that the relay receives.
    ///
    /// What the relay sends, by its token bucket, bounds circuits alone. They ask for what is fair
    /// without the connection if another node bounds that, and for what they got if their users do
    /// not take all; the rest for as much as they can get. Headers below cells are not reckoned.
    fn fair_share_beside(&self, world: &WorldSpec, relay: NodeId) -> Option<f64> {
        let beside = world.cross.iter().filter(|flow| flow.to == relay).count();
        let links = [Resource::Receive(relay), Resource::Send(relay)];
        let cross = FairFlow {
            links: vec![0],
            demand: None,
        };
        let through = world.circuits.iter().zip(&self.circuits);
        let through = through.filter_map(|(spec, circuit)| {
            let measured = spec.workload.measured();
            let used = spec.paths().flat_map(|path| on_path(path, measured));
            let used = used.filter_map(|used| links.iter().position(|link| *link == used));
            let used: BTreeSet<usize> = used.collect();
            let demand = match circuit.fair_bytes_per_s {
                Some(_) if circuit.bottleneck == Some(relay.index() as u32) => None,
                Some(fair) => Some(fair),
                None => Some(circuit.goodput_bytes_per_s),
            };
            let links: Vec<usize> = used.into_iter().collect();
            (!links.is_empty()).then_some(FairFlow { links, demand })
        });
        let flows: Vec<FairFlow> = std::iter::repeat_n(cross, beside).chain(through).collect();
        let capacities = links.map(|link| link.capacity(&world.nodes));
        let shares = max_min(&capacities, &flows).ok()?;
        shares.first().map(|share| share.rate)
    }
}

fn is_web(_: u32, class: Class) -> bool {
    class == Class::Web
}

fn median(times: Vec<Lasted>) -> Option<f64> {
    Survival::of(times)?.quantile(0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    /// Two downloaders and a reader beside a connection of another application; one of the
    /// downloaders is bounded by its slow exit.
    const TEXT: &str = r#"
name = "beside"
duration = "10 s"
seeds = 1
[transports.vanilla]
[network]
access = { rate = "1 Gbit/s", delay = "10 ms" }
[[network.relays]]
name = "shared"
access = { rate = "16384 kbit/s" }
[[network.relays]]
name = "exit"
[[network.relays]]
name = "slow"
bucket = { rate = "256 kB/s" }
[[network.cross]]
count = 1
to = "shared"
[[circuits]]
path = ["shared", "exit"]
workload = "bulk"
[[circuits]]
path = ["shared", "slow"]
workload = "bulk"
[[circuits]]
path = ["shared", "exit"]
workload = "web"
"#;

    fn circuit(number: u32, goodput: f64, fair: Option<f64>, bottleneck: u32) -> Circuit {
        let class = if fair.is_some() {
            Class::Bulk
        } else {
            Class::Web
        };
        Circuit {
            delivered_bytes: (goodput * 10.0) as u64,
            rate_bytes_per_s: goodput,
            goodput_bytes_per_s: goodput,
            fair_bytes_per_s: fair,
            bottleneck: fair.map(|_| bottleneck),
            latency_mean_s: Some(0.1 * f64::from(number)),
            ..Circuit::idle(number, 2, class)
        }
    }

    fn run() -> Run {
        Run {
            circuits: vec![
                circuit(0, 800e3, Some(1543e3), 0),
                circuit(1, 200e3, Some(249e3), 2),
                circuit(2, 143e3, None, 0),
            ],
            downloads: Vec::new(),
            open_requests: Vec::new(),
            failures: Vec::new(),
            relays: Vec::new(),
            links: Vec::new(),
            cross: vec![CrossFlow {
                flow: 0,
                goodput_bytes_per_s: 400e3,
            }],
        }
    }

    #[test]
    fn a_connection_beside_circuits_has_a_fair_share_of_what_these_can_use() {
        let world = Scenario::parse(TEXT, "beside.toml").unwrap().sample(1);
        // 1992 kB/s, less 249 of the slow exit and 143 of the reader, for two.
        let found = run().measure(Metric::Friendliness, &world).unwrap();
        assert!((found - 400.0 / 800.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn a_connection_does_not_share_the_bucket_of_its_relay() {
        let text = TEXT.replace(
            "\"shared\"\naccess",
            "\"shared\"\nbucket = { rate = \"512 kB/s\" }\naccess",
        );
        let world = Scenario::parse(&text, "beside.toml").unwrap().sample(1);
        let mut run = run();
        run.circuits[0].fair_bytes_per_s = Some(106e3);
        // Of 2048 kB/s in cells the circuits take the 512 of the bucket.
        let fair = (2048e3 - 512e3) * 498.0 / 512.0;
        let found = run.measure(Metric::Friendliness, &world).unwrap();
        assert!((found - 400e3 / fair).abs() < 1e-9, "{found}");
    }

    #[test]
    fn a_median_is_missing_where_fewer_than_half_were_seen_to_end() {
        let times = |open: usize| {
            let mut times = vec![Lasted::ended(1.0), Lasted::ended(2.0)];
            times.extend(std::iter::repeat_n(Lasted::open(9.0), open));
            median(times)
        };
        assert_eq!((times(1), times(3)), (Some(2.0), None));
    }

    #[test]
    fn latency_counts_bytes_and_what_is_not_told_is_missing() {
        let world = Scenario::parse(TEXT, "beside.toml").unwrap().sample(1);
        let found = run().measure(Metric::Latency, &world).unwrap();
        let expected = (0.1 * 200.0 + 0.2 * 143.0) / 1143.0 * 1e3;
        assert!((found - expected).abs() < 1e-6, "{found}");
        for metric in [Metric::Ttfb, Metric::Loss] {
            assert_eq!(run().measure(metric, &world), None);
        }
    }
}
