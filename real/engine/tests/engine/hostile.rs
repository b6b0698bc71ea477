//! Garbage, forgeries and replays from outside change nothing for those who use a link.

use std::cell::RefCell;
use std::rc::Rc;

use hopflow_engine::{CircuitKey, StreamHandle, Via};
use hopflow_units::{Duration, Instant};

use crate::network::traffic::Passing;
use crate::network::{Network, address, bucket};
use crate::support::{Random, pattern, transport};

const SIZE: usize = 600_000;

/// A download and an upload of the same circuit, under way.
pub(crate) struct Transfers {
    pub(crate) circuit: CircuitKey,
    near: StreamHandle,
    exit: usize,
    far: StreamHandle,
}

impl Transfers {
    pub(crate) fn start(network: &mut Network, relays: &[usize]) -> Self {
        let circuit = network.circuit(relays);
        Self::on(network, circuit)
    }

    /// Transfers on a circuit that is there.
    pub(crate) fn on(network: &mut Network, circuit: CircuitKey) -> Self {
        let (near, (exit, far)) = network.stream_pair(0, circuit);
        network.write(0, near, pattern(SIZE, 1), true);
        network.write(exit, far, pattern(SIZE, 2), true);
        Self {
            circuit,
            near,
            exit,
            far,
        }
    }

    pub(crate) fn are_over(&self, network: &Network) -> bool {
        let ends = [(0, self.near), (self.exit, self.far)];
        ends.iter()
            .all(|&(node, stream)| network.heard(node, stream).finished)
    }

    pub(crate) fn check(&self, network: &Network) {
        assert_eq!(network.failure(0, self.circuit), None);
        assert!(self.are_over(network), "the transfers end");
        assert!(network.heard(0, self.near).bytes == pattern(SIZE, 2));
        assert!(network.heard(self.exit, self.far).bytes == pattern(SIZE, 1));
    }
}

/// Damages copies of datagrams, and now and then the datagrams themselves.
fn damage(mut random: Random) -> impl FnMut(Passing<'_>) {
    move |passing| {
        if passing.bytes.is_empty() {
            return;
        }
        let original = passing.bytes.clone();
        let mut copy = original.clone();
        match random.below(8) {
            0 => copy[random.below(original.len())] ^= 1 << random.below(8),
            1 => copy.truncate(random.below(original.len())),
            2 => copy.extend(random.bytes(30)),
            // A replay, soon or long after the window has passed on.
            3 => passing.others.push((random.millis(3000), original.clone())),
            // More late than the replay window is long: as good as lost.
            4 if random.below(10) == 0 => {
                passing.others.push((Duration::from_millis(700), original));
                passing.bytes.clear();
            }
            5 if random.below(10) == 0 => {
                passing.bytes.clone_from(&copy);
                let place = random.below(copy.len());
                passing.bytes[place] ^= 1 << random.below(8);
            }
            _ => return,
        }
        passing.others.push((random.millis(20), copy));
    }
}

/// Sends all relays random bytes from strangers and in the name of their neighbours.
fn pelt(network: &mut Network, random: &mut Random) {
    for node in 1..4 {
        let via = [Via::Listening(None), Via::Outgoing][random.below(2)];
        let stranger = random.below(100);
        let from_via = [Via::Listening(None), Via::Outgoing][random.below(2)];
        for from in [stranger, node - 1, (node + 1) % 4] {
            let len = random.below(1500);
            let mut bytes = random.bytes(len);
            // Half of them look like records of the channel's last epoch.
            if let (Some(first), 0) = (bytes.first_mut(), random.below(2)) {
                *first = 0x2f;
            }
            network.inject(address(from, from_via), (node, via), bytes);
        }
    }
}

#[test]
fn garbage_and_forged_datagrams_do_not_stop_transfers() {
    for name in ["backtap", "marut"] {
        let mut network = Network::new(&*transport(name), 3);
        let transfers = Transfers::start(&mut network, &[1, 2, 3]);
        network.tamper = Some(Box::new(damage(Random::new(5))));
        let mut random = Random::new(6);
        for _ in 0..15_000 {
            pelt(&mut network, &mut random);
            network.run_for(Duration::from_millis(20));
            if transfers.are_over(&network) {
                break;
            }
        }
        println!("{name}: over at {:?}", network.now);
        transfers.check(&network);
        for node in 0..4 {
            let links = network.engine(node).counters().links;
            assert!(links <= 3, "{links} links at node {node}");
        }
    }
}

