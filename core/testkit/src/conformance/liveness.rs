//! Nothing hangs, and nothing runs without need.

use hopflow_overlay::Factory;
use hopflow_units::{Bytes, Duration, Instant};
use hopflow_wire::Carrier;

use crate::{Chain, Counted, End, Manner, Medium};

/// Cells that a stream holds at most for an application that does not read.
const INBOX: u64 = 4096;
/// How often a stalled sink is looked at.
const STALL: Duration = Duration::from_secs(7200);

fn download(
    factory: &dyn Factory<Counted>,
    len: u64,
) -> (Chain<'_>, crate::StreamNo, crate::CircuitNo) {
    let medium = Medium::delay(Duration::from_millis(10));
    let mut chain = Chain::new(factory, 3, Manner::WireTrue, 1).with_medium(medium);
    let circuit = chain.circuit(&[0, 1, 2]);
    let stream = chain.stream(&[circuit]);
    chain.write(stream, End::Exit, Bytes::new(len));
    (chain, stream, circuit)
}

/// Any feedback message may be lost: the transfer still completes.
pub(super) fn no_single_feedback_message_is_vital(factory: &dyn Factory<Counted>) {
    if factory.plan().link.carrier == Carrier::Stream {
        return;
    }
    let (mut whole, ..) = download(factory, 15_000);
    assert!(whole.run_to_arrival(Duration::from_secs(60)));
    for lost in 0..=whole.watch().feedback {
        let (mut chain, ..) = download(factory, 15_000);
        chain.lose_feedback(lost);
        assert!(
            chain.run_to_arrival(Duration::from_secs(200)),
            "without feedback {lost} the transfer hangs"
        );
        chain.run_for(Duration::from_secs(200));
        chain.assert_conserved();
    }
}

/// Any datagram may be lost, with the cells, acknowledgements and credits that it holds.
pub(super) fn no_single_packet_is_vital(factory: &dyn Factory<Counted>) {
    if factory.plan().link.carrier == Carrier::Stream {
        return;
    }
    let start = || {
        let (mut chain, stream, _) = download(factory, 25_000);
        chain.write(stream, End::Client, Bytes::new(3000));
        chain
    };
    let mut whole = start();
    assert!(whole.run_to_arrival(Duration::from_secs(60)));
    for lost in 0..whole.watch().packets {
        let mut chain = start();
        chain.lose_packet(lost);
        assert!(
            chain.run_to_arrival(Duration::from_secs(200)),
            "without packet {lost} the transfer hangs: {}",
            chain.summary()
        );
        chain.run_for(Duration::from_secs(200));
        chain.assert_conserved();
    }
}

/// An application that stops reading, and begins again, gets everything.
pub(super) fn a_paused_application_resumes(factory: &dyn Factory<Counted>) {
    for pause in [1, 500, 100_000] {
        let (mut chain, stream, _) = download(factory, 400_000);
        chain.write(stream, End::Client, Bytes::new(3000));
        for _ in 0..5 {
            chain.run_for(Duration::from_millis(30));
            chain.set_reading(stream, End::Client, false);
            let before = chain.arrived(stream, End::Exit);
            chain.run_for(Duration::from_millis(pause));
            assert_eq!(
                before,
                chain.arrived(stream, End::Exit),
                "nobody reads, yet bytes are delivered"
            );
            chain.set_reading(stream, End::Client, true);
        }
        assert!(
            chain.run_to_arrival(Duration::from_secs(600)),
            "after pauses of {pause} ms the transfer hangs"
        );
    }
}

/// A sink that stalls for long: queues are bounded, and an honest sender keeps its circuit.
pub(super) fn a_stalled_sink_holds_bounded_memory_and_closes_nothing(
    factory: &dyn Factory<Counted>,
) {
    let limit = factory.plan().link.queue_limit.get();
    let before = Counted::live();
    let (mut chain, stream, _) = download(factory, 5_000_000);
    chain.set_reading(stream, End::Client, false);
    chain.run_for(Duration::from_secs(60));
    let steps = chain.watch().steps;
    chain.run_for(STALL);
    // Two nodes queue for the client, which holds some itself; the source has cut some ahead.
    let bound = 2 * 2 * limit + INBOX + factory.plan().end.source_high_water.get();
    let live = (Counted::live() - before) as u64;
    assert!(live <= bound, "{live} cells are held, the bound is {bound}");
    if factory.plan().tick().is_none() {
        let busy = chain.watch().steps - steps;
        assert!(busy < 5000, "{busy} steps while nothing moves");
    }
    chain.set_reading(stream, End::Client, true);
    assert!(
        chain.run_to_arrival(Duration::from_secs(600)),
        "after a long stall the transfer hangs"
    );
}

/// Once all is delivered and acknowledged, a node wants to be left alone.
pub(super) fn an_idle_node_asks_for_nothing(factory: &dyn Factory<Counted>) {
    if factory.plan().tick().is_some() {
        return;
    }
    let (mut chain, ..) = download(factory, 100_000);
    assert!(chain.run_to_arrival(Duration::from_secs(60)));
    let steps = chain.watch().steps;
    assert!(
        chain.settle(Duration::from_secs(300)),
        "nodes never come to rest"
    );
    let idle = chain.watch().steps - steps;
    assert!(idle < 100, "{idle} steps after the last byte");
    assert_eq!(Counted::live(), 0, "cells are kept without need");
    let rest = chain.now();
    chain.run_until(rest + STALL);
    assert_eq!(chain.watch().steps - steps, idle);
    assert!(rest < Instant::FAR_FUTURE);
}
