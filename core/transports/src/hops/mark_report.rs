//! The second successor of Marut, on hops (Marut's report, section VII): every node marks the cells
//! that its successor reports as forwarded while more than `K` cells wait on the hop (as in DCTCP;
//! Alizadeh et al., SIGCOMM '10, section 3). Feedback carries the number of marks from there on.
//!
//! `docs/spec/marut-dctcp.md` has the details.
//!
//! What leaks: every node learns how many cells were marked beyond it; besides, what Marut leaks.

use hopflow_overlay::{
    ConfigError, Features, Forwarded, Gates, HopControl, HopCx, HopPlan, HopReport, HopSignal,
    Info, NodeEnv, Site, Violation,
};
use hopflow_units::{Cells, Duration, Instant, LinkId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::{check_wait, ignore, report, reporting};
use crate::layer::{Around, LayerOptions};
use crate::round::BaseRtts;

/// Marking at one node.
#[derive(Clone, Debug)]
pub(crate) struct MarkReport {
    config: MarkReportConfig,
    base_rtts: BaseRtts,
}

/// Parameters of marking.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct MarkReportConfig {
    /// How long feedback may wait for company.
    feedback_delay: Duration,
    /// Cells that may wait on a hop without a mark (DCTCP's K).
    #[schemars(range(min = 1))]
    threshold: Cells,
}

/// The marks of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// Cells marked here, modulo 2^16.
    own: u16,
    /// Cells marked beyond, modulo 2^16.
    downstream: u16,
}

impl Default for MarkReportConfig {
    fn default() -> Self {
        Self {
            feedback_delay: Duration::from_millis(1),
            threshold: Cells::new(10),
        }
    }
}

impl LayerOptions for MarkReportConfig {
    fn settle(&mut self, _: &mut Around) -> Result<(), ConfigError> {
        check_wait("feedback-delay", self.feedback_delay)
    }
}

impl HopControl for MarkReport {
    const INFO: Info = reporting(
        "mark-report",
        "hops mark cells where many wait, and report the number of marks",
        Features::MARK_REPORTS,
    );
    type Config = MarkReportConfig;
    type Flow = Flow;

    fn plan(config: &MarkReportConfig) -> HopPlan {
        HopPlan::forwarding(config.feedback_delay)
    }

    fn new(config: &MarkReportConfig, _: &NodeEnv) -> Self {
        Self {
            config: *config,
            base_rtts: BaseRtts::default(),
        }
    }

    fn open(&mut self, _: &Site, _: &mut Gates<'_>) -> Flow {
        Flow::default()
    }

    fn check_change(_: &MarkReportConfig, _: &MarkReportConfig) -> Result<(), ConfigError> {
        Ok(())
    }

    fn reconfigure(&mut self, config: &MarkReportConfig) {
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
            HopSignal::Forwarded(sample) => self.on_forwarded(flow, cx, sample),
            _ => return ignore(signal),
        }
        Ok(())
    }

    fn close_link(&mut self, link: LinkId) {
        self.base_rtts.forget(link);
    }

    fn load(&self, flow: &Flow, _: Instant) -> u64 {
        flow.marks().into()
    }
}

impl MarkReport {
    fn on_forwarded(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>, sample: &Forwarded) {
        if let Some(marks) = sample.ext {
            flow.hear(marks);
        }
        if let Some(rtt) = sample.rtt {
            // Feedback that waits for company is no queue.
            let base = self.base_rtts.with(cx.now, cx.site, Some(rtt));
            let base = base.max(self.config.feedback_delay);
            let outstanding = cx.gate.outstanding() + sample.cells;
            if waiting(outstanding, base, rtt) > self.config.threshold {
                flow.own = flow.own.wrapping_add(sample.cells.get() as u16);
            }
        }
        let happened = HopReport::Forwarded {
            cells: sample.cells,
            measured: sample.rtt.is_some(),
        };
        report(cx, flow.marks(), happened);
    }
}

impl Flow {
    /// Takes the count of marks beyond the successor, unless newer feedback has overtaken it.
    fn hear(&mut self, marks: u16) {
        if marks.wrapping_sub(self.downstream) < 1 << 15 {
            self.downstream = marks;
        }
    }

    /// Cells marked here and beyond, modulo 2^16.
    fn marks(&self) -> u16 {
        self.own.wrapping_add(self.downstream)
    }
}

/// Of `outstanding` cells on a hop, those that wait: what a round trip without queues would not
/// hold (BackTap paper, eq. 1, over the actual round trip).
fn waiting(outstanding: Cells, base: Duration, rtt: Duration) -> Cells {
    let excess = u128::from(rtt.saturating_sub(base).as_nanos());
    let waiting = u128::from(outstanding.get()) * excess / u128::from(rtt.as_nanos().max(1));
    Cells::new(waiting as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_outstanding_cells_those_wait_that_the_base_round_trip_does_not_hold() {
        let millis = Duration::from_millis;
        let waiting = |cells, base, rtt| waiting(Cells::new(cells), millis(base), millis(rtt));
        assert_eq!(waiting(40, 20, 20), Cells::ZERO);
        assert_eq!(waiting(40, 20, 40), Cells::new(20));
        assert_eq!(waiting(40, 20, 10), Cells::ZERO);
        assert_eq!(waiting(40, 0, 0), Cells::ZERO);
    }

    #[test]
    fn counts_of_marks_wrap_and_older_ones_are_ignored() {
        let mut flow = Flow::default();
        flow.hear(0x7000);
        flow.hear(0xe000);
        flow.hear(0x0010);
        assert_eq!(flow.marks(), 0x0010);
        flow.hear(0xfff0);
        assert_eq!(flow.marks(), 0x0010);
    }
}
