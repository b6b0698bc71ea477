//! How fast the simulator forwards cells: a star of 50 relays and 100 bulk circuits, one core.
//!
//! `cargo bench -p hopflow-sim --bench forwarding [-- TRANSPORT [RUNS]]` prints, for each transport,
//! cells forwarded per second and hop, events per second, and memory per circuit: medians over
//! several runs of the same simulation, with the fastest and slowest.

mod common;

use std::alloc::System;
use std::ops::ControlFlow;
use std::sync::Arc;

use hopflow_overlay::Factory;
use hopflow_random::Streams;
use hopflow_sim::spec::{
    AccessSpec, Backbone, BucketSpec, CircuitSpec, Class, NodeSpec, QueueSpec, Sampling, Workload,
    WorldSpec,
};
use hopflow_sim::{Counters, Simulated, World};
use hopflow_units::{Bytes, Duration, NodeId, Rate};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use common::{Order, Timings};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RELAYS: u32 = 50;
const CIRCUITS: u32 = 100;
const RUNS: usize = 7;
const SIMULATED: Duration = Duration::from_secs(20);

fn access(delay: Duration) -> AccessSpec {
    AccessSpec::new(
        Rate::from_megabits_per_sec(10_000),
        delay,
        QueueSpec::DropTail { packets: 1000 },
    )
}

/// Relays of 1 to 6 MB/s, a client and three distinct relays per circuit, 5 to 25 ms to the hub.
fn star(circuits: u32) -> WorldSpec {
    let mut random = Streams::new(1).stream("bench", 0);
    let nodes = (0..RELAYS + circuits).map(|index| NodeSpec {
        name: format!("node {index}"),
        access: access(random.uniform(Duration::from_millis(5), Duration::from_millis(25))),
        bucket: (index < RELAYS).then(|| BucketSpec {
            rate: Rate::from_kilobytes_per_sec(random.integer(1000, 6000)),
            depth: None,
            interval: None,
            reading: false,
        }),
    });
    let nodes = nodes.collect();
    let circuits = (0..circuits).map(|index| {
        let mut path = vec![NodeId::new(RELAYS + index)];
        while path.len() < 4 {
            let relay = NodeId::new(random.integer(0, u64::from(RELAYS) - 1) as u32);
            if !path.contains(&relay) {
                path.push(relay);
            }
        }
        CircuitSpec {
            path,
            legs: Vec::new(),
            class: Class::Bulk,
            workload: Arc::new(Workload {
                response: Some(Bytes::new(5 << 20)),
                think: (Duration::ZERO, Duration::ZERO),
                server_delay: Duration::from_millis(20),
                server_delay_max: Duration::from_millis(200),
            }),
            start: random.uniform(Duration::ZERO, Duration::from_secs(1)),
            leave: None,
            rebuilt: Vec::new(),
        }
    });
    WorldSpec {
        circuits: circuits.collect(),
        backbone: Backbone::default(),
        cross: Vec::new(),
        faults: Vec::new(),
        nodes,
        end: SIMULATED,
        seed: 1,
        sampling: Sampling::default(),
        tcp: hopflow_tcp::Config::default(),
        tls: false,
    }
}

/// Bytes that a world holds at the end of its simulation.
fn memory(circuits: u32, factory: &dyn Factory<Simulated>) -> usize {
    let spec = star(circuits);
    let region = Region::new(ALLOCATOR);
    let mut world = World::new(&spec, factory).expect("the star is valid");
    world.run(&mut |_| ControlFlow::Continue(()));
    let change = region.change();
    drop(world);
    // A reallocation counts as allocated or deallocated by its difference.
    change
        .bytes_allocated
        .saturating_sub(change.bytes_deallocated)
}

fn main() {
    let Order { transports, runs } = Order::read(RUNS);
    println!("{RELAYS} relays, {CIRCUITS} bulk circuits, {SIMULATED} simulated, {runs} runs\n");
    println!("transport  million cell-hops/s      million events/s  cell-hops    kB per circuit");
    for (preset, factory) in transports {
        let spec = star(CIRCUITS);
        Timings::of(1, &spec, &*factory);
        let timings = Timings::of(runs, &spec, &*factory);
        let Counters { cell_hops, events } = timings.counters;
        let many = memory(CIRCUITS, &*factory);
        let none = memory(0, &*factory);
        println!(
            "{preset:<10} {}      {:5.2}             {cell_hops:<12} {:.1}",
            timings.millions_per_second(cell_hops),
            timings.millions_per_second(events).median,
            many.saturating_sub(none) as f64 / 1e3 / f64::from(CIRCUITS),
        );
    }
}