#[test]
fn circuits_are_built_while_strangers_send_garbage() {
    let mut network = Network::new(&*transport("backtap"), 3);
    let mut random = Random::new(8);
    for round in 0..20 {
        // At first the links must be opened, too.
        if round == 1 {
            network.tamper = Some(Box::new(damage(Random::new(7))));
        }
        let circuit = network.begin_circuit(0, network.path(&[1, 2, 3]));
        for _ in 0..1000 {
            pelt(&mut network, &mut random);
            network.run_for(Duration::from_millis(20));
            if network.built.contains(&(0, circuit)) {
                break;
            }
        }
        assert_eq!(network.failure(0, circuit), None, "round {round}");
        let built = network.built.contains(&(0, circuit));
        assert!(built, "round {round}");
        network.close_circuit(0, circuit);
    }
}

#[test]
fn handshakes_of_links_may_be_spoilt_but_later_ones_succeed() {
    let mut network = Network::new(&*transport("backtap"), 3);
    for seed in 0..20 {
        network.tamper = Some(Box::new(damage(Random::new(seed))));
        network.begin_circuit(0, network.path(&[1, 2, 3]));
        network.run_for(Duration::from_secs(40));
        network.tamper = None;
        let circuit = network.circuit(&[1, 2, 3]);
        network.close_circuit(0, circuit);
        // The links are closed when nobody has used them for long.
        network.run_for(Duration::from_secs(130));
        for node in 0..4 {
            let counters = network.engine(node).counters();
            assert!(counters.circuits <= 1, "{seed}, {node}: {counters:?}");
        }
        let built: Vec<_> = network.built.iter().copied().collect();
        for (client, circuit) in built {
            network.close_circuit(client, circuit);
        }
        network.run_for(Duration::from_secs(130));
        for node in 0..4 {
            let counters = network.engine(node).counters();
            assert_eq!((counters.circuits, counters.links), (0, 0), "node {node}");
        }
    }
}

#[test]
fn nothing_is_kept_of_strangers_who_return_no_cookie() {
    let mut network = Network::new(&*transport("backtap"), 3);
    let transfers = Transfers::start(&mut network, &[1, 2, 3]);
    let first_datagram = first_datagram();
    for stranger in 0..3000 {
        let ip = [172, 16, (stranger / 250) as u8, (stranger % 250) as u8];
        network.inject(
            (ip, 4000).into(),
            (1, Via::Listening(None)),
            first_datagram.clone(),
        );
    }
    network.run_for(Duration::from_millis(20));
    assert_eq!(network.engine(1).counters().links, 2);
    network.run_for(Duration::from_secs(5));
    transfers.check(&network);
    let counters = network.engine(1).counters();
    assert_eq!((counters.links, counters.links_evicted), (2, 0));
}

#[test]
fn a_forged_opening_ends_no_link_and_breaks_off_no_handshake() {
    let opening = first_datagram();
    let mut network = Network::new(&*transport("backtap"), 3);
    let forge = |network: &mut Network| {
        for (from, to) in [(0, 1), (1, 2), (2, 3)] {
            let from = address(from, Via::Outgoing);
            network.inject(from, (to, Via::Listening(None)), opening.clone());
        }
    };
    // During the handshakes of all links, and between them.
    let circuit = network.begin_circuit(0, network.path(&[1, 2, 3]));
    for _ in 0..300 {
        forge(&mut network);
        network.run_for(Duration::from_millis(1));
    }
    assert!(network.built.contains(&(0, circuit)));
    network.close_circuit(0, circuit);
    network.run_for(Duration::from_secs(1));
    // The links are idle now.
    forge(&mut network);
    network.run_for(Duration::from_secs(1));
    let before = network.now;
    network.circuit(&[1, 2, 3]);
    let took = network.now.saturating_since(before);
    // No link was opened again: three round trips of 20, 40 and 60 ms, and no handshake.
    assert!(took <= Duration::from_millis(130), "{took:?}");
}

