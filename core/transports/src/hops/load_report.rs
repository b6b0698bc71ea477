//! Marut's part on hops: every node measures how loaded its hop is, and reports the most loaded one
//! (Ojha and Sharma, "Congestion Control in TOR", New York University, section V).
//!
//! Datagrams, repair and forward feedback are those of BackTap. Every node computes `diff` (BackTap
//! paper, eq. 1) for its hop, from the cells that it has sent and that its successor has not
//! reported as forwarded. Feedback carries the larger of this and of what the node heard from
//! downstream, `c_diff`, so that the source learns of the most loaded hop. Relays send whatever
//! they have: only their queues' limit holds a predecessor back. What the source does is the end
//! control's.
//!
//! The report leaves open how long a `c_diff` holds. `docs/spec/marut.md` says how it was decided.
//!
//! What leaks: every node of a circuit learns how loaded the most loaded hop beyond it is, though
//! not which one that is; besides, what BackTap leaks.

use hopflow_overlay::{
    ConfigError, Features, Forwarded, Gates, HopControl, HopCx, HopPlan, HopReport, HopSignal,
    Info, NodeEnv, Site, Violation,
};
use hopflow_units::{Duration, Instant, Interval, LinkId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::readings::WorstHop;
use super::shared::{check_wait, ignore, report, reporting};
use crate::layer::{Around, LayerOptions};
use crate::round::{BaseRtts, Round};
use crate::waiting::{Finding, PARTS};

/// Marut's measurement at one node.
#[derive(Clone, Debug)]
pub(crate) struct LoadReport {
    config: LoadReportConfig,
    base_rtts: BaseRtts,
}

/// Parameters of Marut's measurement.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct LoadReportConfig {
    /// How much longer than the smallest a round trip may take before cells count as waiting.
    tolerance: Duration,
    /// How long a node believes what it measured or heard.
    expiry: Interval,
    /// How long feedback may wait for company.
    feedback_delay: Duration,
}

/// What a node knows of a flow's hop.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// The hop's round trip.
    round: Round,
    /// The most cells that were outstanding on the hop since its load was measured.
    peak: u64,
    /// When the load of the hop was looked at last.
    measured: Instant,
    /// How many cells wait on the most loaded hop, in parts of a cell.
    load: WorstHop,
}

impl Default for LoadReportConfig {
    fn default() -> Self {
        Self {
            tolerance: Duration::ZERO,
            expiry: Interval::from_millis(1000),
            feedback_delay: Duration::from_millis(1),
        }
    }
}

impl LayerOptions for LoadReportConfig {
    fn settle(&mut self, _: &mut Around) -> Result<(), ConfigError> {
        check_wait("feedback-delay", self.feedback_delay)
    }
}

impl HopControl for LoadReport {
    const INFO: Info = reporting(
        "load-report",
        "hops report how many cells wait on the most loaded of them (Marut)",
        Features::LOAD_REPORTS,
    );
    type Config = LoadReportConfig;
    type Flow = Flow;

    fn plan(config: &LoadReportConfig) -> HopPlan {
        HopPlan::forwarding(config.feedback_delay)
    }

    fn new(config: &LoadReportConfig, _: &NodeEnv) -> Self {
        Self {
            config: *config,
            base_rtts: BaseRtts::default(),
        }
    }

    fn open(&mut self, _: &Site, _: &mut Gates<'_>) -> Flow {
        Flow {
            round: Round::default(),
            peak: 0,
            measured: Instant::ZERO,
            load: WorstHop::default(),
        }
    }

    fn check_change(_: &LoadReportConfig, _: &LoadReportConfig) -> Result<(), ConfigError> {
        Ok(())
    }

    fn reconfigure(&mut self, config: &LoadReportConfig) {
        self.config = *config;
    }

    #[inline]
    fn on(
        &mut self,
        flow: &mut Flow,
        cx: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        match signal {
            HopSignal::Arrived => flow.load.end_stale(self.config.expiry.get(), cx),
            HopSignal::Forwarded(sample) => self.on_forwarded(flow, cx, sample),
            HopSignal::Lost(_) => self.on_loss(flow, cx),
            HopSignal::EndJumped => flow.round.expect_fresh(cx.queue.sent),
            _ => return ignore(signal),
        }
        Ok(())
    }

    fn close_link(&mut self, link: LinkId) {
        self.base_rtts.forget(link);
    }

    fn load(&self, flow: &Flow, now: Instant) -> u64 {
        flow.load.value(self.config.expiry.get(), now).into()
    }
}

impl LoadReport {
    fn on_forwarded(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>, sample: &Forwarded) {
        flow.load.hear(sample.ext, cx.now);
        // Feedback that waits for company is no queue, so no round trip counts as shorter.
        let base = self.base_rtts.with(cx.now, cx.site, sample.rtt);
        let base = base.max(self.config.feedback_delay);
        let base = base + self.config.tolerance;
        let outstanding = cx.gate.outstanding() + sample.cells;
        flow.peak = flow.peak.max(outstanding.get());
        flow.round.note(sample.cells, sample.rtt);
        let measured = flow.measure(cx, base);
        let cells = sample.cells;
        self.report(flow, cx, HopReport::Forwarded { cells, measured });
    }

    /// A hop that loses cells is as loaded as one whose round trip doubled.
    fn on_loss(&self, flow: &mut Flow, cx: &mut HopCx<'_>) {
        let parts = u128::from(cx.gate.outstanding().get()) * PARTS;
        flow.load.raise(parts, cx.now);
        self.report(flow, cx, HopReport::Lost);
    }

    /// Lets the predecessor know the load, or at the source the end control what happened.
    fn report(&self, flow: &Flow, cx: &mut HopCx<'_>, happened: HopReport) {
        let load = flow.load.value(self.config.expiry.get(), cx.now);
        report(cx, load, happened);
    }
}

impl Flow {
    /// At the end of the hop's round trip, measures how many cells wait on it; true if it did.
    fn measure(&mut self, cx: &HopCx<'_>, base: Duration) -> bool {
        // A queue that grows makes round trips longer: its news must not wait for them.
        let late = cx.now.saturating_since(self.measured) >= base;
        if !self.round.is_over() && !late {
            return false;
        }
        self.measured = cx.now;
        self.round.restart(cx.queue.sent);
        let Some(actual) = self.round.take_least() else {
            return false;
        };
        let found = Finding::on_hop(self.peak, base, actual);
        let parts = found.diff * PARTS / found.unit;
        self.load.measure(parts, cx.now);
        self.peak = 0;
        true
    }
}
