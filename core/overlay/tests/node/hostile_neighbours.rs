//! What neighbours send can close a circuit; it does not make a node hold more and more.

use crate::support::{PlainConfig, QUEUE_LIMIT};
use hopflow_overlay::Violation;
use hopflow_testkit::{Bench, Counted};
use hopflow_units::{Bytes, Duration, LinkId};
use hopflow_wire::{Reason, RelayCommand};

#[test]
fn forwarding_what_was_not_acknowledged_closes_the_circuit() {
    let mut client = Bench::client(&PlainConfig::datagrams().factory());
    assert_eq!(client.write(Bytes::new(10_000)).cells(0), 8);
    let sent = client.receive(0, Bench::feedback(2, 2));
    assert_eq!((sent.cells(0), sent.closed.len()), (2, 0));
    let sent = client.receive(0, Bench::feedback(3, 4));
    assert_eq!(sent.closed, [Reason::Protocol]);
    assert_eq!(sent.violations, [Violation::BeyondSent]);
}

/// A client whose successor may tell what has arrived beyond a gap, and the eight cells of its window.
fn selective_client() -> Bench {
    let config = PlainConfig {
        selective: true,
        ..PlainConfig::datagrams()
    };
    let mut client = Bench::client(&config.factory());
    assert_eq!(client.write(Bytes::new(10_000)).cells(0), 8);
    client
}

#[test]
fn ranges_of_cells_that_were_never_sent_close_the_circuit() {
    for range in [(1, 9), (7, u16::MAX), (u16::MAX - 1, u16::MAX)] {
        let mut client = selective_client();
        let sent = client.receive(0, Bench::sack(0, [(0, 0), (3, 4), range]));
        assert_eq!(sent.closed, [Reason::Protocol], "{range:?}");
        assert_eq!(sent.violations, [Violation::BeyondSent]);
    }
}

#[test]
fn a_successor_that_claims_what_has_not_arrived_gets_no_more_than_its_window() {
    let mut client = selective_client();
    for _ in 0..1000 {
        for ranges in [[(0, 8); 3], [(5, 8), (3, 4), (8, 5)]] {
            let sent = client.receive(0, Bench::sack(0, ranges));
            assert_eq!(sent.closed, []);
        }
        client.wait(Duration::from_millis(1));
    }
    let counters = client.host.counters();
    assert_eq!(counters.cells_sent, 8);
    assert!(counters.cells_resent <= 8, "{}", counters.cells_resent);
}

#[test]
fn a_silent_successor_makes_no_node_keep_ever_more_even_without_a_window() {
    let config = PlainConfig {
        forwarded: false,
        window: None,
        ..PlainConfig::datagrams()
    };
    let limit = QUEUE_LIMIT.get();
    let mut relay = Bench::relay(&config.factory());
    let before = Counted::live();
    for seq in 0..5 * limit {
        // It is there, but says nothing of what came.
        relay.receive(1, Bench::feedback(0, 0));
        relay.receive(0, Bench::data(seq));
        let held = Counted::live() - before;
        assert!(held <= 2 * limit as i64, "{held} cells are held");
    }
}

#[test]
fn commands_owed_to_a_neighbour_that_takes_nothing_close_the_circuit() {
    let config = PlainConfig {
        reply: Some(RelayCommand::Sendme),
        ..PlainConfig::streams()
    };
    let limit = QUEUE_LIMIT;
    let mut exit = Bench::exit(&config.factory());
    let before = Counted::live();
    let room = Bench::ROOM.get() / 512;
    for seq in 0..limit.get() + room {
        assert_eq!(exit.receive(0, Bench::data(seq)).closed, []);
    }
    assert_eq!(Counted::live() - before, limit.get() as i64);
    let sent = exit.receive(0, Bench::data(0));
    assert_eq!(sent.closed, [Reason::Excess]);
}

#[test]
fn an_answer_to_a_probe_waits_for_room_like_everything() {
    let mut config = PlainConfig::streams();
    config.forwarded = true;
    let mut relay = Bench::relay(&config.factory());
    relay.room(0, Bytes::new(5));
    relay.receive(0, Bench::data(0));
    let sent = relay.wait(Duration::from_millis(5));
    assert!(sent.feedback(0).is_none(), "feedback without room");
    relay.receive(0, Bench::data(1));
    assert!(relay.wait(Duration::from_secs(1)).frames.is_empty());
    let sent = relay.room(0, Bytes::new(100));
    let feedback = sent.feedback(0).expect("there is room");
    assert_eq!(feedback.fwd.to_wire(), 2, "what was said late is true now");
}

#[test]
fn all_neighbours_hear_of_closed_circuits_though_the_stream_was_full() {
    let mut relay = Bench::relay(&PlainConfig::streams().factory());
    relay.room(0, Bytes::ZERO);
    relay
        .host
        .close_circuit(relay.now, relay.circuit, Reason::Requested);
    let sent = relay.drain();
    assert_eq!(
        (sent.destroy(0), sent.destroy(1)),
        (None, Some(Reason::Requested))
    );
    assert_eq!(relay.room(0, Bytes::new(3)).destroy(0), None);
    let sent = relay.room(0, Bytes::new(4));
    assert_eq!(sent.destroy(0), Some(Reason::Requested));
}

#[test]
fn room_counts_what_was_chosen_and_not_taken() {
    let mut relay = Bench::relay(&PlainConfig::streams().factory());
    for link in [0, 1] {
        relay.room(link, Bytes::ZERO);
    }
    for seq in 0..5 {
        relay.receive(0, Bench::data(seq));
        relay.receive(1, Bench::data(seq));
    }
    // Both links get cells in one step, but only one packet is taken.
    let room = Bytes::new(512 * 3);
    for link in [0, 1] {
        relay.host.set_room(relay.now, LinkId::new(link), room);
    }
    let mut frames = Vec::new();
    let first = relay.host.poll_transmit(relay.now, &mut frames);
    let (link, _) = first.expect("there is room");
    let other = 1 - link.get();
    assert_eq!(relay.room(other, room).cells(other), 3);
}
