//! Neighbours that do not keep to the rules.

use hopflow_overlay::{Excess, Factory, Repair};
use hopflow_units::{Bytes, Duration};
use hopflow_wire::{Carrier, Reason};

use crate::{Bench, Counted, Rng, fuzz};

/// A predecessor that ignores all windows, and a successor that takes nothing: the relay holds a
/// bounded number of cells, acknowledges none that it dropped, and closes the circuit.
pub(super) fn excess_is_dropped_unacknowledged_and_closes_the_circuit(
    factory: &dyn Factory<Counted>,
) {
    let plan = factory.plan();
    let limit = plan.link.queue_limit.get();
    let before = Counted::live();
    let mut relay = Bench::relay(factory);
    let mut closed = None;
    for seq in 0..4 * limit + 1000 {
        let sent = relay.receive(0, Bench::data(seq));
        if let Some(feedback) = sent.feedback(0) {
            let forwarded = relay.host.counters().cells_sent;
            let acked = u64::from(feedback.ack.to_wire());
            assert!(
                acked <= forwarded + limit,
                "cell {acked} is acknowledged, though it was dropped"
            );
        }
        let held = Counted::live() - before;
        assert!(held <= 2 * limit as i64, "{held} cells are held");
        if !sent.closed.is_empty() {
            closed = Some(sent);
            break;
        }
        relay.wait(Duration::from_millis(1));
    }
    let counters = relay.host.counters();
    // Where no gate holds a relay back it has passed all on.
    assert!(
        counters.cells_dropped > 0
            || plan.connection().is_some() && counters.cells_sent > 4 * limit,
        "nothing was dropped"
    );
    if plan.link.excess == Excess::Drop {
        assert!(closed.is_none(), "excess alone closes nothing here");
        return;
    }
    let closed = closed.expect("persistent excess closes the circuit");
    assert_eq!(closed.closed, [Reason::Excess]);
    assert_eq!(closed.destroy(0), Some(Reason::Excess), "nobody is told");
    // The successor's stream may be full until now.
    let told = closed.destroy(1).or(relay.room(1, Bench::ROOM).destroy(1));
    assert_eq!(told, Some(Reason::Excess), "the successor is not told");
    drop(closed);
    assert_eq!(Counted::live(), before, "its cells are forgotten");
}

/// Acknowledging or forwarding what was never sent closes the circuit, where it means anything.
pub(super) fn feedback_that_lies_closes_the_circuit(factory: &dyn Factory<Counted>) {
    let plan = factory.plan();
    for (ack, fwd, believed) in [
        (1 << 20, 0, plan.repairs_hops()),
        (
            1 << 20,
            1 << 20,
            plan.repairs_hops() || plan.hop.feedback.forwarded,
        ),
        (0, 1 << 20, plan.hop.feedback.forwarded),
    ] {
        let mut client = Bench::client(factory);
        assert!(client.write(Bytes::new(50_000)).cells(0) > 0);
        let sent = client.receive(0, Bench::feedback(ack, fwd));
        let expected = believed.then_some(Reason::Protocol);
        assert_eq!(
            sent.closed.first().copied(),
            expected,
            "ack {ack}, fwd {fwd}"
        );
        assert_eq!(sent.destroy(0), expected, "ack {ack}, fwd {fwd}");
    }
    let mut client = Bench::client(factory);
    client.write(Bytes::new(50_000));
    let sent = client.receive(0, Bench::sack(0, [(60_000, 60_001); 3]));
    let read = matches!(plan.repair, Repair::PerHop(repair) if repair.selective);
    assert_eq!(
        sent.closed.first().copied(),
        read.then_some(Reason::Protocol)
    );
}

/// A successor that reports cells as forwarded, but never as arrived, does not make a node keep
/// more and more of them.
pub(super) fn a_neighbour_that_never_acknowledges_gets_a_bounded_number_of_cells(
    factory: &dyn Factory<Counted>,
) {
    if factory.plan().link.carrier == Carrier::Stream {
        return;
    }
    let limit = factory.plan().link.queue_limit.get();
    let before = Counted::live();
    let mut client = Bench::client(factory);
    client.write(Bytes::new(30_000_000));
    for _ in 0..10_000 {
        let cells = client.host.counters().cells_sent;
        client.receive(0, Bench::feedback(0, cells));
        client.wait(Duration::from_millis(10));
        let held = Counted::live() - before;
        assert!(held <= 2 * limit as i64, "{held} cells are held");
    }
}

/// A neighbour that sends data but takes nothing does not make a node pile up what it owes.
pub(super) fn commands_for_a_deaf_neighbour_are_bounded(factory: &dyn Factory<Counted>) {
    let limit = factory.plan().link.queue_limit.get();
    let before = Counted::live();
    let mut exit = Bench::exit(factory);
    for seq in 0..200 * limit.min(2000) {
        exit.receive(0, Bench::data(seq));
        let held = Counted::live() - before;
        assert!(held <= 2 * limit as i64, "{held} cells are held");
    }
}

/// Random bytes, read as frames and doings of neighbours and application, see [`fuzz`].
pub(super) fn any_bytes_leave_a_node_sane(factory: &dyn Factory<Counted>) {
    let mut rng = Rng::new(11);
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..rng.below(600)).map(|_| rng.bits() as u8).collect();
        fuzz::any_life(factory, &bytes);
    }
}
