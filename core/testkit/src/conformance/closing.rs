//! What happens when circuits are closed.

use hopflow_overlay::{Direction, Factory};
use hopflow_units::{Bytes, Duration};

use crate::{Chain, Counted, End, Manner, Medium};

const PATH: [usize; 4] = [0, 1, 2, 3];

fn chain(factory: &dyn Factory<Counted>) -> Chain<'_> {
    let medium = Medium::delay(Duration::from_millis(10)).with_buffer(Bytes::new(4000));
    let mut chain = Chain::new(factory, 4, Manner::WireTrue, 3).with_medium(medium);
    chain.expect_closures();
    chain
}

/// Whichever node closes it, all forget the circuit, its cells and its streams.
pub(super) fn a_circuit_closed_in_flight_is_forgotten_by_all(factory: &dyn Factory<Counted>) {
    for (hop, after) in (0..PATH.len()).flat_map(|hop| [0, 5, 35, 300].map(|after| (hop, after))) {
        let before = Counted::live();
        let mut chain = chain(factory);
        let circuit = chain.circuit(&PATH);
        let stream = chain.stream(&[circuit]);
        chain.write(stream, End::Exit, Bytes::new(500_000));
        chain.write(stream, End::Client, Bytes::new(5_000));
        chain.run_for(Duration::from_millis(after));
        chain.close(circuit, hop);
        chain.run_for(Duration::from_secs(60));
        assert!(
            chain.closures(circuit).iter().all(Option::is_some),
            "hop {hop} closes after {after} ms: {:?}",
            chain.closures(circuit)
        );
        for (hop, direction) in (0..PATH.len()).flat_map(|hop| {
            [Direction::Forward, Direction::Backward].map(|direction| (hop, direction))
        }) {
            assert_eq!(chain.flow(circuit, hop, direction), None);
        }
        for end in [End::Client, End::Exit] {
            assert_eq!(chain.stream_view(stream, end), None);
        }
        assert_eq!(Counted::live(), before, "cells of a closed circuit stay");
    }
}

/// A circuit next to a closed one loses nothing; neither does one that is opened afterwards.
pub(super) fn other_circuits_outlive_a_closed_one(factory: &dyn Factory<Counted>) {
    let mut chain = chain(factory);
    let [doomed, other] = [(); 2].map(|()| chain.circuit(&PATH));
    let [_, kept] = [doomed, other].map(|circuit| {
        let stream = chain.stream(&[circuit]);
        chain.write(stream, End::Exit, Bytes::new(50_000));
        stream
    });
    chain.run_for(Duration::from_millis(45));
    chain.close(doomed, 2);
    let later = chain.circuit(&PATH);
    let later = chain.stream(&[later]);
    chain.write(later, End::Exit, Bytes::new(50_000));
    chain.run_for(Duration::from_secs(60));
    for stream in [kept, later] {
        assert_eq!(chain.arrived(stream, End::Exit), Bytes::new(50_000));
    }
}

/// However many circuits are closed at once, every neighbour learns of each.
pub(super) fn every_neighbour_is_told_of_many_closures(factory: &dyn Factory<Counted>) {
    let mut chain = chain(factory);
    let circuits: Vec<_> = (0..300).map(|_| chain.circuit(&PATH[..2])).collect();
    for &circuit in &circuits {
        chain.hold_output(0);
        chain.close(circuit, 0);
    }
    chain.release_output(0);
    chain.run_for(Duration::from_secs(60));
    for &circuit in &circuits {
        assert!(
            chain.closures(circuit).iter().all(Option::is_some),
            "{circuit:?} lives on"
        );
    }
}
