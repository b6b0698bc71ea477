//! One simulation on several threads has the results of one thread, bit for bit, and so have a run
//! with a break and its clone, for random combinations of transports, features of the network,
//! recorders and partitions.
//!
//! `HOPFLOW_COMBINATIONS=1000` tries more of them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hopflow_lab::scenario::Scenario;
use hopflow_random::{Stream, Streams};
use hopflow_sim::spec::{
    BackboneLink, BucketSpec, CrossSpec, Fault, FaultKind, Fetch, QueueSpec, Rebuilt, Sampling,
    Session, TcpAlgorithm, TrafficModel, WorldSpec,
};
use hopflow_sim::trace::{NodeCapture, NodeTrace};
use hopflow_sim::{Deployment, Outcome, World};
use hopflow_units::{Duration, NodeId, Rate};

const NETWORK: &str = r#"
name = "threads"
duration = "2 s"
seeds = 1
[transports]
vanilla = {}
kist = { preset = "vanilla", options = { scheduler = "kist" } }
tor-vegas = {}
pctcp = {}
n23 = {}
backtap = {}
marut = {}
predictor = {}
udp-or = {}
outside = { preset = "predictor", options = { feedback = "out-of-band", hop-delay = "30 ms" } }
outside-soon = { preset = "predictor", options = { feedback = "out-of-band", hop-delay = "4 ms" } }
outside-now = { preset = "predictor", options = { feedback = "out-of-band", hop-delay = "2 ms" } }
[network]
topology = { dumbbell = {} }
source = { population = { relays = 15 } }
[[circuits]]
count = 5
path = { tor = 3 }
workload = "bulk"
start = { uniform = ["0 s", "500 ms"] }
[[circuits]]
count = 10
path = { tor = 3 }
workload = "web"
start = { uniform = ["0 s", "1 s"] }
"#;

