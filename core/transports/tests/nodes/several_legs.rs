//! Streams over several circuits: the choice of a leg as in Conflux, and windows.

use hopflow_overlay::{Direction, Factory};
use hopflow_testkit::{Chain, CircuitNo, Counted, End, Manner, Medium, StreamNo};
use hopflow_units::{Bytes, Duration};

const FAST: Duration = Duration::from_millis(5);
const SLOW: Duration = Duration::from_millis(60);

fn tor_vegas() -> Box<dyn Factory<Counted>> {
    hopflow_transports::build("tor-vegas", &toml::Table::new()).expect("it is a preset")
}

/// A stream from node 3 to node 0 over node 1 (fast) and node 2 (slow), whose legs have been
/// measured.
fn two_legs(factory: &dyn Factory<Counted>) -> (Chain<'_>, [CircuitNo; 2], StreamNo) {
    let medium = |delay| Medium::delay(delay).with_buffer(Bytes::new(30_000));
    let mut chain = Chain::new(factory, 4, Manner::WireTrue, 1).with_medium(medium(FAST));
    let fast = chain.circuit(&[0, 1, 3]);
    chain.set_medium(medium(SLOW));
    let slow = chain.circuit(&[0, 2, 3]);
    let stream = chain.stream(&[fast, slow]);
    for end in [End::Client, End::Exit] {
        chain.write(stream, end, Bytes::new(400_000));
    }
    assert!(chain.run_to_arrival(Duration::from_secs(60)), "it hangs");
    (chain, [fast, slow], stream)
}

/// Cells that came to the far end over each circuit while `len` bytes were sent from `end`.
fn cells_of(
    (chain, legs, stream): &mut (Chain<'_>, [CircuitNo; 2], StreamNo),
    end: End,
    len: u64,
) -> [u64; 2] {
    let (sink, direction) = match end {
        End::Client => (2, Direction::Forward),
        End::Exit => (0, Direction::Backward),
    };
    let count = |chain: &Chain<'_>| {
        legs.map(|leg| {
            let view = chain.flow(leg, sink, direction);
            view.map_or(0, |view| view.departed.get())
        })
    };
    let before = count(chain);
    chain.write(*stream, end, Bytes::new(len));
    assert!(chain.run_to_arrival(Duration::from_secs(60)), "it hangs");
    let after = count(chain);
    [0, 1].map(|leg| after[leg] - before[leg])
}

#[test]
fn what_the_fastest_leg_can_take_it_takes() {
    let factory = tor_vegas();
    let [fast, slow] = cells_of(&mut two_legs(factory.as_ref()), End::Exit, 20_000);
    // SENDMEs for what the other end sent before count, too.
    assert!(fast >= 40 && slow <= 3, "{fast}, {slow}");
}

#[test]
fn an_exit_uses_a_slower_leg_while_the_fastest_is_full() {
    let factory = tor_vegas();
    let [fast, slow] = cells_of(&mut two_legs(factory.as_ref()), End::Exit, 2_000_000);
    // Both bottlenecks are alike.
    assert!(fast > 1500 && slow > 1500, "{fast}, {slow}");
}

#[test]
fn a_client_waits_for_its_fastest_leg() {
    let factory = tor_vegas();
    let [fast, slow] = cells_of(&mut two_legs(factory.as_ref()), End::Client, 2_000_000);
    assert!(fast > 3900, "{fast}, {slow}");
}

#[test]
fn a_streams_window_counts_its_cells_whichever_circuits_bring_them() {
    let options =
        "circuit-window = 1000\nstream-window = 50\nstream-increment = 50\nsource-queue = 2";
    let options = options.parse().expect("they are options");
    let factory: Box<dyn Factory<Counted>> =
        hopflow_transports::build("vanilla", &options).expect("it is a preset");
    let mut chain = Chain::new(factory.as_ref(), 4, Manner::WireTrue, 1)
        .with_medium(Medium::delay(FAST).with_buffer(Bytes::new(30_000)));
    let legs = [chain.circuit(&[0, 1, 3]), chain.circuit(&[0, 2, 3])];
    let stream = chain.stream(&legs);
    for end in [End::Client, End::Exit] {
        chain.write(stream, end, Bytes::new(400_000));
    }
    assert!(chain.run_to_arrival(Duration::from_secs(60)), "it hangs");
}
