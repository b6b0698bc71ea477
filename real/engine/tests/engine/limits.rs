//! Limits of a relay: who asks for too much loses, and nobody else.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use hopflow_engine::{CircuitKey, Counters, EngineConfig, Failure, Limits, Pace, Via};
use hopflow_units::{Bytes, Duration};
use hopflow_wire::Reason;

use crate::hostile::first_datagram;
use crate::network::{Network, bucket};
use crate::support::{pattern, real, transport};

/// The relay that is attacked.
const GUARD: usize = 1;

/// A network whose first relay has these limits, with the honest client 0 and an attacker.
struct Scene {
    name: &'static str,
    network: Network,
    attacker: usize,
}

impl Scene {
    fn new(name: &'static str, limits: Limits) -> Self {
        println!("{name}");
        let factory = transport(name);
        let mut network = Network::new(&*factory, 3);
        network.restart(GUARD, &*factory, |config| config.limits = limits);
        let attacker = network.add_client(&*factory);
        Self {
            name,
            network,
            attacker,
        }
    }

    /// The attacker begins circuits through the relay that it never uses.
    fn flood(&mut self, count: usize) {
        for _ in 0..count {
            let path = self.network.path(&[GUARD]);
            self.network.begin_circuit(self.attacker, path);
        }
        self.network.run_for(Duration::from_secs(1));
    }

    fn counters(&self) -> Counters {
        self.network.engine(GUARD).counters()
    }

    /// Whether a circuit of the honest client carries a request to the exit and the answer back.
    fn works(&mut self, client: usize, circuit: CircuitKey) {
        let network = &mut self.network;
        let (near, (exit, far)) = network.stream_pair(client, circuit);
        let answer = pattern(50_000, 7);
        network.write(exit, far, answer.clone(), true);
        network.run_for(Duration::from_secs(5));
        assert!(network.heard(client, near).bytes == answer, "{}", self.name);
    }

    /// A client that was not there before the attack builds a circuit within two seconds, and uses
    /// it.
    fn serves_a_newcomer(&mut self) {
        let client = self.network.add_client(&*transport(self.name));
        let before = self.network.now;
        let circuit = self.network.circuit_of(client, &[1, 2, 3]);
        let took = self.network.now.saturating_since(before);
        assert!(took <= Duration::from_secs(2), "{}: {took:?}", self.name);
        self.works(client, circuit);
    }
}

#[test]
fn who_begins_many_circuits_loses_its_own() {
    for name in real() {
        let limits = Limits {
            nascent: 40,
            ..Limits::default()
        };
        let mut scene = Scene::new(name, limits);
        let spare = scene.network.circuit(&[1, 2, 3]);
        scene.flood(300);
        let counters = scene.counters();
        assert!(counters.circuits <= 41, "{name}: {counters:?}");
        assert!(counters.circuits_evicted >= 259, "{name}: {counters:?}");
        scene.works(0, spare);
        scene.serves_a_newcomer();
    }
}

#[test]
fn who_uses_many_circuits_loses_its_own() {
    for name in ["backtap", "vanilla"] {
        let limits = Limits {
            circuits: 20,
            ..Limits::default()
        };
        let mut scene = Scene::new(name, limits);
        let honest = scene.network.circuit(&[1, 2, 3]);
        for _ in 0..30 {
            let circuit = scene.network.circuit_of(scene.attacker, &[1, 2]);
            scene.network.stream_pair(scene.attacker, circuit);
        }
        let counters = scene.counters();
        assert!(counters.circuits <= 20, "{name}: {counters:?}");
        scene.works(0, honest);
        scene.serves_a_newcomer();
    }
}