/// A change of a network, with its name.
type Feature = (&'static str, fn(&mut WorldSpec));

/// What can be changed about a network, each on its own.
const FEATURES: &[Feature] = &[
    ("codel", |spec| {
        for node in &mut spec.nodes {
            node.access.queue = QueueSpec::CoDel {
                target: Duration::from_millis(5),
                interval: Duration::from_millis(100),
                packets: 1000,
            };
        }
    }),
    ("small queues", |spec| {
        for node in &mut spec.nodes {
            node.access.queue = QueueSpec::DropTail { packets: 20 };
        }
    }),
    ("slow links", |spec| {
        for node in &mut spec.nodes {
            node.access.rate = Rate::from_megabits_per_sec(10);
        }
    }),
    ("jitter", |spec| {
        for node in &mut spec.nodes {
            node.access.jitter = Duration::from_millis(4);
        }
    }),
    ("reordering", |spec| {
        for node in &mut spec.nodes {
            node.access.jitter = Duration::from_millis(4);
            node.access.reorder = true;
        }
    }),
    ("loss", |spec| {
        for node in &mut spec.nodes {
            node.access.loss = 0.005;
        }
    }),
    ("copies", |spec| {
        for node in &mut spec.nodes {
            node.access.duplicate = 0.2;
        }
    }),
    ("round times", |spec| {
        for node in &mut spec.nodes {
            node.access.delay = Duration::from_millis(3);
            node.access.rate = Rate::from_kilobytes_per_sec(1000);
        }
        for link in &mut spec.backbone.links {
            link.delay = Duration::from_millis(20);
        }
        for (circuit, tenth) in spec.circuits.iter_mut().zip((0..10).cycle()) {
            circuit.start = Duration::from_millis(100 * tenth);
        }
    }),
    ("no delay", |spec| {
        for node in &mut spec.nodes {
            node.access.delay = Duration::ZERO;
        }
    }),
    ("buckets for reading", |spec| {
        for node in spec.nodes.iter_mut().filter(|node| node.bucket.is_some()) {
            node.bucket = Some(BucketSpec {
                rate: Rate::from_megabits_per_sec(8),
                depth: None,
                interval: None,
                reading: true,
            });
        }
    }),
    ("cross traffic", |spec| {
        let nodes = spec.nodes.len() as u32;
        spec.cross.extend((0..5).map(|flow| CrossSpec {
            from: NodeId::new(flow * 7 % nodes),
            to: NodeId::new((flow * 7 + 3) % nodes),
            start: Duration::from_millis(100 * u64::from(flow)),
            algorithm: (flow % 2 == 1).then_some(TcpAlgorithm::Bbr),
        }));
    }),
    ("BBR", |spec| spec.tcp.algorithm = TcpAlgorithm::Bbr),
    ("slow backbone", |spec| {
        for link in &mut spec.backbone.links {
            link.rate = Some(Rate::from_megabits_per_sec(20));
        }
    }),
    ("three routers", |spec| {
        let link = spec.backbone.links[0];
        let between = [([0, 1], 7, None), ([1, 2], 7, Some(20)), ([0, 2], 40, None)];
        let links = between.map(|(between, millis, megabits)| BackboneLink {
            between,
            delay: Duration::from_millis(millis),
            rate: megabits.map(Rate::from_megabits_per_sec),
            ..link
        });
        spec.backbone.links = links.to_vec();
        let nodes = 0..spec.nodes.len() as u32;
        spec.backbone.router_of = nodes.map(|node| node % 3).collect();
    }),
    ("faults", |spec| {
        let kinds = [
            FaultKind::Stop {
                detected: Duration::from_millis(60),
            },
            FaultKind::Outage,
            FaultKind::Delay(Duration::from_millis(1)),
            FaultKind::Rate(Rate::from_megabits_per_sec(2)),
            FaultKind::Bucket(Rate::from_megabits_per_sec(1)),
            FaultKind::Delay(Duration::from_millis(90)),
            FaultKind::Outage,
            FaultKind::Bucket(Rate::from_megabits_per_sec(100)),
        ];
        for (node, kind) in (0..spec.nodes.len() as u32 * 2).zip(kinds.into_iter().cycle()) {
            let from = Duration::from_millis(u64::from(node) * 331 % 1900);
            spec.faults.push(Fault {
                node: NodeId::new(node / 2),
                from,
                until: (node % 5 > 0).then(|| from + Duration::from_millis(150)),
                kind,
            });
        }
    }),
    ("rebuilt circuits", |spec| {
        let paths: Vec<_> = spec
            .circuits
            .iter()
            .map(|circuit| circuit.path.clone())
            .collect();
        for (number, circuit) in spec.circuits.iter_mut().enumerate() {
            let again = |turn: usize| {
                let mut path = paths[(number + turn) % paths.len()].clone();
                path[0] = circuit.path[0];
                Rebuilt {
                    path,
                    legs: Vec::new(),
                    after: Duration::from_millis(40 * turn as u64),
                    from: Duration::from_millis(300 * turn as u64 + number as u64),
                }
            };
            circuit.rebuilt = (1..4).map(again).collect();
        }
        for node in (0..spec.nodes.len() as u32).step_by(2) {
            let from = Duration::from_millis(150 + u64::from(node) * 231 % 1700);
            spec.faults.push(Fault {
                node: NodeId::new(node),
                from,
                until: Some(from + Duration::from_millis(100)),
                kind: FaultKind::Stop {
                    detected: Duration::from_millis(50),
                },
            });
        }
    }),
    ("TLS records", |spec| spec.tls = true),
    ("users that leave", |spec| {
        for (circuit, tenth) in spec.circuits.iter_mut().zip(1..) {
            circuit.leave = Some(circuit.start + Duration::from_millis(100 * tenth));
        }
    }),
    ("several legs", |spec| {
        let paths: Vec<_> = spec
            .circuits
            .iter()
            .map(|circuit| circuit.path.clone())
            .collect();
        for (circuit, other) in spec.circuits.iter_mut().zip(paths.iter().cycle().skip(1)) {
            let mut leg = circuit.path.clone();
            // Another middle relay, unless it is on the path already.
            if !leg.contains(&other[2]) {
                leg[2] = other[2];
                circuit.legs = vec![leg];
            }
        }
    }),
];

/// What is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Recorders {
    None,
    /// All but what holds cells back, with which lanes run window by window.
    Most,
    All,
}

/// A random network, and what is recorded there.
#[derive(Clone, Debug)]
struct Combination {
    seed: u64,
    transport: String,
    features: Vec<&'static str>,
    /// Whether a third of the circuits have BackTap.
    rollout: bool,
    records: Recorders,
    /// Whether some circuits are traced, and the packets of some taken down.
    traces: bool,
}

