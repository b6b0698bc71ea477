//! Every byte arrives once and in order.

use hopflow_overlay::Factory;
use hopflow_units::{Bytes, Duration};

use crate::{Chain, Counted, End, Manner, Medium};

const PATH: [usize; 4] = [0, 1, 2, 3];

/// Two circuits over three hops with data both ways; all of it must arrive.
fn exchange(
    factory: &dyn Factory<Counted>,
    medium: Medium,
    (manner, seed): (Manner, u64),
) -> Chain<'_> {
    let mut chain = Chain::new(factory, 4, manner, seed).with_medium(medium);
    for len in [60_000, 20_000] {
        let circuit = chain.circuit(&PATH);
        let stream = chain.stream(&[circuit]);
        chain.write(stream, End::Exit, Bytes::new(len));
        chain.run_for(Duration::from_millis(7));
        chain.write(stream, End::Client, Bytes::new(len / 4));
    }
    // A lone loss at the end of a circuit waits for a time-out that may have doubled a few times.
    assert!(
        chain.run_to_arrival(Duration::from_secs(6 * 3600)),
        "the transfer hangs: {}",
        chain.summary()
    );
    chain
}

fn settled(mut chain: Chain<'_>) {
    chain.run_for(Duration::from_secs(600));
    chain.assert_conserved();
}

/// Whether what datagrams lose is sent again, by hops or by ends.
fn repairs(factory: &dyn Factory<Counted>) -> bool {
    let plan = factory.plan();
    plan.repairs_hops() || plan.connection().is_some()
}

/// Over links that only delay, and as encoded bytes.
pub(super) fn every_byte_arrives_once_and_in_order(factory: &dyn Factory<Counted>) {
    let clean = Medium::delay(Duration::from_millis(10));
    for manner in [Manner::Orderly, Manner::WireTrue] {
        settled(exchange(factory, clean, (manner, 1)));
        let narrow = clean.with_buffer(Bytes::new(2000));
        settled(exchange(factory, narrow, (manner, 1)));
    }
}

/// Over links that lose, repeat and reorder, if the transport repairs.
pub(super) fn a_harmed_path_delivers_everything(factory: &dyn Factory<Counted>) {
    if !repairs(factory) && factory.plan().link.carrier == hopflow_wire::Carrier::Datagram {
        return;
    }
    let base = Medium::delay(Duration::from_millis(10));
    for (seed, loss, duplicate, jitter) in [
        (1, 0.0, 0.0, 30),
        (2, 0.0, 0.5, 0),
        (3, 0.02, 0.02, 5),
        (4, 0.1, 0.1, 20),
        (5, 0.3, 0.1, 40),
    ] {
        // TCP's time-outs back off to minutes: from end to end such a transfer would take days.
        if loss > 0.2 && factory.plan().connection().is_some() {
            continue;
        }
        let medium = base.harmed(loss, duplicate, Duration::from_millis(jitter));
        settled(exchange(factory, medium, (Manner::WireTrue, seed)));
    }
}

/// Needless timeouts, outputs that wait, packets that are split and merged.
pub(super) fn an_adversarial_driver_changes_nothing(factory: &dyn Factory<Counted>) {
    let base = Medium::delay(Duration::from_millis(5)).with_buffer(Bytes::new(5000));
    let repairs = repairs(factory);
    for seed in 0..6 {
        let medium = if repairs && seed % 2 == 1 {
            base.harmed(0.05, 0.05, Duration::from_millis(10))
        } else {
            base
        };
        settled(exchange(factory, medium, (Manner::Adversarial, seed)));
    }
}

/// The same seed gives the same run; another seed, over lossy links, another one.
pub(super) fn equal_seeds_give_equal_traces(factory: &dyn Factory<Counted>) {
    let medium = Medium::delay(Duration::from_millis(5)).with_buffer(Bytes::new(5000));
    let medium = if repairs(factory) {
        medium.harmed(0.05, 0.05, Duration::from_millis(5))
    } else {
        medium
    };
    let hash = |seed| {
        let chain = exchange(factory, medium, (Manner::Adversarial, seed));
        chain.watch().trace_hash()
    };
    assert_eq!(hash(7), hash(7));
    assert_ne!(hash(7), hash(8));
}