#[test]
fn a_network_begins_circuits_as_often_as_it_may() {
    let limits = Limits {
        creates: Pace {
            per_second: 10,
            burst: 20,
        },
        ..Limits::default()
    };
    for name in ["backtap", "vanilla"] {
        let mut scene = Scene::new(name, limits);
        scene.flood(100);
        let counters = scene.counters();
        assert!(counters.handshakes <= 30, "{name}: {counters:?}");
        assert!(counters.circuits_refused >= 70, "{name}: {counters:?}");
        scene.serves_a_newcomer();
        // After a pause the network may begin circuits again.
        scene.network.run_for(Duration::from_secs(2));
        let attacker = scene.attacker;
        scene.network.circuit_of(attacker, &[1, 2, 3]);
    }
}

#[test]
fn what_a_bucket_drops_and_a_relay_at_rest_refuses_is_no_flood() {
    for name in ["backtap", "vanilla"] {
        let mut scene = Scene::new(name, Limits::default());
        let factory = transport(name);
        let bucket = bucket(100, factory.plan().link.refill);
        let limited = |config: &mut EngineConfig| config.bucket = Some(bucket);
        scene.network.restart(GUARD, &*factory, limited);
        scene.flood(300);
        let counters = scene.counters();
        assert!(counters.setup_dropped > 100, "{name}: {counters:?}");
        assert_eq!(counters.circuits_refused, 0, "{name}");
        scene.network.engine_mut(GUARD).set_draining(true);
        scene.flood(10);
        let newcomer = scene.network.add_client(&*factory);
        let path = scene.network.path(&[GUARD]);
        scene.network.begin_circuit(newcomer, path);
        scene.network.run_for(Duration::from_secs(1));
        let counters = scene.counters();
        assert!(counters.refused_at_rest > 2, "{name}: {counters:?}");
        let refused = [counters.circuits_refused, counters.links_refused];
        assert_eq!(refused, [0, 0], "{name}: {counters:?}");
    }
}

#[test]
fn who_is_in_the_network_of_a_relay_takes_nothing_of_its_allowance() {
    let factory = transport("vanilla");
    let mut network = Network::new(&*factory, 3);
    let known = network.known(&[1, 2, 3]);
    network.restart(GUARD, &*factory, |config| {
        config.extend_to = Some(known.clone());
    });
    network.restart(2, &*factory, |config| {
        config.extend_to = Some(known);
        config.limits.creates = Pace {
            per_second: 1,
            burst: 20,
        };
    });
    let mut from = network.target(GUARD).0.ip();
    if let IpAddr::V4(guard) = &mut from {
        *guard = Ipv4Addr::from_bits(guard.to_bits() + 1);
    }
    let now = network.clock(2);
    let middle = network.engine_mut(2);
    let links = (0..100).filter_map(|_| middle.accept(now, from));
    assert_eq!(links.count(), 20);
    let circuit = network.circuit(&[1, 2, 3]);
    network.stream_pair(0, circuit);
    let begun: Vec<_> = network.engine(2).flows().map(|(key, _)| key).collect();
    let by: Vec<_> = begun
        .iter()
        .map(|key| network.engine(2).network_of(*key))
        .collect();
    let guard = hopflow_engine::Network::of_relay(network.target(GUARD).1);
    assert_eq!(by, [Some(guard)]);
}

#[test]
fn who_opens_many_links_gets_no_more() {
    // Each of its circuits has a connection of its own.
    let limits = Limits {
        links: 12,
        ..Limits::default()
    };
    let mut scene = Scene::new("pctcp", limits);
    let honest = scene.network.circuit(&[1, 2, 3]);
    scene.flood(50);
    let counters = scene.counters();
    assert!(counters.links_refused >= 38, "{counters:?}");
    scene.works(0, honest);
    scene.serves_a_newcomer();
    assert!(scene.counters().links_evicted > 0);
}

#[test]
fn where_the_system_has_no_room_who_has_most_links_loses_one() {
    let mut network = Network::new(&*transport("vanilla"), 1);
    let now = network.clock(GUARD);
    let guard = network.engine_mut(GUARD);
    let [many, one, new] = [1, 2, 3].map(|third| IpAddr::from([10, 9, third, 1]));
    assert_eq!(guard.accept_instead(now, new), None, "nobody goes for it");
    for from in [many, many, one] {
        assert!(guard.accept(now, from).is_some());
    }
    assert_eq!(guard.accept_instead(now, many), None);
    assert!(guard.accept_instead(now, new).is_some());
    let counters = guard.counters();
    assert_eq!((counters.links, counters.links_evicted), (3, 1));
}

