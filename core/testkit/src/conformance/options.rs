//! New options for nodes that run.

use hopflow_overlay::Factory;
use hopflow_units::{Bytes, Duration};

use crate::{Chain, Counted, End, Manner, Medium};

/// Nodes that take the options which they have, again and again, send the same packets at the same
/// times. A transport may refuse all options that differ, not these.
pub(super) fn the_same_options_again_change_nothing(factory: &dyn Factory<Counted>) {
    let clean = Medium::delay(Duration::from_millis(10)).with_buffer(Bytes::new(20_000));
    let harmed = clean.harmed(0.02, 0.02, Duration::from_millis(5));
    let plan = factory.plan();
    let repairs = plan.repairs_hops() || plan.connection().is_some();
    for medium in [Some(clean), repairs.then_some(harmed)]
        .into_iter()
        .flatten()
    {
        assert_eq!(
            exchange(factory, medium, true),
            exchange(factory, medium, false)
        );
    }
}

/// What was sent in some seconds of transfers both ways and a pause.
fn exchange(factory: &dyn Factory<Counted>, medium: Medium, again: bool) -> u64 {
    let mut chain = Chain::new(factory, 4, Manner::WireTrue, 1).with_medium(medium);
    let streams = [400_000, 30_000].map(|len| {
        let circuit = chain.circuit(&[0, 1, 2, 3]);
        let stream = chain.stream(&[circuit]);
        chain.write(stream, End::Exit, Bytes::new(len));
        chain.write(stream, End::Client, Bytes::new(len / 4));
        stream
    });
    for turn in 0..200 {
        chain.run_for(Duration::from_millis(37));
        if again {
            chain
                .reconfigure(factory)
                .expect("these are the same options");
        }
        if turn == 150 {
            chain.write(streams[1], End::Exit, Bytes::new(100_000));
        }
    }
    chain.watch().trace_hash()
}
