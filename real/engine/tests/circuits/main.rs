//! Thousands of circuits that come and go leave nothing behind.
//!
//! A binary of its own, for it counts what is allocated.

#[path = "../neighbour/far.rs"]
#[allow(dead_code, reason = "shared with the tests in `neighbour`")]
mod far;
#[path = "../neighbour/neighbour.rs"]
#[expect(dead_code, reason = "shared with the tests in `neighbour`")]
mod neighbour;
#[path = "../engine/network/mod.rs"]
#[expect(dead_code, reason = "shared with the tests in `engine`")]
mod network;
#[path = "../engine/support.rs"]
#[expect(dead_code, reason = "shared with the tests in `engine`")]
mod support;

use std::alloc::System;
use std::sync::Mutex;

use hopflow_units::{Bytes, Duration};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use neighbour::Neighbour;
use network::Network;
use support::{Random, pattern, transport};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// What is allocated is counted for the whole process, so only one test may run at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Circuits that are built at the same time.
const AT_A_TIME: usize = 50;
/// Circuits of a client that vanishes.
const EACH: usize = 20;

/// Bytes that are allocated at present.
fn allocated() -> i64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// Forgets what was noted of circuits and streams that are gone.
fn forget(network: &mut Network) {
    network.heard.clear();
    network.begun.clear();
    network.built.clear();
    network.closed.clear();
}

/// Builds `count` circuits at a time, uses every third, and closes them all.
fn build_and_close(network: &mut Network, count: usize) {
    let circuits: Vec<_> = (0..count)
        .map(|_| network.begin_circuit(0, network.path(&[1, 2, 3])))
        .collect();
    network.run_for(Duration::from_millis(800));
    for (turn, &circuit) in circuits.iter().enumerate() {
        assert!(network.built.contains(&(0, circuit)), "circuit {turn}");
        if turn % 3 == 0 {
            let stream = network.stream(circuit, "example.org:80");
            network.write(0, stream, pattern(600, 0), true);
        }
    }
    network.run_for(Duration::from_millis(100));
    for circuit in circuits {
        network.close_circuit(0, circuit);
    }
    // Links that served one circuit only are closed within a second.
    network.run_for(Duration::from_millis(1300));
    forget(network);
}

/// Circuits end and others begin in the same batch of datagrams: while half are closed, the others
/// carry their first cells.
#[test]
fn circuits_that_end_and_begin_at_once_are_told_apart() {
    for name in ["backtap", "vanilla"] {
        let _alone = ALONE.lock();
        let mut network = Network::new(&*transport(name), 3);
        network.in_batches = true;
        let mut old = Vec::new();
        for _ in 0..20 {
            let new: Vec<_> = (0..8)
                .map(|_| network.begin_circuit(0, network.path(&[1, 2, 3])))
                .collect();
            network.run_for(Duration::from_millis(800));
            let mut gone = old.drain(..);
            for new in &new {
                if let Some(old) = gone.next() {
                    network.close_circuit(0, old);
                }
                let stream = network.stream(*new, "example.org:80");
                network.write(0, stream, pattern(600, 0), true);
            }
            drop(gone);
            network.run_for(Duration::from_millis(300));
            old = new;
        }
        for circuit in old {
            network.close_circuit(0, circuit);
        }
        network.run_for(Duration::from_millis(2500));
        assert_empty(&network, 2);
    }
}

/// Nothing is left but a few links.
fn assert_empty(network: &Network, links: u64) {
    for node in 0..4 {
        if let Some(engine) = &network.engines[node] {
            let counters = engine.counters();
            assert_eq!(counters.circuits, 0, "node {node}: {counters:?}");
            assert!(counters.links <= links, "node {node}: {counters:?}");
        }
    }
}

/// Builds and closes `total` circuits and returns by how much memory grew in the second half.
fn growth(name: &str, total: usize) -> i64 {
    let _alone = ALONE.lock();
    let mut network = Network::new(&*transport(name), 3);
    let mut halfway = 0;
    for batch in 0..total / AT_A_TIME {
        build_and_close(&mut network, AT_A_TIME);
        assert_empty(&network, 2);
        if batch == total / AT_A_TIME / 2 {
            halfway = allocated();
        }
    }
    let handshakes = network.engine(0).counters().handshakes;
    assert_eq!(handshakes, 3 * total as u64);
    allocated() - halfway
}

/// Tables of names grow until a link's names come up again: 4,096 entries, at six ends of links.
const NAMES: i64 = 6 * 4096 * 32;

#[test]
fn circuits_on_connections_leave_nothing_behind() {
    for name in ["vanilla", "pctcp"] {
        let growth = growth(name, 600);
        println!("{name}: {growth} bytes more");
        assert!(growth < NAMES, "{name}: {growth} bytes more");
    }
}

