//! Throughput of one flow, and how two of them share.

use hopflow_overlay::{BucketConfig, Factory, Multiplexing};
use hopflow_units::{Bytes, Duration, Rate};
use hopflow_wire::{CELL_DATA, Frame};

use crate::{Chain, Counted, End, Manner, Medium};

/// Bytes per second of the bottleneck.
const RATE: u64 = 500_000;
/// More than any flow sends in the time.
const PLENTY: Bytes = Bytes::new(20_000_000);

/// A relay with a token bucket passes on what its bucket allows, and no more.
pub(super) fn a_token_bucket_limits_what_a_node_sends(factory: &dyn Factory<Counted>) {
    let bucket = BucketConfig {
        rate: Rate::from_bytes_per_sec(RATE).expect("it is positive"),
        depth: Bytes::new(RATE / 10),
        interval: factory.plan().link.refill,
        phase: Duration::from_millis(3),
    };
    let medium = Medium::delay(Duration::from_millis(5));
    let mut chain = Chain::new(factory, 1, Manner::WireTrue, 1).with_medium(medium);
    let relay = chain.add_node(Some(bucket));
    let server = chain.add_node(None);
    for _ in 0..2 {
        let circuit = chain.circuit(&[0, relay, server]);
        let stream = chain.stream(&[circuit]);
        chain.write(stream, End::Exit, PLENTY);
    }
    let mut at_first = 0;
    for second in 1..=20 {
        chain.run_for(Duration::from_secs(1));
        let cell = Frame::<Counted>::cell_len(factory.plan().link.carrier);
        let counters = chain.counters(relay);
        // What ends repeat pays, too.
        let sent = (counters.cells_sent + counters.cells_resent) * cell.get();
        let allowed = bucket.depth.get() + RATE * second;
        assert!(sent <= allowed, "{sent} bytes of cells in {second} s");
        // How it starts is the transport's matter.
        if second == 1 {
            at_first = sent;
        }
        let (later, due) = (sent - at_first, RATE * (second - 1));
        assert!(
            later as f64 >= 0.9 * factory.plan().hop.target_utilization * due as f64,
            "only {later} bytes of cells in {second} s without the first"
        );
    }
}

/// Application bytes that each of `flows` downloads gets between the 10th and the 30th second.
fn share(factory: &dyn Factory<Counted>, flows: usize) -> Vec<f64> {
    let rate = Rate::from_bytes_per_sec(RATE).expect("it is positive");
    let fast = Medium::delay(Duration::from_millis(10));
    let mut chain = Chain::new(factory, 1, Manner::Orderly, 1).with_medium(fast);
    // Circuits with links of their own share no link, so it is their relay that is narrow.
    let apart = factory.plan().link.multiplexing == Multiplexing::PerCircuit;
    let bucket = BucketConfig {
        rate,
        depth: Bytes::new(RATE / 10),
        interval: factory.plan().link.refill,
        phase: Duration::from_millis(3),
    };
    let relay = chain.add_node(apart.then_some(bucket));
    let server = chain.add_node(None);
    if !apart {
        // The link next to the client is made first and is the narrow one.
        chain.set_medium(fast.with_rate(rate).with_buffer(Bytes::new(40_000)));
        chain.circuit(&[0, relay]);
        chain.set_medium(fast);
    }
    let streams: Vec<_> = (0..flows)
        .map(|_| {
            let circuit = chain.circuit(&[0, relay, server]);
            let stream = chain.stream(&[circuit]);
            chain.write(stream, End::Exit, PLENTY);
            chain.run_for(Duration::from_millis(100));
            stream
        })
        .collect();
    chain.run_for(Duration::from_secs(10));
    let before: Vec<_> = streams
        .iter()
        .map(|&stream| chain.arrived(stream, End::Exit))
        .collect();
    chain.run_for(Duration::from_secs(20));
    streams
        .iter()
        .zip(before)
        .map(|(&stream, before)| (chain.arrived(stream, End::Exit) - before).as_f64())
        .collect()
}

/// The share of what the bottleneck carries in the time, less the cells' headers, that these bytes
/// are.
fn used(bytes: f64) -> f64 {
    bytes / ((20 * RATE) as f64 * CELL_DATA as f64 / 517.0)
}

/// What is used is at least nine tenths of what the transport fills.
///
/// A window that follows the delay can do so whatever its target is. It shrinks where a round trip
/// exceeds `base + target`. What stays after a decrease by a share `b` fills the hop if
/// `(1 - b) * (base + target) >= base`: always, if `b` is the part of the round trip that is too
/// long, and else from `target = base * b / (1 - b)` on.
fn assert_filled(factory: &dyn Factory<Counted>, used: f64) {
    let least = 0.9 * factory.plan().hop.target_utilization;
    assert!(
        (least..=1.02).contains(&used),
        "{used:.3} of the bottleneck is used; required is {least:.3} to 1.02"
    );
}

/// One download gets at least nine tenths of what its narrowest link can carry.
pub(super) fn a_lone_flow_fills_its_bottleneck(factory: &dyn Factory<Counted>) {
    assert_filled(factory, used(share(factory, 1)[0]));
}

/// Two downloads behind the same bottleneck get the same, within a tenth, and together fill it.
pub(super) fn equal_flows_share_equally(factory: &dyn Factory<Counted>) {
    let shares = share(factory, 2);
    let ratio = shares[0] / shares[1];
    assert!(
        (0.9..=1.1).contains(&ratio),
        "two flows get {:.3} and {:.3} of the bottleneck; required is a ratio from 0.9 to 1.1, it \
         is {ratio:.3}",
        used(shares[0]),
        used(shares[1]),
    );
    assert_filled(factory, used(shares[0] + shares[1]));
}
