//! A window on every hop that follows the forward delay by AIMD, in the manner of Swift (Kumar et
//! al., SIGCOMM '20, section 3.1): it grows by a cell per round trip, and shrinks by a share of
//! itself, once per round trip, while cells wait longer than a target. The share is that of the round
//! trip which is too much: what stays under way fills the hop for as long as may be, so that it never
//! idles.
//!
//! What leaks: a predecessor learns when each of its cells is forwarded.

use hopflow_overlay::{
    ConfigError, Features, FeedbackPlan, Forwarded, Gates, HopControl, HopCx, HopPlan, HopSignal,
    Info, Metric, NodeEnv, Site, Violation,
};
use hopflow_transports::{Around, BaseRtts, Family, LayerOptions, Preset};
use hopflow_units::{Cells, Duration, Instant, Interval, LinkId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// BackTap's links and repair with this control.
pub(crate) static PRESET: Preset = Preset {
    name: "delay-aimd",
    about: "A window on every hop, by AIMD on the forward delay",
    family: &Family {
        name: "delay-aimd",
        hop: "delay-aimd",
        ..Family::BACKTAP
    },
    options: "",
};

/// Windows count in thousandths of a cell.
const CELL: u64 = 1000;
/// Feedback may wait this long to be batched: samples are longer by up to as much.
const FEEDBACK_DELAY: Duration = Duration::from_millis(1);

/// What the flows of a node share.
#[derive(Clone, Debug)]
pub(crate) struct DelayAimd {
    config: Config,
    base_rtts: BaseRtts,
}

/// The options.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// The first window, in cells.
    #[schemars(range(min = 1))]
    initial_window: Cells,
    /// How much longer than the base round trip one may take.
    target: Interval,
    /// A delay that does not count as waiting: what a real host adds.
    tolerance: Duration,
}

/// What one flow remembers.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    window: u64,
    last: Option<Duration>,
    /// Until then samples are of cells sent before the last decrease.
    calm_until: Instant,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial_window: Cells::new(10),
            target: Interval::from_millis(5),
            tolerance: Duration::ZERO,
        }
    }
}

impl LayerOptions for Config {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        around.need_queue(self.initial_window, self.initial_window);
        Ok(())
    }
}

impl HopControl for DelayAimd {
    const INFO: Info = Info {
        provides: Features::BOUND,
        requires: &[(
            Features::HOP_REPAIR,
            "The window counts on every cell to be reported as forwarded.",
        )],
        metrics: &[Metric {
            name: "forward_delay",
            unit: "seconds",
            about: "the last round trip until a cell was reported as forwarded",
        }],
        ..Info::new("delay-aimd", "a window by AIMD on the forward delay")
    };
    type Config = Config;
    type Flow = Flow;

    fn plan(_: &Config) -> HopPlan {
        HopPlan::new(FeedbackPlan::every_cell(true, FEEDBACK_DELAY))
    }

    fn new(config: &Config, _: &NodeEnv) -> Self {
        Self {
            config: *config,
            base_rtts: BaseRtts::default(),
        }
    }

    fn open(&mut self, _: &Site, gates: &mut Gates<'_>) -> Flow {
        gates.hop.set_window(self.config.initial_window);
        Flow {
            window: self.config.initial_window.get() * CELL,
            last: None,
            calm_until: Instant::ZERO,
        }
    }

    fn on(
        &mut self,
        flow: &mut Flow,
        cx: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        match signal {
            HopSignal::Forwarded(sample) => self.on_forwarded(flow, cx, sample),
            // This control sends no messages, so it gets none from an honest neighbour.
            HopSignal::Message(..) => return Err(Violation::UnexpectedMessage),
            _ => {}
        }
        Ok(())
    }

    fn close_link(&mut self, link: LinkId) {
        self.base_rtts.forget(link);
    }

    fn sample(&self, flow: &Flow, out: &mut Vec<f64>) {
        out.push(flow.last.map_or(f64::NAN, Duration::as_secs_f64));
    }
}

impl DelayAimd {
    fn on_forwarded(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>, sample: &Forwarded) {
        // The smallest round trip of all circuits to this successor, but at least the feedback
        // delay: feedback that waits to be batched is not a queue.
        let base = self.base_rtts.with(cx.now, cx.site, sample.rtt);
        let base = base.max(FEEDBACK_DELAY);
        let Some(rtt) = sample.rtt else { return };
        flow.last = Some(rtt);
        let allowed = base + self.config.tolerance + self.config.target.get();
        let over = rtt.saturating_sub(allowed);
        if over.is_zero() {
            flow.window += sample.cells.get() * CELL * CELL / flow.window;
        } else if cx.now >= flow.calm_until {
            let share = over.as_nanos() * 100 / rtt.as_nanos().max(1);
            flow.window -= flow.window * share.min(50) / 100;
            flow.calm_until = cx.now + rtt;
        }
        // Never beyond what the successor may queue, never below one cell.
        flow.window = flow
            .window
            .min(cx.gate.cap().get().saturating_mul(CELL))
            .max(CELL);
        cx.gate.set_window(Cells::new(flow.window / CELL));
    }
}
