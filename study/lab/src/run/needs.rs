//! What runs need of the machine, estimated before they begin.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use hopflow_random::Streams;
use hopflow_sim::spec::{CircuitSpec, Fetch, WorldSpec};
use hopflow_stats::{FairFlow, max_min};
use hopflow_units::{Bytes, Duration};
use hopflow_wire::CELL_DATA;

use super::fair::{Resource, resources};
use crate::scenario::Scenario;

/// What one run of a scenario needs, about: for networks like Tor's memory within a factor of two, time
/// within a factor of five (large networks wait for memory).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needs {
    /// Memory.
    pub memory: Bytes,
    /// Disk for its results.
    pub disk: Bytes,
    /// Time of one core.
    pub time: Duration,
}

/// Memory of a circuit with its client, and of one that is never idle: `scenarios/tor.toml` with
/// `tor-vegas`, and the benchmark `forwarding`.
const CIRCUIT: f64 = 45e3;
const BUSY_CIRCUIT: f64 = 120e3;
/// Memory of a relay, and of a sample.
const RELAY: f64 = 20e3;
const SAMPLE: f64 = 80.0;
/// Disk for the table of circuits and those of their nodes, and for a sample.
const CIRCUIT_ROWS: f64 = 120.0;
const SAMPLE_ROW: f64 = 6.0;
/// Cells that one core forwards in a second.
const CELLS_PER_SECOND: f64 = 1.5e6;
/// Circuits whose load is looked at, and what each user fetches: the rest is like these.
const LOOKED_AT: usize = 1000;
const FETCHES: usize = 1000;

impl Needs {
    /// Memory of the program itself, without a run.
    pub const PROGRAM: Bytes = Bytes::new(60_000_000);

    /// What a run of the scenario needs, by the network of its first seed; of variants, that which
    /// takes the most time.
    pub fn of(scenario: &Scenario) -> Self {
        let mut world = scenario.sample(scenario.seeds.list()[0]);
        let disk = CIRCUIT_ROWS * world.circuits.len() as f64 + SAMPLE_ROW * samples(&world);
        let memory = memory(scenario, &world);
        let cells = most_cell_hops(scenario, &mut world);
        Self {
            memory,
            disk: Bytes::new(disk as u64),
            time: Duration::from_nanos((cells / CELLS_PER_SECOND * 1e9) as u64),
        }
    }

    /// The memory of one world of the scenario's runs, by the network of its first seed: without the program, and
    /// without the world from which a variant parts.
    pub fn memory_of_world(scenario: &Scenario) -> Bytes {
        let world = scenario.sample(scenario.seeds.list()[0]);
        Bytes::new(of_world(scenario, &world) as u64)
    }

    /// The memory alone, which is known sooner.
    pub(super) fn memory_of(scenario: &Scenario) -> Bytes {
        let world = scenario.sample(scenario.seeds.list()[0]);
        memory(scenario, &world)
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, disk, time } = self;
        let (memory, disk) = (size(*memory), size(*disk));
        let secs = time.as_secs_f64();
        let time = match secs {
            0.0..120.0 => format!("{} s", two_digits(secs)),
            120.0..7200.0 => format!("{} min", two_digits(secs / 60.0)),
            _ => format!("{} h", two_digits(secs / 3600.0)),
        };
        write!(f, "{memory} of memory, {disk} of disk, {time} of one core")
    }
}

/// An amount of data with two digits.
pub(super) fn size(bytes: Bytes) -> String {
    let bytes = bytes.get() as f64;
    match bytes {
        0.0..1e6 => format!("{} kB", two_digits(bytes / 1e3)),
        1e6..1e9 => format!("{} MB", two_digits(bytes / 1e6)),
        _ => format!("{} GB", two_digits(bytes / 1e9)),
    }
}

fn two_digits(value: f64) -> String {
    if value < 10.0 {
        return format!("{value:.1}");
    }
    let mut digit = 1.0;
    while value / digit >= 100.0 {
        digit *= 10.0;
    }
    format!("{}", (value / digit).round() * digit)
}

