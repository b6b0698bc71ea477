//! A fixed window on every hop, released by forward feedback: the smallest transport that holds
//! its predecessor back.
//!
//! What leaks: as with every transport that has forward feedback, a predecessor learns when each
//! of its cells is forwarded.

use hopflow_overlay::{ConfigError, Gates, NodeEnv, Plan, Site, Transport};
use hopflow_transports::{Configure, Options, Preset};
use hopflow_units::{Cells, Duration};

/// A fixed window on every hop.
#[derive(Debug)]
pub(crate) struct FixedHopWindow(FixedHopWindowConfig);

/// Parameters of the fixed window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedHopWindowConfig {
    /// Cells that may be sent and not yet reported as forwarded.
    window: Cells,
}

impl Configure for FixedHopWindowConfig {
    const PRESETS: &'static [Preset] = &[Preset {
        name: "fixed-hop-window",
        about: "A fixed window on every hop, released by forward feedback",
        options: "",
    }];

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let window = options.cells("window", Cells::new(50), Cells::new(1))?;
        Ok(Self { window })
    }
}

impl Transport for FixedHopWindow {
    const NAME: &'static str = "fixed-hop-window";
    type Config = FixedHopWindowConfig;
    type Flow = ();

    fn plan(config: &FixedHopWindowConfig) -> Plan {
        let (feedback_delay, refill) = (Duration::from_millis(1), Duration::from_millis(10));
        Plan::datagrams(config.window, feedback_delay, refill)
    }

    fn new(config: &FixedHopWindowConfig, _: &NodeEnv) -> Self {
        Self(*config)
    }

    fn open(&mut self, _: &Site, gates: &mut Gates) {
        gates.hop.set_window(self.0.window);
    }
}
