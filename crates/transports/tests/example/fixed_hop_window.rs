//! A fixed window on every hop, released by forward feedback: the smallest transport that holds
//! its predecessor back.
//!
//! What leaks: as with every transport that has forward feedback, a predecessor learns when each
//! of its cells is forwarded.

use hopflow_overlay::{
    Charging, ConfigError, Excess, Gates, Multiplexing, NodeEnv, Plan, RttConfig, Scope, Site,
    Transport, Turn,
};
use hopflow_transports::{Configure, Options, Preset};
use hopflow_units::{Cells, Duration};
use hopflow_wire::Carrier;

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
        Plan {
            carrier: Carrier::Datagram,
            multiplexing: Multiplexing::Shared,
            scope: Scope::Node,
            turn: Turn::Cells(1),
            reliable: true,
            forward_feedback: true,
            feedback_delay: Duration::from_millis(1),
            feedback_every: Cells::new(1),
            feedback_padded: false,
            queue_limit: config.window,
            excess: Excess::CloseIfPersistent,
            ahead: Cells::new(1),
            charging: Charging::Everything,
            refill: Duration::from_millis(10),
            rtt: RttConfig::default(),
            out_of_band: false,
            fills: 1.0,
            tick: None,
        }
    }

    fn new(config: &FixedHopWindowConfig, _: &NodeEnv) -> Self {
        Self(*config)
    }

    fn open(&mut self, _: &Site, gates: &mut Gates) {
        gates.hop.set_window(self.0.window);
    }
}
