//! The parts of a flow's gates: credit over a stream, pace, and windows, through test transports.

use crate::support::{PlainConfig, hop_plan};
use hopflow_overlay::{
    Gates, HopControl, HopCx, HopPlan, HopSignal, Info, NodeEnv, Site, Stack, Violation,
};
use hopflow_testkit::{Bench, Chain, End, Manner, Medium};
use hopflow_units::{Bytes, Cells, Duration};

/// Credits as in N23: a successor's queue is lent to its predecessor, cell by cell.
#[derive(Clone, Debug)]
struct Credits;

/// Cells that a relay lends.
const LENT: u64 = 20;

impl HopControl for Credits {
    const INFO: Info = Info::new("credits", "a successor's queue, lent cell by cell");
    type Config = PlainConfig;
    type Flow = u64;

    fn plan(_: &PlainConfig) -> HopPlan {
        hop_plan(true)
    }

    fn new(_: &PlainConfig, _: &NodeEnv) -> Self {
        Self
    }

    fn open(&mut self, _: &Site, gates: &mut Gates<'_>) -> u64 {
        gates.hop.grant_total(Cells::new(LENT));
        0
    }

    fn on(
        &mut self,
        forwarded: &mut u64,
        cx: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        if let HopSignal::Forwarded(sample) = signal {
            *forwarded += sample.cells.get();
            cx.gate.grant_total(Cells::new(*forwarded + LENT));
        }
        Ok(())
    }
}

fn credits(config: PlainConfig) -> Stack<Credits> {
    config.stack()
}

#[test]
fn credits_bound_what_a_hop_holds_and_never_run_dry_for_good() {
    let factory = credits(PlainConfig::streams());
    for manner in [Manner::WireTrue, Manner::Adversarial] {
        let medium = Medium::delay(Duration::from_millis(10)).with_buffer(Bytes::new(4096));
        let mut chain = Chain::new(&factory, 4, manner, 1).with_medium(medium);
        let streams = [(); 2].map(|()| {
            let circuit = chain.circuit(&[0, 1, 2, 3]);
            chain.stream(&[circuit])
        });
        for stream in streams {
            chain.write(stream, End::Exit, Bytes::new(100_000));
            chain.write(stream, End::Client, Bytes::new(20_000));
        }
        assert!(chain.run_to_arrival(Duration::from_secs(60)));
        let most = chain.watch().largest_queue;
        assert!(most <= LENT, "{most} cells in a queue");
        chain.run_for(Duration::from_secs(200));
        chain.assert_conserved();
    }
}

#[test]
fn a_sink_that_stalls_keeps_its_circuit_on_a_stream_with_feedback() {
    let factory = credits(PlainConfig::streams());
    let mut chain = Chain::new(&factory, 3, Manner::WireTrue, 1);
    let circuit = chain.circuit(&[0, 1, 2]);
    let stream = chain.stream(&[circuit]);
    chain.write(stream, End::Exit, Bytes::new(100_000));
    chain.run_for(Duration::from_millis(100));
    chain.set_reading(stream, End::Client, false);
    chain.run_for(Duration::from_secs(7200));
    chain.set_reading(stream, End::Client, true);
    assert!(chain.run_to_arrival(Duration::from_secs(60)));
}

#[test]
fn a_successor_that_answers_probes_is_not_gone() {
    let mut client = Bench::client(&credits(PlainConfig::datagrams()));
    assert_eq!(client.write(Bytes::new(10_000)).cells(0), LENT as usize);
    client.receive(0, Bench::feedback(LENT, 0));
    let mut probes = 0;
    for _ in 0..7200 {
        let sent = client.wait(Duration::from_secs(1));
        assert_eq!(sent.closed, [], "after {probes} probes");
        if sent.asks(0) {
            probes += 1;
            client.receive(0, Bench::feedback(LENT, 0));
        }
    }
    assert!(probes > 12, "{probes} probes");
}

#[test]
fn a_stream_loses_nothing_so_nobody_probes_for_its_feedback() {
    let mut client = Bench::client(&credits(PlainConfig::streams()));
    client.write(Bytes::new(10_000));
    client.receive(0, Bench::feedback(0, 1));
    let sent = client.wait(Duration::from_secs(7200));
    assert!(sent.frames.is_empty() && sent.closed.is_empty(), "{sent:?}");
}

/// Seconds that 100 cells take over one hop.
fn seconds(config: PlainConfig) -> f64 {
    let factory = config.factory();
    let mut chain = Chain::new(&factory, 2, Manner::WireTrue, 1);
    let circuit = chain.circuit(&[0, 1]);
    let stream = chain.stream(&[circuit]);
    chain.write(stream, End::Exit, Bytes::new(498 * 100));
    assert!(chain.run_to_arrival(Duration::from_secs(60)), "it hangs");
    chain.last_arrival(stream).as_secs_f64()
}

#[test]
fn a_hops_pace_spaces_cells() {
    let pace = Some(Duration::from_millis(10));
    for base in [PlainConfig::datagrams(), PlainConfig::streams()] {
        let took = seconds(PlainConfig {
            hop_pace: pace,
            ..base
        });
        assert!((1.0 - 0.01..1.02).contains(&took), "{took}");
    }
}

#[test]
fn the_pace_of_what_a_source_packages_spaces_cells() {
    let pace = Some(Duration::from_millis(10));
    for base in [PlainConfig::datagrams(), PlainConfig::streams()] {
        let took = seconds(PlainConfig {
            end_pace: pace,
            ..base
        });
        assert!((1.0 - 0.01..1.02).contains(&took), "{took}");
    }
}
