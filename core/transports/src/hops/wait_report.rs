//! The first successor of Marut, on hops (Marut's report, section VII): every node measures how long
//! cells wait on its hop, and reports the longest wait.
//!
//! A wait is what a round trip to the successor takes beyond the smallest one. Feedback carries the
//! longest wait from a node on, in units of 62.5 µs. `docs/spec/marut-timely.md` has the details.
//!
//! What leaks: every node learns how long cells wait on the slowest hop beyond it; besides, what
//! Marut leaks.

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
use crate::round::BaseRtts;
use crate::waiting::WAIT_UNIT;

/// The measurement of waits at one node.
#[derive(Clone, Debug)]
pub(crate) struct WaitReport {
    config: WaitReportConfig,
    base_rtts: BaseRtts,
}

/// Parameters of the measurement of waits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct WaitReportConfig {
    /// How long feedback may wait for company.
    feedback_delay: Duration,
    /// How long a node believes what it measured or heard.
    expiry: Interval,
}

/// What a node knows of a flow's hop.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// How long cells wait on the slowest hop, in units of the extension.
    wait: WorstHop,
    /// The shortest wait since the hop was looked at.
    least: Option<Duration>,
}

impl Default for WaitReportConfig {
    fn default() -> Self {
        Self {
            feedback_delay: Duration::from_millis(1),
            expiry: Interval::from_millis(1000),
        }
    }
}

impl LayerOptions for WaitReportConfig {
    fn settle(&mut self, _: &mut Around) -> Result<(), ConfigError> {
        check_wait("feedback-delay", self.feedback_delay)
    }
}

impl HopControl for WaitReport {
    const INFO: Info = reporting(
        "wait-report",
        "hops report how long cells wait on the slowest of them",
        Features::WAIT_REPORTS,
    );
    type Config = WaitReportConfig;
    type Flow = Flow;

    fn plan(config: &WaitReportConfig) -> HopPlan {
        HopPlan::forwarding(config.feedback_delay)
    }

    fn new(config: &WaitReportConfig, _: &NodeEnv) -> Self {
        Self {
            config: *config,
            base_rtts: BaseRtts::default(),
        }
    }

    fn open(&mut self, _: &Site, _: &mut Gates<'_>) -> Flow {
        Flow {
            wait: WorstHop::default(),
            least: None,
        }
    }

    fn check_change(_: &WaitReportConfig, _: &WaitReportConfig) -> Result<(), ConfigError> {
        Ok(())
    }

    fn reconfigure(&mut self, config: &WaitReportConfig) {
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
            HopSignal::Arrived => flow.wait.end_stale(self.config.expiry.get(), cx),
            HopSignal::Forwarded(sample) => self.on_forwarded(flow, cx, sample),
            _ => return ignore(signal),
        }
        Ok(())
    }

    fn close_link(&mut self, link: LinkId) {
        self.base_rtts.forget(link);
    }

    fn load(&self, flow: &Flow, now: Instant) -> u64 {
        flow.wait.value(self.config.expiry.get(), now).into()
    }
}

impl WaitReport {
    fn on_forwarded(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>, sample: &Forwarded) {
        flow.wait.hear(sample.ext, cx.now);
        if let Some(rtt) = sample.rtt {
            // Feedback that waits for company is no queue, so no round trip counts as shorter.
            let base = self.base_rtts.with(cx.now, cx.site, Some(rtt));
            let base = base.max(self.config.feedback_delay);
            flow.measure(cx.now, rtt.saturating_sub(base), base);
        }
        let wait = flow.wait.value(self.config.expiry.get(), cx.now);
        let happened = HopReport::Forwarded {
            cells: sample.cells,
            measured: sample.rtt.is_some(),
        };
        report(cx, wait, happened);
    }
}

impl Flow {
    /// Takes a sample of the hop, and closes the measurement after the time of a round trip.
    fn measure(&mut self, now: Instant, wait: Duration, base: Duration) {
        let least = self.least.map_or(wait, |least| least.min(wait));
        self.least = Some(least);
        if now.saturating_since(self.wait.measured_at()) >= base {
            let units = least.as_nanos() / WAIT_UNIT.as_nanos();
            self.wait.measure(units.into(), now);
            self.least = None;
        }
    }
}