#[test]
fn forged_openings_do_not_keep_out_who_has_an_address() {
    let limits = Limits {
        handshakes: 64,
        ..Limits::default()
    };
    let mut scene = Scene::new("backtap", limits);
    let opening = first_datagram();
    let client = scene.network.add_client(&*transport("backtap"));
    let path = scene.network.path(&[GUARD]);
    let circuit = scene.network.begin_circuit(client, path);
    // Two for each millisecond; a handshake takes forty of these.
    for turn in 0_u32..400 {
        for half in 0..2 {
            let [high, low, ..] = turn.to_le_bytes();
            let from = ([172, 16 + half, low, high], 4000).into();
            let to = (GUARD, Via::Listening(None));
            scene.network.inject(from, to, opening.clone());
        }
        scene.network.run_for(Duration::from_millis(1));
    }
    assert!(scene.network.built.contains(&(client, circuit)));
    let counters = scene.counters();
    assert_eq!((counters.links, counters.links_evicted), (1, 0));
}

#[test]
fn who_asks_for_many_links_loses_its_own() {
    // Each circuit has a connection of its own at every hop.
    let limits = Limits {
        opened: 12,
        ..Limits::default()
    };
    let mut scene = Scene::new("pctcp", limits);
    let honest = scene.network.circuit(&[1, 2, 3]);
    for _ in 0..50 {
        let path = scene.network.path(&[GUARD, 2]);
        scene.network.begin_circuit(scene.attacker, path);
    }
    scene.network.run_for(Duration::from_secs(1));
    let counters = scene.counters();
    assert!(counters.links_refused >= 30, "{counters:?}");
    scene.works(0, honest);
    scene.serves_a_newcomer();
    assert!(scene.counters().links_evicted > 0);
}

#[test]
fn a_network_opens_links_as_often_as_it_may() {
    let limits = Limits {
        creates: Pace {
            per_second: 10,
            burst: 20,
        },
        ..Limits::default()
    };
    let mut scene = Scene::new("pctcp", limits);
    scene.flood(100);
    let counters = scene.counters();
    assert!(counters.links <= 30, "{counters:?}");
    assert!(counters.links_refused >= 70, "{counters:?}");
    scene.serves_a_newcomer();
}

#[test]
fn circuits_without_data_are_counted_as_memory() {
    for name in ["backtap", "vanilla"] {
        let mut scene = Scene::new(name, Limits::default());
        let spare = scene.network.circuit(&[1, 2, 3]);
        scene.flood(400);
        let now = scene.network.clock(GUARD);
        let guard = scene.network.engine_mut(GUARD);
        let held = guard.keep_within(now, Bytes::new(u64::MAX));
        assert!(held >= Bytes::new(400 * 5120), "{name}: {held}");
        let held = guard.keep_within(now, Bytes::new(1 << 20));
        assert!(held <= Bytes::new(1 << 19), "{name}: {held}");
        assert!(guard.counters().out_of_memory > 200);
        scene.works(0, spare);
    }
}

#[test]
fn who_fills_memory_with_open_circuits_keeps_no_newcomer_out() {
    for name in ["backtap", "vanilla"] {
        let mut scene = Scene::new(name, Limits::default());
        for _ in 0..40 {
            let circuit = scene.network.circuit_of(scene.attacker, &[1, 2]);
            scene.network.stream_pair(scene.attacker, circuit);
        }
        let spare = scene.network.circuit(&[1, 2, 3]);
        let now = scene.network.clock(GUARD);
        let guard = scene.network.engine_mut(GUARD);
        let held = guard.keep_within(now, Bytes::new(u64::MAX));
        // Half is for links and circuits, of which some are too many.
        let limit = held.saturating_sub(Bytes::new(100_000)) * 2;
        guard.keep_within(now, limit);
        let gone = guard.counters().out_of_memory;
        assert!((5..20).contains(&gone), "{name}: {gone} are gone");
        scene.works(0, spare);
        scene.serves_a_newcomer();
    }
}

