//! A fixed window on every hop, released by forward feedback: the smallest control that holds its
//! predecessor back.
//!
//! What leaks: as with every control that has forward feedback, a predecessor learns when each of
//! its cells is forwarded.

use hopflow_overlay::{
    ConfigError, Features, FeedbackPlan, Gates, HopControl, HopCx, HopPlan, HopSignal, Info,
    NodeEnv, Site, Violation,
};
use hopflow_transports::{Around, Family, LayerOptions, Preset};
use hopflow_units::{Cells, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// BackTap's links and repair with this control.
pub(crate) static PRESET: Preset = Preset {
    name: "fixed-hop-window",
    about: "A fixed window on every hop, released by forward feedback",
    family: &Family {
        name: "fixed-hop-window",
        hop: "fixed-hop-window",
        queue_limit: Cells::new(50),
        ..Family::BACKTAP
    },
    options: "",
};

/// A fixed window on every hop.
#[derive(Clone, Debug)]
pub(crate) struct FixedHopWindow(Config);

/// Parameters of the fixed window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// Cells that may be sent and not yet reported as forwarded.
    #[schemars(range(min = 1))]
    window: Cells,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            window: Cells::new(50),
        }
    }
}

impl LayerOptions for Config {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        around.need_queue(self.window, self.window);
        Ok(())
    }
}

impl HopControl for FixedHopWindow {
    const INFO: Info = Info {
        provides: Features::BOUND,
        requires: &[(
            Features::HOP_REPAIR,
            "The window counts on every cell to be reported as forwarded.",
        )],
        ..Info::new("fixed-hop-window", "a fixed window on every hop")
    };
    type Config = Config;
    type Flow = ();

    fn plan(_: &Config) -> HopPlan {
        HopPlan::new(FeedbackPlan::every_cell(true, Duration::from_millis(1)))
    }

    fn new(config: &Config, _: &NodeEnv) -> Self {
        Self(*config)
    }

    fn open(&mut self, _: &Site, gates: &mut Gates<'_>) {
        gates.hop.set_window(self.0.window);
    }

    fn on(
        &mut self,
        (): &mut (),
        _: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        match signal {
            HopSignal::Message(..) => Err(Violation::UnexpectedMessage),
            _ => Ok(()),
        }
    }
}