#[test]
fn ten_thousand_circuits_leave_nothing_behind() {
    let growth = growth("backtap", 10_000);
    println!("{growth} bytes more");
    assert!(growth < 100_000, "{growth} bytes more");
}

/// Lets clients vanish, with `count` circuits together, at any moment of their set-up or use.
fn abandon(network: &mut Network, name: &str, count: usize) {
    let factory = transport(name);
    let mut random = Random::new(9);
    for turn in 0..count / EACH {
        let client = network.add_client(&*factory);
        let circuits: Vec<_> = (0..EACH)
            .map(|_| network.begin_circuit(client, network.path(&[1, 2, 3])))
            .collect();
        network.run_for(random.millis(400));
        for circuit in circuits {
            if network.built.contains(&(client, circuit)) && random.below(2) == 0 {
                let stream = network.stream_of(client, circuit, "example.org:80");
                network.write(client, stream, pattern(600, 0), false);
            }
        }
        // Some vanish when all that they sent has been answered.
        network.run_for(Duration::from_millis(if turn % 2 == 0 { 1000 } else { 30 }));
        network.kill(client);
        forget(network);
    }
}

#[test]
fn circuits_that_clients_abandon_on_connections_are_cleared_away() {
    let _alone = ALONE.lock();
    for name in ["vanilla", "pctcp"] {
        let mut network = Network::new(&*transport(name), 3);
        abandon(&mut network, name, 400);
        network.run_for(Duration::from_secs(1200));
        assert_empty(&network, 0);
    }
}

#[test]
fn thousands_of_circuits_that_clients_abandon_are_cleared_away() {
    let _alone = ALONE.lock();
    let mut network = Network::new(&*transport("backtap"), 3);
    let mut halfway = 0;
    for half in 0..2 {
        abandon(&mut network, "backtap", 1000);
        network.run_for(Duration::from_secs(1200));
        assert_empty(&network, 0);
        if half == 0 {
            halfway = allocated();
        }
    }
    let growth = allocated() - halfway;
    println!("{growth} bytes more");
    assert!(growth < NAMES, "{growth} bytes more");
}

#[test]
fn a_set_up_that_its_client_never_finishes_is_cleared_away() {
    let _alone = ALONE.lock();
    for name in ["backtap", "vanilla"] {
        for answers in 0..12 {
            let mut network = Network::new(&*transport(name), 3);
            for _ in 0..10 {
                network.begin_circuit(0, network.path(&[1, 2, 3]));
            }
            // From some moment on the client hears nothing more, and is heard no more.
            network.run_for(Duration::from_millis(20 * answers));
            network.tamper = Some(Box::new(|passing| {
                if passing.from == 0 || passing.to == 0 {
                    passing.bytes.clear();
                }
            }));
            network.run_for(Duration::from_secs(1200));
            assert_empty(&network, 2);
        }
    }
}

/// What a relay says that links and circuits take, without data.
fn counted(neighbour: &mut Neighbour) -> i64 {
    let now = neighbour.now;
    let held = neighbour.engine.keep_within(now, Bytes::new(u64::MAX));
    i64::try_from(held.get()).expect("it is little")
}

/// The relay's memory is measured with that of its neighbour, which keeps two kinds of keys and
/// nothing else of each circuit.
#[test]
fn what_circuits_take_without_data_is_counted_and_not_many_times_over() {
    const COUNT: u16 = 1000;
    for name in ["backtap", "vanilla", "tor-vegas", "n23"] {
        let _alone = ALONE.lock();
        let mut neighbour = Neighbour::of(name, hopflow_engine::Limits::default());
        let at_first = (allocated(), counted(&mut neighbour));
        for circuit in 1..=COUNT {
            neighbour.create(circuit);
        }
        let nascent = (allocated(), counted(&mut neighbour));
        for circuit in 1..=COUNT {
            neighbour.cell(circuit, &[1, 0, 1, 0, 3, b'a', b':', b'1'], 0);
        }
        neighbour.wait(Duration::from_secs(5));
        let open = (allocated(), counted(&mut neighbour));
        assert_eq!(neighbour.engine.counters().circuits, u64::from(COUNT));
        for (what, (taken, counted)) in [("nascent", nascent), ("open", open)] {
            let count = i64::from(COUNT);
            let (taken, counted) = ((taken - at_first.0) / count, (counted - at_first.1) / count);
            println!("{name}: a circuit that is {what} takes {taken} B, {counted} B are counted");
            assert!(taken <= counted, "{name}: {what}");
            assert!(counted <= 4 * taken, "{name}");
        }
    }
}