impl Combination {
    fn draw(random: &mut Stream, scenario: &Scenario) -> Self {
        let labels: Vec<_> = scenario.transports.labels().collect();
        let transport = labels[random.integer(0, labels.len() as u64 - 1) as usize];
        let chosen = FEATURES.iter().filter(|_| random.bernoulli(0.3));
        Self {
            features: chosen.map(|(name, _)| *name).collect(),
            transport: transport.to_owned(),
            seed: random.integer(1, 1000),
            rollout: random.bernoulli(0.2),
            records: match random.integer(0, 3) {
                0 | 1 => Recorders::None,
                2 => Recorders::Most,
                _ => Recorders::All,
            },
            traces: random.bernoulli(0.5),
        }
    }

    fn world(&self, scenario: &Scenario) -> World {
        let mut spec = scenario.sample(self.seed);
        let wanted = |name: &str| self.features.contains(&name);
        for (_, change) in FEATURES.iter().filter(|(name, _)| wanted(name)) {
            change(&mut spec);
        }
        let every = (self.records != Recorders::None).then(|| Duration::from_millis(50));
        spec.sampling = Sampling {
            circuits: every,
            hops: every,
            from: Duration::from_millis(200),
        };
        let transport = |label| scenario.transport(label).expect("it can be built");
        let (first, second) = (transport(&self.transport), transport("backtap"));
        let mut world = if self.rollout {
            let both = [&*first, &*second];
            World::mixed(
                &spec,
                &Deployment::mixed(both, &spec, |circuit| circuit % 3 == 0),
            )
        } else {
            World::new(&spec, &*first)
        }
        .unwrap_or_else(|error| panic!("{self:?}: {error}"));
        if let Some(every) = every {
            world.record_latency();
            world.record_queues(every);
            world.record_traces(every);
        }
        if self.records == Recorders::All {
            world.record_breakdown();
        }
        if self.traces {
            world.trace_circuits(&[0, 5]);
            world.capture_packets(&[2]);
        }
        world
    }

    /// Everything that a run records, on so many threads.
    fn run(&self, scenario: &Scenario, threads: usize) -> Outcome {
        finish(self.world(scenario), threads)
    }

    /// Everything that a run records that is looked at every `step`.
    fn watched(&self, scenario: &Scenario, step: Duration) -> Outcome {
        let mut world = self.world(scenario);
        world.watch();
        let mut time = Duration::ZERO;
        while time < scenario.duration.0 {
            time += step;
            assert!(world.run_until(time, &mut |_| ControlFlow::Continue(())));
            assert_eq!(world.view().now, time.min(scenario.duration.0));
        }
        // What is over stays so.
        assert!(world.run_until(Duration::ZERO, &mut |_| ControlFlow::Continue(())));
        assert_eq!(world.view().now, scenario.duration.0);
        finish(world, 1)
    }

    /// Everything that is recorded by a run with a break, and by its clone.
    fn branch(&self, scenario: &Scenario, at: Duration, threads: [usize; 3]) -> [Outcome; 2] {
        let mut world = self.world(scenario);
        world.split(threads[0]);
        assert!(world.run_until(at, &mut |_| ControlFlow::Continue(())));
        let branch = world.clone();
        [finish(world, threads[1]), finish(branch, threads[2])]
    }
}

/// Everything that a run records, on so many threads from now on.
fn finish(mut world: World, threads: usize) -> Outcome {
    world.split(threads);
    assert!(world.run(&mut |_| ControlFlow::Continue(())));
    world.into_outcome()
}

/// The parts of each download are its time to the last byte, to the nanosecond.
fn assert_adds_up(outcome: &Outcome, combination: &Combination) {
    let mut sums = BTreeMap::new();
    for part in &outcome.breakdown {
        assert!(!part.time.is_zero(), "{part:?}: {combination:?}");
        let sum = sums
            .entry((part.circuit, part.index))
            .or_insert(Duration::ZERO);
        *sum += part.time;
    }
    for download in &outcome.downloads {
        let sum = sums.remove(&(download.circuit, download.index));
        assert_eq!(sum, Some(download.ttlb), "{download:?}: {combination:?}");
    }
    assert!(sums.is_empty(), "{sums:?} of no download: {combination:?}");
}

/// What a run recorded, to be compared: all but the traces as text, which tells NaN from NaN.
#[derive(PartialEq)]
struct Recorded {
    text: String,
    traces: Vec<NodeTrace>,
    captures: Vec<NodeCapture>,
}