#[test]
fn a_circuit_that_carries_nothing_for_long_is_closed() {
    let limits = Limits {
        idle: Duration::from_secs(600),
        ..Limits::default()
    };
    for name in ["backtap", "vanilla"] {
        let mut scene = Scene::new(name, limits);
        let [idle, used] = [(); 2].map(|()| scene.network.circuit(&[1, 2, 3]));
        scene.network.stream_pair(0, idle);
        for _ in 0..3 {
            scene.works(0, used);
            scene.network.run_for(Duration::from_secs(250));
        }
        let closed = Some(Failure::Closed(Reason::Other));
        assert_eq!(scene.network.failure(0, idle), closed, "{name}");
        assert_eq!(scene.network.failure(0, used), None, "{name}");
        assert_eq!(scene.counters().circuits, 1, "{name}");
    }
}

#[test]
fn when_memory_runs_out_the_circuit_goes_that_has_stalled_longest() {
    // Transports that hold so much that links and circuits take less than half of the limit.
    for name in ["vanilla", "pctcp"] {
        let factory = transport(name);
        let bucket = bucket(300, factory.plan().link.refill);
        let mut network = Network::limited(&*factory, 3, &[Some(bucket)]);
        let attacker = network.add_client(&*factory);
        let stalled = network.circuit_of(attacker, &[1, 2, 3]);
        let (_, (exit, far)) = network.stream_pair(attacker, stalled);
        // More than what a connection takes before it is full.
        network.write(exit, far, pattern(100_000, 3), true);
        network.clogged.insert((GUARD, attacker));
        let honest = network.circuit(&[1, 2, 3]);
        let (near, (exit, far)) = network.stream_pair(0, honest);
        network.write(exit, far, pattern(2_000_000, 5), true);
        network.run_for(Duration::from_secs(4));
        let now = network.clock(GUARD);
        let guard = network.engine_mut(GUARD);
        let held = guard.keep_within(now, Bytes::new(u64::MAX));
        let before = guard.counters();
        guard.keep_within(now, held.saturating_sub(Bytes::new(1000)));
        let after = guard.counters();
        println!("{name}: {held} held");
        assert_eq!(after.out_of_memory, before.out_of_memory + 1, "{name}");
        network.run_for(Duration::from_secs(20));
        assert_eq!(network.failure(0, honest), None, "{name}");
        assert_eq!(network.heard(0, near).bytes.len(), 2_000_000, "{name}");
        assert_eq!(network.engine(GUARD).counters().circuits, 1, "{name}");
    }
}

#[test]
fn many_streams_of_a_circuit_share_what_it_may_hold() {
    let factory = transport("vanilla");
    let bucket = bucket(20, factory.plan().link.refill);
    let mut network = Network::limited(&*factory, 3, &[None, None, Some(bucket)]);
    let circuit = network.circuit(&[1, 2, 3]);
    let streams: Vec<_> = (0..120)
        .map(|_| network.stream_pair(0, circuit).1)
        .collect();
    for (exit, far) in streams {
        network.write(exit, far, pattern(200_000, 3), true);
    }
    network.run_for(Duration::from_secs(1));
    let now = network.clock(3);
    let held = network.engine_mut(3).keep_within(now, Bytes::new(u64::MAX));
    assert!(held <= Bytes::new(6 << 20), "{held}");
}

/// What moves a little beside what stalls.
#[derive(Clone, Copy, Debug)]
enum Moves {
    /// Another stream of the circuit.
    Beside,
    /// The other direction of the stream.
    Back,
}