/// Memory of a run of the scenario in this world. Those of variants hold the world from which they part
/// besides.
fn memory(scenario: &Scenario, world: &WorldSpec) -> Bytes {
    let worlds = if scenario.branch_at().is_some() {
        2.0
    } else {
        1.0
    };
    let of_worlds = worlds * of_world(scenario, world);
    Bytes::new(Needs::PROGRAM.get() + of_worlds as u64)
}

/// Bytes of memory of the world itself.
fn of_world(scenario: &Scenario, world: &WorldSpec) -> f64 {
    let open = world.circuits.iter().flat_map(CircuitSpec::all_paths);
    let greedy = world.circuits.iter().filter(|it| it.workload.is_greedy());
    let busy = greedy.flat_map(CircuitSpec::paths).count() as f64;
    RELAY * scenario.relay_count() as f64
        + CIRCUIT * (open.count() as f64 - busy)
        + BUSY_CIRCUIT * busy
        + SAMPLE * samples(world)
}

/// Samples that a run records, of circuits and of hops.
fn samples(world: &WorldSpec) -> f64 {
    let sampling = &world.sampling;
    let span = (world.end.as_nanos()).saturating_sub(sampling.from.as_nanos()) as f64;
    let per = |interval: Option<Duration>| {
        interval.map_or(0.0, |interval| 1.0 + span / interval.as_nanos() as f64)
    };
    let paths = world.circuits.iter().flat_map(CircuitSpec::paths);
    let hops: usize = paths.map(|path| path.len() - 1).sum();
    per(sampling.circuits) * world.circuits.len() as f64 + per(sampling.hops) * hops as f64
}

/// Cells that all nodes forward in a run: in that without a variant, or in that of the variant whose
/// users make it the most.
fn most_cell_hops(scenario: &Scenario, world: &mut WorldSpec) -> f64 {
    let mut most = cell_hops(world);
    for variant in 0..scenario.variants().len() {
        let starts = scenario.starts(variant, world.seed);
        if starts.is_empty() {
            continue;
        }
        for (number, start) in &starts {
            world.circuits[*number as usize].start = *start;
        }
        most = most.max(cell_hops(world));
        for (number, _) in starts {
            world.circuits[number as usize].start = Duration::MAX;
        }
    }
    most
}

/// Cells that all nodes forward in a run: each circuit carries what its user asks for at the rate that
/// its path allows, unless the circuits of a relay ask for more than it has, which is then shared in
/// the max-min fair way.
fn cell_hops(world: &WorldSpec) -> f64 {
    let step = world.circuits.len().div_ceil(LOOKED_AT).max(1);
    let circuits: Vec<_> = world.circuits.iter().enumerate().step_by(step).collect();
    let used: BTreeSet<_> = circuits
        .iter()
        .flat_map(|(_, circuit)| resources(circuit))
        .collect();
    let capacities: Vec<f64> = used.iter().map(|it| it.capacity(&world.nodes)).collect();
    let places: BTreeMap<Resource, usize> = used.into_iter().zip(0..).collect();
    let flow = |&(number, circuit): &(usize, &CircuitSpec)| {
        let links: Vec<usize> = resources(circuit).map(|it| places[&it]).collect();
        let full = links.iter().map(|link| capacities[*link]);
        let demand = demand(world, number, full.fold(f64::INFINITY, f64::min));
        FairFlow {
            links,
            demand: Some(demand),
        }
    };
    let flows: Vec<FairFlow> = circuits.iter().map(flow).collect();
    let mut others = vec![0_u32; capacities.len()];
    let all = world.circuits.iter().enumerate();
    for (_, circuit) in all.filter(|(number, _)| !number.is_multiple_of(step)) {
        for place in resources(circuit).filter_map(|it| places.get(&it)) {
            others[*place] += 1;
        }
    }
    let capacities = parts(&capacities, &flows, &others);
    let shares = max_min(&capacities, &flows).expect("rates and demands are finite");
    let cells = world.end.as_secs_f64() / CELL_DATA as f64;
    let carried = circuits.iter().zip(shares).map(|((_, circuit), share)| {
        let hops = circuit.path.len() - 1;
        share.rate * cells * hops as f64
    });
    carried.sum::<f64>() * step as f64
}