impl Recorded {
    fn of(mut outcome: Outcome) -> Self {
        Self {
            traces: std::mem::take(&mut outcome.node_traces),
            captures: std::mem::take(&mut outcome.captures),
            text: format!("{outcome:?}"),
        }
    }
}

#[test]
fn any_network_has_the_same_results_on_any_number_of_threads() {
    let scenario = Scenario::parse(NETWORK, "threads.toml").expect("it makes sense");
    let wanted = std::env::var("HOPFLOW_COMBINATIONS").ok();
    let wanted = wanted.map_or(40, |text| text.parse().expect("a number of combinations"));
    let mut random = Streams::new(7).stream("combinations", 0);
    for _ in 0..wanted {
        let combination = Combination::draw(&mut random, &scenario);
        let alone = combination.run(&scenario, 1);
        if combination.records == Recorders::All {
            assert_adds_up(&alone, &combination);
        }
        let alone = Recorded::of(alone);
        assert_eq!(alone.traces.is_empty(), !combination.traces);
        if combination.traces {
            let without = Combination {
                traces: false,
                ..combination.clone()
            };
            let without = Recorded::of(without.run(&scenario, 1));
            let same = alone.text == without.text;
            assert!(same, "traces change the results: {combination:?}");
        }
        let threads = random.integer(2, 8) as usize;
        let split = Recorded::of(combination.run(&scenario, threads));
        assert!(alone == split, "{threads} threads: {combination:?}");
        let step = random.uniform(Duration::from_millis(1), Duration::from_millis(50));
        let watched = Recorded::of(combination.watched(&scenario, step));
        assert!(alone == watched, "in steps of {step}: {combination:?}");
        let at = random.uniform(Duration::ZERO, Duration::from_millis(2500));
        let threads = [(); 3].map(|()| random.integer(1, 4) as usize);
        for outcome in combination.branch(&scenario, at, threads) {
            let goes_on = alone == Recorded::of(outcome);
            assert!(
                goes_on,
                "a break at {at}, {threads:?} threads: {combination:?}"
            );
        }
    }
}

#[test]
fn parts_of_downloads_add_up_where_cells_share_records() {
    let scenario = Scenario::parse(NETWORK, "threads.toml").expect("it makes sense");
    for transport in ["vanilla", "tor-vegas", "pctcp"] {
        let combination = Combination {
            seed: 1,
            transport: transport.to_owned(),
            features: vec!["TLS records"],
            rollout: false,
            records: Recorders::All,
            traces: false,
        };
        let outcome = combination.run(&scenario, 1);
        assert!(!outcome.downloads.is_empty());
        assert_adds_up(&outcome, &combination);
    }
}

/// A user that breaks the program with its first request.
#[derive(Clone, Copy, Debug)]
struct Broken;

impl TrafficModel for Broken {
    fn session(&self) -> Box<dyn Session> {
        Box::new(*self)
    }

    fn is_greedy(&self) -> bool {
        false
    }
}

impl Session for Broken {
    fn next(&mut self, _: &mut Stream) -> Option<Fetch> {
        panic!("a broken user")
    }
}

#[test]
fn a_panic_on_any_thread_ends_the_run() {
    let scenario = Scenario::parse(NETWORK, "threads.toml").expect("it makes sense");
    let factory = scenario.transport("vanilla").expect("it can be built");
    for circuit in [0, 3, 6, 9, 12] {
        let mut spec = scenario.sample(1);
        spec.circuits[circuit].workload = Arc::new(Broken);
        let run = || {
            let mut world = World::new(&spec, &*factory).expect("it makes sense");
            world.split(4);
            world.run(&mut |_| ControlFlow::Continue(()))
        };
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("a user is broken");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a broken user"));
    }
}

#[test]
fn an_observer_stops_all_threads() {
    let scenario = Scenario::parse(NETWORK, "threads.toml").expect("it makes sense");
    let factory = scenario.transport("backtap").expect("it can be built");
    let mut spec = scenario.sample(1);
    // Long enough for the observer to be called.
    spec.end = Duration::from_secs(60);
    let mut world = World::new(&spec, &*factory).expect("it makes sense");
    world.split(3);
    let mut seen = 0;
    let finished = world.run(&mut |_| {
        seen += 1;
        ControlFlow::Break(())
    });
    assert!(!finished);
    assert_eq!(seen, 1, "nothing is observed after the stop");
}
