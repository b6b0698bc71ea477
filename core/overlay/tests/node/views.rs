//! What controls on hops see of their node, and words that reach a predecessor before its first cell.

use hopflow_overlay::{
    BucketConfig, Direction, FeedbackPlan, Gates, HopControl, HopCx, HopPlan, HopSignal, Info,
    Metric, NodeEnv, Site, Stack, Violation,
};
use hopflow_testkit::{Chain, CircuitNo, End, Manner};
use hopflow_units::{Bytes, Duration, Rate};

use crate::support::{PlainConfig, hop_plan};

/// Tells predecessors a word ahead, and keeps what it hears and sees.
#[derive(Clone, Debug)]
struct Watcher;

#[derive(Clone, Debug, Default)]
struct Seen {
    /// The word that the successor told, and whether that was before the first cell.
    heard: Option<(u16, bool)>,
    busy: Option<usize>,
    tokens: Option<i64>,
}

/// What every node says.
const WORD: u16 = 7;
/// How long a flow is busy after a cell.
const BUSY: Duration = Duration::from_millis(500);

impl HopControl for Watcher {
    const INFO: Info = Info {
        metrics: &[
            metric("heard"),
            metric("ahead"),
            metric("busy"),
            metric("tokens"),
        ],
        ..Info::new("watcher", "notes what it sees")
    };
    type Config = PlainConfig;
    type Flow = Seen;

    fn plan(config: &PlainConfig) -> HopPlan {
        let plan = hop_plan(config.forwarded);
        HopPlan {
            feedback: FeedbackPlan {
                ahead: true,
                ..plan.feedback
            },
            busy: Some(BUSY),
            ..plan
        }
    }

    fn new(_: &PlainConfig, _: &NodeEnv) -> Self {
        Self
    }

    fn open(&mut self, _: &Site, _: &mut Gates<'_>) -> Seen {
        Seen::default()
    }

    fn on(
        &mut self,
        seen: &mut Seen,
        cx: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        seen.busy = Some(cx.node.busy());
        seen.tokens = cx.node.bucket().map(|level| level.tokens);
        match signal {
            HopSignal::Returning => {
                *cx.feedback_ext = Some(WORD);
                cx.tell();
            }
            HopSignal::Forwarded(sample) => {
                let ahead = cx.queue.sent.is_zero();
                let heard = sample.ext.map(|word| (word, ahead));
                seen.heard = seen.heard.or(heard);
            }
            _ => {}
        }
        Ok(())
    }

    fn sample(&self, seen: &Seen, out: &mut Vec<f64>) {
        let heard = seen.heard;
        out.extend([
            heard.map_or(f64::NAN, |(word, _)| word.into()),
            heard.map_or(f64::NAN, |(_, ahead)| f64::from(u8::from(ahead))),
            seen.busy.map_or(f64::NAN, |busy| busy as f64),
            seen.tokens.map_or(f64::NAN, |tokens| tokens as f64),
        ]);
    }
}

const fn metric(name: &'static str) -> Metric {
    Metric {
        name,
        unit: "cells",
        about: "what a flow saw last",
    }
}

fn value(chain: &Chain<'_>, circuit: CircuitNo, hop: usize, way: Direction, name: &str) -> f64 {
    let measured = chain.measured(circuit, hop, way);
    let found = measured.iter().find(|value| value.metric.name == name);
    found.map_or(f64::NAN, |value| value.value)
}

fn watchers() -> Stack<Watcher> {
    PlainConfig::datagrams().stack()
}

#[test]
fn words_reach_the_far_end_with_the_request() {
    let factory = watchers();
    let mut chain = Chain::new(&factory, 3, Manner::WireTrue, 1);
    let circuit = chain.circuit(&[0, 1, 2]);
    let stream = chain.stream(&[circuit]);
    chain.write(stream, End::Client, Bytes::new(100));
    assert!(chain.run_to_arrival(Duration::from_secs(10)));
    for hop in [1, 2] {
        let value = |name| value(&chain, circuit, hop, Direction::Backward, name);
        assert_eq!([value("heard"), value("ahead")], [f64::from(WORD), 1.0]);
    }
    // A response is answered with words, too; none of this disturbs what follows.
    chain.write(stream, End::Exit, Bytes::new(50_000));
    assert!(chain.run_to_arrival(Duration::from_secs(10)));
    chain.assert_conserved();
}

#[test]
fn a_flow_sees_how_many_are_busy_and_what_the_bucket_holds() {
    let factory = watchers();
    let mut chain = Chain::new(&factory, 1, Manner::WireTrue, 1);
    let relay = chain.add_node(Some(BucketConfig {
        rate: Rate::from_bytes_per_sec(1_000_000).unwrap(),
        depth: Bytes::new(500_000),
        interval: Duration::from_millis(1),
        phase: Duration::ZERO,
    }));
    let exit = chain.add_node(None);
    let circuits = [(); 3].map(|()| chain.circuit(&[0, relay, exit]));
    let streams = circuits.map(|circuit| chain.stream(&[circuit]));
    for stream in &streams[..2] {
        chain.write(*stream, End::Exit, Bytes::new(50_000));
    }
    assert!(chain.run_to_arrival(Duration::from_secs(10)));
    let seen =
        |chain: &Chain<'_>, circuit, name| value(chain, circuit, 1, Direction::Backward, name);
    assert_eq!(seen(&chain, circuits[0], "busy"), 2.0);
    let tokens = seen(&chain, circuits[0], "tokens");
    assert!((380_000.0..450_000.0).contains(&tokens), "{tokens}");
    assert!(value(&chain, circuits[0], 2, Direction::Backward, "tokens").is_nan());
    chain.run_for(Duration::from_secs(2));
    chain.write(streams[2], End::Exit, Bytes::new(5_000));
    assert!(chain.run_to_arrival(Duration::from_secs(10)));
    assert_eq!(seen(&chain, circuits[2], "busy"), 1.0);
}
