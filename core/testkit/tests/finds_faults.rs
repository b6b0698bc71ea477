//! The battery finds what it is there to find: transports with one fault each.

use hopflow_overlay::{FlowCx, Gates, NodeEnv, Plan, Site, Transport};
use hopflow_testkit::{Made, conformance};
use hopflow_units::{Cells, Duration, StreamId};

/// What is wrong with the transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// Nothing.
    None,
    /// A window at the source that nobody ever releases.
    NeverReleases,
    /// A timer that is set again and again.
    NeverRests,
    /// Nothing holds a source back whose sink stalls.
    NeverHoldsBack,
    /// A window too small for the path.
    TooNarrow,
    /// Feedback that waits for longer than any application would.
    TooLazy,
}

#[derive(Debug)]
struct Faulty(Fault);

impl Transport for Faulty {
    const NAME: &'static str = "faulty";
    type Config = Fault;
    type Flow = ();

    fn plan(fault: &Fault) -> Plan {
        let feedback_delay = match fault {
            Fault::TooLazy => Duration::from_secs(5),
            _ => Duration::from_millis(1),
        };
        Plan {
            forward_feedback: *fault != Fault::NeverHoldsBack,
            ..Plan::datagrams(Cells::new(200), feedback_delay, Duration::from_millis(10))
        }
    }

    fn new(fault: &Fault, _: &NodeEnv) -> Self {
        Self(*fault)
    }

    fn open(&mut self, _: &Site, gates: &mut Gates) {
        match self.0 {
            Fault::NeverReleases => gates.end.set_window(Cells::new(20)),
            Fault::TooNarrow => gates.hop.set_window(Cells::new(2)),
            Fault::NeverHoldsBack => gates.hop.set_window(Cells::new(100)),
            _ => gates.hop.set_window(Cells::new(50)),
        }
    }

    fn on_taken(&mut self, (): &mut (), cx: &mut FlowCx<'_>, _: StreamId) {
        if self.0 == Fault::NeverRests {
            cx.set_timer(cx.now + Duration::from_millis(10));
        }
    }

    fn on_timer(&mut self, (): &mut (), cx: &mut FlowCx<'_>) {
        cx.set_timer(cx.now + Duration::from_millis(10));
    }
}

/// The checks that fail.
fn failures(fault: Fault) -> Vec<&'static str> {
    let factory = Made::<Faulty>::new(fault);
    let mut failed = Vec::new();
    for (name, check) in conformance::CHECKS {
        let run = std::panic::AssertUnwindSafe(|| check(&factory));
        if std::panic::catch_unwind(run).is_err() {
            failed.push(*name);
        }
    }
    failed
}

#[track_caller]
fn assert_found(fault: Fault, check: &str) {
    let failed = failures(fault);
    assert!(failed.contains(&check), "{fault:?} fails {failed:?} only");
}

#[test]
fn a_sound_transport_passes() {
    assert!(failures(Fault::None).is_empty());
}

#[test]
fn a_window_that_nobody_releases_is_found() {
    assert_found(Fault::NeverReleases, "every_byte_arrives_once_and_in_order");
}

#[test]
fn a_timer_that_never_rests_is_found() {
    assert_found(Fault::NeverRests, "an_idle_node_asks_for_nothing");
}

#[test]
fn a_sender_that_nothing_holds_back_is_found() {
    // Not by a stalled sink: there the machine itself asks the source to pause.
    assert_found(Fault::NeverHoldsBack, "a_lone_flow_fills_its_bottleneck");
}

#[test]
fn a_window_too_narrow_is_found() {
    assert_found(Fault::TooNarrow, "a_lone_flow_fills_its_bottleneck");
}

#[test]
fn lazy_feedback_is_found() {
    assert_found(Fault::TooLazy, "a_lone_flow_fills_its_bottleneck");
}
