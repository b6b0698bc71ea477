//! A stream over two circuits.

use hopflow_overlay::{Direction, Factory, LegUse};
use hopflow_units::{Bytes, Duration};

use crate::{Chain, CircuitNo, Counted, End, Manner, Medium, StreamNo};

const FAST: Duration = Duration::from_millis(5);
const SLOW: Duration = Duration::from_millis(60);

/// A stream from node 3 to node 0, over node 1 (fast) and node 2 (`slow`).
fn two_legs(
    factory: &dyn Factory<Counted>,
    slow: Medium,
    seed: u64,
) -> (Chain<'_>, [CircuitNo; 2], StreamNo) {
    let fast = Medium::delay(FAST).with_buffer(Bytes::new(30_000));
    let mut chain = Chain::new(factory, 4, Manner::WireTrue, seed).with_medium(fast);
    let first = chain.circuit(&[0, 1, 3]);
    chain.set_medium(slow.with_buffer(Bytes::new(30_000)));
    let second = chain.circuit(&[0, 2, 3]);
    let stream = chain.stream(&[first, second]);
    (chain, [first, second], stream)
}

/// Cells that came to the client over a circuit.
fn cells_over(chain: &Chain<'_>, circuit: CircuitNo) -> u64 {
    let view = chain.flow(circuit, 0, Direction::Backward);
    view.map_or(0, |view| view.departed.get())
}

/// Legs of different delay: every byte in order, both legs used, a bounded number of cells held.
pub(super) fn two_legs_keep_the_order_of_a_stream(factory: &dyn Factory<Counted>) {
    let (mut chain, legs, stream) = two_legs(factory, Medium::delay(SLOW), 1);
    chain.write(stream, End::Exit, Bytes::new(500_000));
    chain.write(stream, End::Client, Bytes::new(20_000));
    let mut most = 0;
    for _ in 0..600 {
        chain.run_for(Duration::from_millis(10));
        let view = chain.stream_view(stream, End::Client);
        most = most.max(view.map_or(0, |view| view.held.get()));
    }
    assert!(chain.run_to_arrival(Duration::from_secs(60)), "it hangs");
    assert!(most <= 64, "{most} cells are held");
    if factory.plan().path.legs == LegUse::Open {
        for leg in legs {
            assert!(cells_over(&chain, leg) > 0, "a leg is not used");
        }
    }
}

/// Losses on the slow leg delay the stream; they do not stop it.
pub(super) fn a_lossy_slow_leg_does_not_block_the_stream(factory: &dyn Factory<Counted>) {
    for seed in 0..4 {
        let slow = Medium::delay(SLOW).harmed(0.2, 0.05, Duration::from_millis(40));
        let (mut chain, _, stream) = two_legs(factory, slow, seed);
        chain.write(stream, End::Exit, Bytes::new(200_000));
        assert!(
            chain.run_to_arrival(Duration::from_secs(3600)),
            "seed {seed} hangs"
        );
        chain.run_for(Duration::from_secs(600));
        chain.assert_conserved();
    }
}

/// A sink that asks for a pause over one leg, and at once for the end of the pause, gets everything,
/// however different the legs are.
pub(super) fn a_short_pause_ends(factory: &dyn Factory<Counted>) {
    let (mut chain, [_, slow], stream) = two_legs(factory, Medium::delay(SLOW), 1);
    chain.pin(stream, End::Exit, Some(slow));
    chain.set_reading(stream, End::Client, false);
    chain.write(stream, End::Exit, Bytes::new(500_000));
    let held = |chain: &Chain<'_>| chain.stream_view(stream, End::Client).map(|view| view.held);
    for _ in 0..20_000 {
        chain.run_for(Duration::from_millis(1));
        if held(&chain).is_none_or(|cells| cells.get() >= 500) {
            break;
        }
    }
    chain.set_reading(stream, End::Client, true);
    assert!(chain.run_to_arrival(Duration::from_secs(60)), "it hangs");
}

/// What is pinned to one leg takes that leg, until it is pinned to the other or to none.
pub(super) fn a_pinned_stream_uses_one_leg(factory: &dyn Factory<Counted>) {
    let (mut chain, [fast, slow], stream) = two_legs(factory, Medium::delay(SLOW), 1);
    let turn = |chain: &mut Chain<'_>, leg| {
        let before = [fast, slow].map(|leg| cells_over(chain, leg));
        chain.pin(stream, End::Exit, leg);
        chain.write(stream, End::Exit, Bytes::new(400_000));
        assert!(chain.run_to_arrival(Duration::from_secs(60)), "it hangs");
        let after = [fast, slow].map(|leg| cells_over(chain, leg));
        [0, 1].map(|leg| after[leg] - before[leg])
    };
    let [on_fast, on_slow] = turn(&mut chain, Some(fast));
    assert!(on_fast > 800 && on_slow == 0, "{on_fast}, {on_slow}");
    let [on_fast, on_slow] = turn(&mut chain, Some(slow));
    assert!(on_fast == 0 && on_slow > 800, "{on_fast}, {on_slow}");
    let [on_fast, on_slow] = turn(&mut chain, None);
    assert!(on_fast > 0 && on_slow > 0, "{on_fast}, {on_slow}");
}

/// A stream ends with any of its circuits, at both ends; its other circuit and the streams there
/// live on, whatever was under way.
pub(super) fn a_closed_leg_ends_its_stream_and_nothing_else(factory: &dyn Factory<Counted>) {
    for (hop, reading) in [0, 1, 2]
        .into_iter()
        .flat_map(|hop| [(hop, true), (hop, false)])
    {
        let (mut chain, [fast, slow], stream) = two_legs(factory, Medium::delay(SLOW), 1);
        chain.expect_closures();
        let other = chain.stream(&[slow]);
        chain.write(stream, End::Exit, Bytes::new(2_000_000));
        chain.write(stream, End::Client, Bytes::new(200_000));
        chain.run_for(Duration::from_millis(300));
        chain.set_reading(stream, End::Client, reading);
        chain.run_for(Duration::from_millis(500));
        chain.close(fast, hop);
        chain.write(other, End::Exit, Bytes::new(100_000));
        chain.run_for(Duration::from_secs(120));
        for end in [End::Client, End::Exit] {
            assert_eq!(chain.stream_view(stream, end), None, "{end:?} goes on");
        }
        assert!(chain.closures(fast).iter().all(Option::is_some));
        assert_eq!(chain.closures(slow), [None; 3], "hop {hop}");
        assert_eq!(
            chain.arrived(other, End::Exit),
            Bytes::new(100_000),
            "hop {hop}, {}",
            chain.summary()
        );
    }
}