#[test]
fn a_neighbour_that_begins_anew_at_its_address_is_served_at_once() {
    let factory = transport("backtap");
    let mut network = Network::new(&*factory, 3);
    // In the midst of the handshake, and with an idle link.
    for pause in [Duration::from_millis(25), Duration::from_secs(3)] {
        let circuit = network.begin_circuit(0, network.path(&[1]));
        network.run_for(pause);
        network.close_circuit(0, circuit);
        network.run_for(Duration::from_millis(50));
        network.restart(0, &*factory, |_| ());
        // Circuits of the new engine have the names of those of the old one.
        network.closed.clear();
        network.built.clear();
        let before = network.now;
        network.circuit(&[1]);
        let took = network.now.saturating_since(before);
        assert!(took <= Duration::from_millis(200), "{took:?}");
        network.restart(0, &*factory, |_| ());
        network.closed.clear();
        network.built.clear();
        network.run_for(Duration::from_secs(120));
    }
}

#[test]
fn who_repeats_an_opening_that_it_saw_ends_no_link() {
    let factory = transport("backtap");
    for spare in [false, true] {
        let mut network = Network::new(&*factory, 3);
        let seen = Rc::new(RefCell::new(Vec::new()));
        let keep = seen.clone();
        network.tamper = Some(Box::new(move |passing| {
            if passing.bytes.first() == Some(&1) {
                let opening = (passing.from, passing.to, passing.bytes.clone());
                keep.borrow_mut().push(opening);
            }
        }));
        network.circuit(&[1, 2, 3]);
        // Openings of the link that is there are known as its own.
        for node in [0, 1] {
            network.restart(node, &*factory, |_| ());
        }
        let openings = seen.take();
        network.built.clear();
        let circuit = network.circuit(&[1, 2, 3]);
        let pair = (!spare).then(|| network.stream_pair(0, circuit));
        // A cookie is good for 16 seconds at least.
        while network.now < Instant::ZERO + Duration::from_secs(15) {
            for (from, to, opening) in &openings {
                let from = address(*from, Via::Outgoing);
                network.inject(from, (*to, Via::Listening(None)), opening.clone());
            }
            network.run_for(Duration::from_millis(130));
        }
        let (near, (exit, far)) = pair.unwrap_or_else(|| network.stream_pair(0, circuit));
        network.write(exit, far, pattern(SIZE, 2), true);
        network.run_for(Duration::from_secs(5));
        assert_eq!(network.failure(0, circuit), None, "spare: {spare}");
        assert!(network.heard(0, near).bytes == pattern(SIZE, 2));
    }
}

/// The first datagram of a handshake.
pub(crate) fn first_datagram() -> Vec<u8> {
    let mut network = Network::new(&*transport("backtap"), 1);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let keep = seen.clone();
    network.tamper = Some(Box::new(move |passing| {
        keep.borrow_mut().push(passing.bytes.clone());
    }));
    network.begin_circuit(0, network.path(&[1]));
    network.run_for(Duration::from_millis(1));
    seen.take().swap_remove(0)
}

#[test]
fn a_flipped_bit_on_a_connection_ends_that_connection_only() {
    for name in ["vanilla", "pctcp"] {
        println!("{name}");
        // Slow enough that both are under way when the bit flips.
        let slow = bucket(200, Duration::from_millis(100));
        let mut network = Network::limited(&*transport(name), 4, &[Some(slow)]);
        let hit = Transfers::start(&mut network, &[1, 2, 3]);
        let spared = Transfers::start(&mut network, &[1, 4, 3]);
        let mut pieces = 0;
        network.tamper = Some(Box::new(move |passing| {
            if (passing.from, passing.to) == (1, 2) {
                pieces += 1;
                if pieces == 3 {
                    let middle = passing.bytes.len() / 2;
                    passing.bytes[middle] ^= 0x10;
                }
            }
        }));
        network.run_for(Duration::from_secs(60));
        assert!(network.failure(0, hit.circuit).is_some(), "{name}");
        assert!(network.heard(0, hit.near).reset, "{name}");
        spared.check(&network);
        for node in 1..4 {
            let circuits = network.engine(node).counters().circuits;
            assert!(circuits <= 1, "{name}: {circuits} circuits at node {node}");
        }
        // A new circuit takes the same way.
        Transfers::start(&mut network, &[1, 2, 3]);
    }
}
