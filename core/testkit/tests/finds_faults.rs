//! The battery finds what it is there to find: transports with one fault each.

use std::sync::Arc;

use hopflow_overlay::{
    EndControl, EndCx, EndGates, EndPlan, EndSignal, EndState, FeedbackPlan, Gates, GatesChoose,
    HopControl, HopCx, HopPlan, HopRepair, HopSignal, Info, LinkPlan, NoEndControl, NodeEnv,
    Repair, Site, Stack, Violation,
};
use hopflow_testkit::conformance;
use hopflow_units::{Cells, Duration};

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

#[derive(Clone, Debug)]
struct Faulty(Fault);

impl HopControl for Faulty {
    const INFO: Info = Info::new("faulty", "a transport with a fault");
    type Config = Fault;
    type Flow = ();

    fn plan(fault: &Fault) -> HopPlan {
        let delay = match fault {
            Fault::TooLazy => Duration::from_secs(5),
            _ => Duration::from_millis(1),
        };
        let forwarded = *fault != Fault::NeverHoldsBack;
        HopPlan::new(FeedbackPlan::every_cell(forwarded, delay))
    }

    fn new(fault: &Fault, _: &NodeEnv) -> Self {
        Self(*fault)
    }

    fn open(&mut self, _: &Site, gates: &mut Gates<'_>) {
        match self.0 {
            Fault::NeverReleases => {}
            Fault::TooNarrow => gates.hop.set_window(Cells::new(2)),
            Fault::NeverHoldsBack => gates.hop.set_window(Cells::new(100)),
            _ => gates.hop.set_window(Cells::new(50)),
        }
    }

    fn on(
        &mut self,
        (): &mut (),
        cx: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        let wakes = matches!(signal, HopSignal::Arrived | HopSignal::Timer);
        if self.0 == Fault::NeverRests && wakes {
            cx.set_timer(cx.now + Duration::from_millis(10));
        }
        Ok(())
    }
}

/// A window at the source that nobody releases.
#[derive(Clone, Debug)]
struct Unreleased;

impl EndControl for Unreleased {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info::new("unreleased", "a window that nobody releases");
        &INFO
    }

    fn plan(&self) -> EndPlan {
        EndPlan::default()
    }

    fn open(&self, _: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        gates.end.set_window(Cells::new(20));
        Some(Box::new(Self))
    }
}

impl EndState for Unreleased {
    fn on(&mut self, _: &mut EndCx<'_>, _: EndSignal<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

fn stack(fault: Fault) -> Stack<Faulty> {
    let link = LinkPlan::datagrams(Cells::new(200), Duration::from_millis(10));
    let end: Arc<dyn EndControl> = match fault {
        Fault::NeverReleases => Arc::new(Unreleased),
        _ => Arc::new(NoEndControl),
    };
    let repair = Repair::PerHop(HopRepair::default());
    Stack::new((link, repair), fault, end, Arc::new(GatesChoose))
}

/// The checks that fail.
fn failures(fault: Fault) -> Vec<&'static str> {
    let factory = stack(fault);
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