/// What `flows` have of the capacities where `others` are on each link besides: as large a part as
/// their demands are of all. The others ask for as much as flows do in the mean.
fn parts(capacities: &[f64], flows: &[FairFlow], others: &[u32]) -> Vec<f64> {
    let demands = || flows.iter().filter_map(|flow| flow.demand);
    let mean = demands().sum::<f64>() / flows.len() as f64;
    let mut wanted = vec![0.0; capacities.len()];
    for (flow, demand) in flows.iter().zip(demands()) {
        for link in &flow.links {
            wanted[*link] += demand;
        }
    }
    let part = |((capacity, wanted), others): ((&f64, f64), &u32)| {
        if wanted <= 0.0 {
            return *capacity;
        }
        let of_others = f64::from(*others) * mean.min(*capacity);
        capacity * (wanted / (wanted + of_others))
    };
    capacities
        .iter()
        .zip(wanted)
        .zip(others)
        .map(part)
        .collect()
}

/// The mean rate, in bytes per second of the whole run, of a user that gets `rate` while it transfers.
fn demand(world: &WorldSpec, number: usize, rate: f64) -> f64 {
    let circuit = &world.circuits[number];
    let mut session = circuit.workload.session();
    let mut random = Streams::new(world.seed).stream("user", number as u64);
    let end = world.end.as_secs_f64();
    let until = circuit
        .leave
        .map_or(end, |leave| leave.as_secs_f64().min(end));
    let start = circuit.start.as_secs_f64();
    let (mut now, mut bytes) = (start, 0.0);
    for _ in 0..FETCHES {
        if now >= until {
            return bytes / end;
        }
        let Some(fetch) = session.next(&mut random) else {
            return bytes / end;
        };
        let wanted = (fetch.request.get() + fetch.response.unwrap_or(Fetch::ENDLESS).get()) as f64;
        let got = wanted.min((until - now) * rate);
        bytes += got;
        let pause = fetch.pause + fetch.server_delay;
        now += got / rate + pause.as_secs_f64();
    }
    // It goes on as it began.
    bytes * ((until - start) / (now - start)).max(1.0) / end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_downloads_carry_what_their_bottleneck_can() {
        let (scenario, _) = Scenario::load("single-circuit").unwrap();
        let world = scenario.sample(1);
        let rate = resources(&world.circuits[0]).map(|it| it.capacity(&world.nodes));
        let rate = rate.fold(f64::INFINITY, f64::min);
        let hops = (world.circuits[0].path.len() - 1) as f64;
        let seconds = world.end.as_secs_f64() - world.circuits[0].start.as_secs_f64();
        let expected = rate * seconds / CELL_DATA as f64 * hops;
        let found = cell_hops(&world);
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    }

    /// One user behind a relay that stops now and then, or not.
    fn small(faults: &str, workload: &str) -> Scenario {
        let text = format!(
            "name = \"small\"\nduration = \"1000 s\"\nseeds = 1\n[transports.vanilla]\n\
             [network]\nbucket = {{ rate = \"1 MB/s\" }}\n\
             [[network.relays]]\nname = \"relay\"\ncount = 9\n\
             [[circuits]]\npath = {{ random = 3 }}\nworkload = {workload}\n{faults}"
        );
        Scenario::parse(&text, "small.toml").unwrap()
    }

    #[test]
    fn circuits_after_faults_take_memory() {
        let memory = |faults| Needs::of(&small(faults, "\"bulk\"")).memory.get() as f64;
        let stops = "[[faults]]\nwhat = \"stop\"\nmttf = \"30 s\"\nmttr = \"3 s\"\n";
        // A relay of three stops every eleven seconds.
        let more = (memory(stops) - memory("")) / CIRCUIT;
        assert!((50.0..120.0).contains(&more), "{more}");
    }

    #[test]
    fn users_of_variants_take_time_as_others_do() {
        let time = |scenario: &Scenario| Needs::of(scenario).time.as_secs_f64();
        let group = |count: u32| {
            format!("{{ count = {count}, path = {{ random = 3 }}, workload = \"bulk\" }}")
        };
        let variant =
            |name: &str, groups: &str| format!("{{ name = \"{name}\", circuits = [{groups}] }}");
        let variants = [
            variant("few", &group(2)),
            variant("many", &group(20)),
            variant("none", ""),
        ];
        let variants = format!("[branch]\nvariants = [{}]\n", variants.join(", "));
        let own = "[[circuits]]\npath = { random = 3 }\nworkload = \"bulk\"\ncount = 20\n";
        let (with, like) = (small(&variants, "\"web\""), small(own, "\"web\""));
        assert_eq!((with.circuit_count(), like.circuit_count()), (23, 21));
        let ratio = time(&with) / time(&like);
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
        assert!(time(&with) > 3.0 * time(&small("", "\"web\"")));
        let late = variants.replace("[branch]\n", "[branch]\nat = \"950 s\"\n");
        assert!(time(&small(&late, "\"web\"")) < 0.5 * time(&with));
    }

    #[test]
    fn users_with_many_small_fetches_are_like_their_first_ones() {
        let user = |response: &str| {
            let class = "class = \"bulk\", server-delay = \"0 s\"";
            let scenario = small("", &format!("{{ {class}, response = \"{response}\" }}"));
            demand(&scenario.sample(1), 0, 1e6)
        };
        // Bulk users have no pauses: they ask for all that they can get.
        for response in ["1 B", "5 MiB"] {
            let found = user(response);
            assert!((found / 1e6 - 1.0).abs() < 0.01, "{response}: {found}");
        }
        let mut world = small("", "\"bulk\"").sample(1);
        let stays = demand(&world, 0, 1e6);
        world.circuits[0].leave = Some(Duration::from_secs(250));
        let share = demand(&world, 0, 1e6) / stays;
        assert!((0.2..0.3).contains(&share), "{share}");
    }

    #[test]
    fn time_grows_with_the_network_where_most_relays_are_in_no_circuit_that_is_looked_at() {
        let time = |scale: &str| {
            let text = format!(
                "scale = {scale}\nname = \"large\"\nduration = \"100 s\"\nseeds = 1\n\
                 [transports.vanilla]\n\
                 [network]\nsource = {{ population = {{ relays = 30000 }} }}\n\
                 [[circuits]]\ncount = 30000\npath = {{ tor = 3 }}\n\
                 workload = {{ class = \"bulk\", response = \"1 MiB\", think = [\"1 s\", \"2 s\"] }}\n"
            );
            let scenario = Scenario::parse(&text, "large.toml").unwrap();
            Needs::of(&scenario).time.as_secs_f64()
        };
        let ratio = time("1.0") / time("0.01");
        assert!((75.0..130.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn needs_grow_with_the_network_and_are_shown_with_two_digits() {
        let needs = |scale: &str| {
            let text = include_str!("../../../../scenarios/tor.toml");
            let text = text.replace("scale = 0.01", scale);
            Needs::of(&Scenario::parse(&text, "tor.toml").unwrap())
        };
        let (small, large) = (needs("scale = 0.01"), needs("scale = 0.05"));
        assert!(large.memory > small.memory);
        let ratio = large.time.as_secs_f64() / small.time.as_secs_f64();
        assert!((3.0..7.0).contains(&ratio), "{ratio}");
        let shown = Needs {
            memory: Bytes::new(7_123_000_000),
            disk: Bytes::new(19_700_000),
            time: Duration::from_secs(330),
        };
        let expected = "7.1 GB of memory, 20 MB of disk, 5.5 min of one core";
        assert_eq!(shown.to_string(), expected);
    }
}
