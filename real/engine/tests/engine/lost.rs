//! Links of which one end has lost what it knew, or that nobody reaches any more.

use std::cell::Cell;
use std::rc::Rc;

use hopflow_engine::{Failure, OpenedLink, Via};
use hopflow_units::Duration;

use crate::hostile::Transfers;
use crate::network::{Network, address};
use crate::support::{pattern, real, transport};

/// More than a circuit brings in any test here.
const SIZE: usize = 64_000_000;
/// A round trip, the time that a neighbour has to show that it has the link, and some.
const AT_ONCE: Duration = Duration::from_millis(600);
/// A pause that is noticed: a second, and the time between two looks at all links.
const PAUSE: Duration = Duration::from_secs(2);

/// What a relay says that does not have the channel of a datagram.
fn says_lost(datagram: &[u8]) -> Vec<u8> {
    let tail = &datagram[datagram.len().saturating_sub(16)..];
    [&[4], tail].concat()
}

#[test]
fn a_relay_that_lost_what_it_knew_says_so_and_its_links_end_soon() {
    let factory = transport("backtap");
    for victim in 1..4 {
        let mut network = Network::new(&*factory, 3);
        let circuit = network.circuit(&[1, 2, 3]);
        let (_, (exit, far)) = network.stream_pair(0, circuit);
        network.write(exit, far, pattern(SIZE, 0), true);
        network.run_for(Duration::from_millis(500));
        network.restart(victim, &*factory, |_| ());
        // Who downloads sends nothing when nothing comes, so that nobody is answered at once.
        network.run_for(PAUSE + AT_ONCE);
        let failure = network.failure(0, circuit);
        assert!(failure.is_some(), "relay {victim} began anew");
        // Circuits of the client have other names than the one before.
        let before = network.now;
        Transfers::start(&mut network, &[1, 2, 3]);
        // The victim's next neighbour keeps its old link until that has not answered.
        let took = network.now.saturating_since(before);
        assert!(took <= Duration::from_secs(4), "relay {victim}: {took:?}");
    }
}

#[test]
fn a_pause_shows_that_a_relay_is_gone_that_lost_what_it_knew() {
    let factory = transport("backtap");
    let mut network = Network::new(&*factory, 3);
    let circuit = network.circuit(&[1, 2, 3]);
    let (near, _) = network.stream_pair(0, circuit);
    network.write(0, near, pattern(100_000, 0), false);
    // All has been acknowledged when the relay begins anew.
    network.run_for(Duration::from_millis(700));
    network.restart(1, &*factory, |_| ());
    network.run_for(PAUSE + AT_ONCE);
    assert!(network.failure(0, circuit).is_some());
}

#[test]
fn who_sees_a_link_cannot_end_it_by_saying_that_it_is_lost() {
    for spare in [false, true] {
        let mut network = Network::new(&*transport("backtap"), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        let transfers = (!spare).then(|| Transfers::start(&mut network, &[1, 2, 3]));
        let said = Rc::new(Cell::new(0));
        let count = said.clone();
        // To all that a node sends it hears at once that its neighbour does not know the link.
        network.tamper = Some(Box::new(move |passing| {
            if passing.bytes.len() > 17 {
                let lost = says_lost(passing.bytes);
                passing.back.push(lost);
                count.set(count.get() + 1);
            }
        }));
        // Between the probes of an idle link, too.
        network.run_for(Duration::from_secs(120));
        if let Some(transfers) = transfers {
            transfers.check(&network);
        }
        assert_eq!(network.failure(0, circuit), None, "spare: {spare}");
        assert!(said.get() > 10, "{}", said.get());
    }
}

#[test]
fn who_does_not_see_a_link_has_nothing_believed() {
    let mut network = Network::new(&*transport("backtap"), 1);
    let circuit = network.circuit(&[1]);
    let (near, far) = network.stream_pair(0, circuit);
    network.write(0, near, pattern(1000, 0), false);
    network.run_for(Duration::from_secs(3));
    // The relay says nothing more, so that a doubt would end the link.
    network.tamper = Some(Box::new(|passing| {
        if passing.from == 1 {
            passing.bytes.clear();
        }
    }));
    let guard = address(1, Via::Listening(None));
    for guess in 0..2000_u16 {
        let guess = [&[4], &[0; 14][..], &guess.to_be_bytes()].concat();
        network.inject(guard, (0, Via::Outgoing), guess);
    }
    network.run_for(Duration::from_secs(5));
    assert_eq!(network.failure(0, circuit), None);
    assert_eq!(network.heard(far.0, far.1).bytes.len(), 1000);
}

#[test]
fn records_of_strangers_are_answered_by_less_and_not_without_end() {
    let mut network = Network::new(&*transport("backtap"), 1);
    let answers = Rc::new(Cell::new(0));
    let count = answers.clone();
    network.tamper = Some(Box::new(move |passing| {
        assert_eq!((passing.from, passing.bytes.len()), (1, 17));
        count.set(count.get() + 1);
    }));
    let stranger = address(0, Via::Outgoing);
    for _ in 0..3000 {
        network.inject(stranger, (1, Via::Listening(None)), vec![47; 40]);
    }
    network.run_for(Duration::from_millis(50));
    // What is no record, and what the answer would be longer than.
    for strange in [vec![31; 40], vec![4; 17], vec![47; 17]] {
        network.inject(stranger, (1, Via::Listening(None)), strange);
    }
    network.run_for(Duration::from_secs(3));
    assert_eq!(answers.get(), 100);
    assert_eq!(network.engine(1).counters().links, 0);
}

#[test]
fn a_client_that_moves_gives_up_its_links_and_builds_others() {
    for name in real() {
        let mut network = Network::new(&*transport(name), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        let now = network.clock(0);
        let linked: Vec<_> = network.engine(0).opened_links().collect();
        let relays: Vec<_> = linked.iter().map(|link| link.to).collect();
        assert_eq!(relays, [address(1, Via::Listening(None))], "{name}");
        let to = address(2, Via::Listening(None));
        let other = OpenedLink { to, ..linked[0] };
        network.engine_mut(0).leave(now, &[other]);
        network.run_for(Duration::from_millis(1));
        assert_eq!(network.failure(0, circuit), None, "{name}");
        network.engine_mut(0).leave(now, &linked);
        network.run_for(Duration::from_millis(1));
        assert_eq!(network.failure(0, circuit), Some(Failure::Moved), "{name}");
        assert_eq!(network.engine_mut(0).poll_lost(), None, "{name}");
        Transfers::start(&mut network, &[1, 2, 3]);
    }
}

#[test]
fn of_several_connections_to_a_relay_one_may_be_given_up() {
    let mut network = Network::new(&*transport("pctcp"), 3);
    let circuits = [(); 2].map(|()| network.circuit(&[1, 2, 3]));
    let linked: Vec<_> = network.engine(0).opened_links().collect();
    assert_eq!(linked.len(), 2);
    let now = network.clock(0);
    network.engine_mut(0).leave(now, &linked[..1]);
    network.run_for(Duration::from_millis(1));
    let mut failures = circuits.map(|circuit| network.failure(0, circuit));
    failures.sort_by_key(Option::is_some);
    assert_eq!(failures, [None, Some(Failure::Moved)]);
}