/// A circuit of which nine streams or one stall at the exit, and something moves, goes before a young one.
fn looks_old(moves: Moves) {
    let factory = transport("vanilla");
    // What the exit sends waits there.
    let bucket = bucket(100, factory.plan().link.refill);
    let mut network = Network::limited(&*factory, 3, &[None, None, Some(bucket)]);
    let attacker = network.add_client(&*factory);
    let circuit = network.circuit_of(attacker, &[1, 2, 3]);
    let streams: Vec<_> = (0..10)
        .map(|_| network.stream_pair(attacker, circuit))
        .collect();
    let stalled = match moves {
        Moves::Beside => &streams[1..],
        Moves::Back => &streams[..1],
    };
    for (near, (exit, far)) in stalled {
        network.set_reading(attacker, *near, false);
        network.write(*exit, *far, pattern(1_000_000, 1), true);
    }
    network.run_for(Duration::from_secs(60));
    let honest = network.circuit(&[1, 2, 3]);
    let (_, (exit, far)) = network.stream_pair(0, honest);
    network.write(exit, far, pattern(2_000_000, 5), true);
    let (near, (_, far)) = streams[0];
    for _ in 0..50 {
        let (node, stream) = match moves {
            Moves::Beside => (exit, far),
            Moves::Back => (attacker, near),
        };
        network.write(node, stream, pattern(400, 1), false);
        network.run_for(Duration::from_millis(100));
    }
    let now = network.clock(exit);
    let engine = network.engine_mut(exit);
    let held = engine.keep_within(now, Bytes::new(u64::MAX));
    engine.keep_within(now, held.saturating_sub(Bytes::new(1000)));
    network.run_for(Duration::from_secs(2));
    assert_eq!(network.failure(0, honest), None, "{moves:?}");
    assert!(
        network.failure(attacker, circuit).is_some(),
        "{moves:?}: the circuit is gone"
    );
}

#[test]
fn a_circuit_that_moves_a_little_while_its_streams_stall_does_not_look_young() {
    looks_old(Moves::Beside);
    looks_old(Moves::Back);
}

/// What the first relay sends in a second, in kilobytes, while somebody begins 200 circuits along
/// `path` each second and somebody else downloads. Relay 4 is dead.
fn sent_during_a_flood(network: &mut Network, name: &str, path: &[usize]) -> u64 {
    let factory = transport(name);
    let attacker = network.add_client(&*factory);
    let honest = network.circuit(&[1, 2, 3]);
    let (_, (exit, far)) = network.stream_pair(0, honest);
    network.write(exit, far, pattern(5_000_000, 5), true);
    network.run_for(Duration::from_secs(1));
    let path = network.path(path);
    network.kill(4);
    let sent = Rc::new(Cell::new(0));
    let count = sent.clone();
    network.tamper = Some(Box::new(move |passing| {
        if passing.from == GUARD {
            count.set(count.get() + passing.bytes.len() as u64);
        }
    }));
    for _ in 0..50 {
        for _ in 0..20 {
            network.begin_circuit(attacker, path.clone());
        }
        network.run_for(Duration::from_millis(100));
    }
    sent.get() / 5000
}

#[test]
fn set_up_is_paid_from_the_bucket() {
    /// In kilobytes per second.
    const RATE: u64 = 200;
    let floods: [(&str, &[usize]); 3] = [
        ("backtap", &[GUARD]),
        ("vanilla", &[GUARD]),
        // What waits for the next relay's handshake is paid for as if it left.
        ("backtap", &[GUARD, 4]),
    ];
    for (name, path) in floods {
        let factory = transport(name);
        let bucket = bucket(RATE, factory.plan().link.refill);
        let mut network = Network::limited(&*factory, 4, &[Some(bucket)]);
        let per_second = sent_during_a_flood(&mut network, name, path);
        println!("{name}, {path:?}: {per_second} kB/s");
        // Records, feedback and the like are not paid for.
        assert!(
            (RATE * 9 / 10..RATE * 6 / 5).contains(&per_second),
            "{name}, {path:?}: {per_second}"
        );
        // In five seconds a quarter of what the rate brings in one, and what may leave at once.
        let handshakes = network.engine(GUARD).counters().handshakes;
        let most = (RATE / 4 + RATE / 10) * 1000 / hopflow_wire::Setup::LEN as u64;
        assert!(
            (most / 2..=most).contains(&handshakes),
            "{name}: {handshakes}"
        );
    }
}

/// A download by three relays, of which the first has a bucket of 200 kB/s, while attackers do something ten times a
/// second: what the download keeps of its rate, and how long somebody takes who comes meanwhile.
fn under_attack(name: &str, attackers: usize, attack: impl Fn(&mut Network, usize)) -> (f64, f64) {
    let factory = transport(name);
    let bucket = bucket(200, factory.plan().link.refill);
    let mut network = Network::limited(&*factory, 3, &[Some(bucket)]);
    let attackers: Vec<_> = (0..attackers)
        .map(|_| network.add_client(&*factory))
        .collect();
    let newcomer = network.add_client(&*factory);
    let honest = network.circuit(&[1, 2, 3]);
    let (near, (exit, far)) = network.stream_pair(0, honest);
    network.write(exit, far, pattern(5_000_000, 5), true);
    network.run_for(Duration::from_secs(2));
    let tenth = |network: &mut Network, attacks: bool| {
        for attacker in attackers.iter().filter(|_| attacks) {
            attack(network, *attacker);
        }
        network.run_for(Duration::from_millis(100));
    };
    let rate = |network: &mut Network, attacks: bool| {
        let before = network.heard(0, near).bytes.len();
        for _ in 0..30 {
            tenth(network, attacks);
        }
        (network.heard(0, near).bytes.len() - before) as f64
    };
    let alone = rate(&mut network, false);
    let kept = rate(&mut network, true) / alone;
    let circuit = network.begin_circuit(newcomer, network.path(&[1, 2, 3]));
    let waited = (1..200).find(|_| {
        tenth(&mut network, true);
        network.built.contains(&(newcomer, circuit))
    });
    (
        kept,
        waited.map_or(f64::INFINITY, |tenths| f64::from(tenths) / 10.0),
    )
}

#[test]
fn set_up_leaves_nine_tenths_of_the_bucket_to_cells_and_something_to_who_comes() {
    type Attack = fn(&mut Network, usize);
    let circuits: Attack = |network, attacker| {
        for _ in 0..20 {
            let path = network.path(&[GUARD]);
            network.begin_circuit(attacker, path);
        }
    };
    // Never more than are admitted, so that it stands out least.
    let few: Attack = |network, attacker| {
        for _ in 0..2 {
            let path = network.path(&[GUARD]);
            network.begin_circuit(attacker, path);
        }
    };
    // More is asked for circuits that are under way than for new ones.
    let refused: Attack = |network, attacker| {
        for _ in 0..5 {
            let path = network.path(&[GUARD, GUARD]);
            network.begin_circuit(attacker, path);
        }
    };
    let loops: Attack = |network, attacker| {
        let path = network.path(&[1, 2, 3, 1, 2, 3, 1, 2, 3]);
        network.begin_circuit(attacker, path);
    };
    for name in ["backtap", "vanilla"] {
        for (attackers, attack) in [
            (1, circuits),
            (1, few),
            (5, circuits),
            (5, few),
            (5, refused),
            (1, loops),
        ] {
            let (kept, waited) = under_attack(name, attackers, attack);
            println!("{name}: {kept:.2} kept, {waited} s");
            assert!(kept >= 0.9 && waited <= 2.0, "{name}: {kept}, {waited}");
        }
    }
}

/// While the relay is idle many clients ask it for circuits by another one that does not answer. That one answers when
/// somebody downloads.
#[test]
fn what_was_saved_up_for_a_handshake_does_not_stop_cells() {
    let factory = transport("backtap");
    let bucket = bucket(400, factory.plan().link.refill);
    let mut network = Network::limited(&*factory, 4, &[Some(bucket)]);
    let attackers: Vec<_> = (0..28).map(|_| network.add_client(&*factory)).collect();
    let honest = network.circuit(&[1, 2, 3]);
    let (near, (exit, far)) = network.stream_pair(0, honest);
    let path = network.path(&[GUARD, 4]);
    network.kill(4);
    // The link's first message is repeated after one, three and seven seconds, each wait up to a quarter more or less.
    for _ in 0..40 {
        for attacker in &attackers {
            network.begin_circuit(*attacker, path.clone());
        }
        network.run_for(Duration::from_millis(100));
    }
    network.restart(4, &*factory, |_| {});
    network.write(exit, far, pattern(10_000_000, 5), true);
    network.run_for(Duration::from_secs(1));
    let received = |network: &mut Network| {
        let before = network.heard(0, near).bytes.len();
        network.run_for(Duration::from_secs(5));
        (network.heard(0, near).bytes.len() - before) as f64
    };
    let asked = |network: &Network| network.engine(4).counters().handshakes;
    assert_eq!(asked(&network), 0, "the link opens later");
    let during = received(&mut network);
    let asked = asked(&network);
    assert!(asked >= 500, "what waited has left: {asked}");
    let kept = during / received(&mut network);
    println!("{kept:.2} kept");
    assert!(kept >= 0.9, "{kept}");
}

#[test]
fn a_path_does_not_lead_around_for_ever() {
    for name in ["backtap", "vanilla"] {
        let mut network = Network::new(&*transport(name), 3);
        network.circuit(&[1, 2, 3, 1, 2, 3, 1, 2]);
        let round = [1, 2, 3].repeat(5);
        let path = network.path(&round);
        let endless = network.begin_circuit(0, path);
        network.run_for(Duration::from_secs(60));
        assert!(network.failure(0, endless).is_some(), "{name}");
        for relay in 1..=3 {
            let circuits = network.engine(relay).counters().circuits;
            assert!(circuits <= 3, "{name}: {circuits} circuits");
        }
    }
}

#[test]
fn a_relay_does_not_extend_circuits_to_itself() {
    for name in ["backtap", "vanilla"] {
        let mut network = Network::new(&*transport(name), 2);
        let path = network.path(&[1, 2, 2]);
        let circuit = network.begin_circuit(0, path);
        network.run_for(Duration::from_secs(5));
        let failure = network.failure(0, circuit);
        assert_eq!(failure, Some(Failure::Hop { hop: 2 }), "{name}");
    }
}

/// What a driver asks for ten times a second, at a relay with many circuits: prints how long it takes.
#[test]
#[ignore = "it measures"]
fn accounts_of_many_circuits() {
    let limits = Limits {
        creates: Pace {
            per_second: 1_000_000,
            burst: 1_000_000,
        },
        ..Limits::default()
    };
    let mut scene = Scene::new("backtap", limits);
    let account = |what: &str, scene: &mut Scene| {
        let now = scene.network.clock(GUARD);
        let guard = scene.network.engine_mut(GUARD);
        #[expect(clippy::disallowed_methods, reason = "it measures")]
        let clock = std::time::Instant::now;
        let times = (0..20).map(|_| {
            let start = clock();
            guard.keep_within(now, Bytes::new(u64::MAX));
            let flows: Vec<_> = guard.flows().collect();
            let measured = guard.measured();
            drop((flows, measured));
            start.elapsed()
        });
        let times = times.min();
        let circuits = guard.counters().circuits;
        println!("{what}: {circuits} circuits, {times:?}");
    };
    // More at once would have no names.
    for _ in 0..16 {
        scene.flood(1000);
    }
    account("without data", &mut scene);
    for _ in 0..2000 {
        let path = scene.network.path(&[GUARD]);
        let circuit = scene.network.begin_circuit(scene.attacker, path);
        scene.network.run_for(Duration::from_millis(80));
        let attacker = scene.attacker;
        scene.network.stream_of(attacker, circuit, "a:1");
    }
    scene.network.run_for(Duration::from_secs(1));
    account("with data", &mut scene);
}
