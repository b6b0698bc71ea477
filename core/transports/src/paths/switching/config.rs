//! Parameters of circuit switching.

use hopflow_overlay::{ConfigError, Multiplexing};
use hopflow_units::{Bytes, Interval};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::client::Patience;
use super::monitor::{Fill, Watch};
use crate::layer::{Around, LayerOptions, check_interval};

/// Bytes of a cell in an output buffer (tor-spec, section 3).
const CELL: u64 = 512;

/// Circuit switching.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Switching {
    /// Time between samples of the output buffers, 1 ms or more.
    switch_interval: Interval,
    /// Weight of the old value in the moving average of a circuit's share of the output buffer
    /// (eq. 1).
    #[schemars(range(min = 0.0, max = 0.99))]
    switch_gamma: f64,
    /// The share of the output buffer above which circuits are switched.
    #[schemars(range(min = 0.0, max = 1.0))]
    switch_beta: f64,
    /// What an output buffer holds, at least a cell, 512 B.
    output_buffer: Bytes,
    /// Which cells a full output buffer holds.
    buffer_fill: Fill,
    /// How long a client waits for the end of a spare circuit, after which its streams go on by the
    /// old one.
    switch_timeout: Interval,
    /// Whether the streams send nothing until then.
    switch_hold: bool,
    /// Whether circuits share connections.
    #[serde(skip)]
    multiplexing: Multiplexing,
}

impl Default for Switching {
    fn default() -> Self {
        Self {
            switch_interval: Interval::from_millis(15_000),
            switch_gamma: 0.7,
            switch_beta: 0.5,
            output_buffer: Bytes::new(32 << 10),
            buffer_fill: Fill::InProportion,
            switch_timeout: Interval::from_millis(2000),
            switch_hold: true,
            multiplexing: Multiplexing::Shared,
        }
    }
}

impl LayerOptions for Switching {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        if self.output_buffer.get() < CELL {
            let allowed = format!("{CELL} B, a cell, or more");
            return Err(ConfigError::new(
                "output-buffer",
                self.output_buffer,
                allowed,
            ));
        }
        check_interval("switch-interval", self.switch_interval)?;
        self.multiplexing = around.multiplexing;
        Ok(())
    }
}

impl Switching {
    /// How a relay watches its output buffers.
    pub(super) fn watch(&self) -> Watch {
        Watch {
            interval: self.switch_interval.get(),
            gamma: self.switch_gamma,
            beta: self.switch_beta,
            space: self.output_buffer.get() / CELL,
            fill: self.buffer_fill,
            multiplexing: self.multiplexing,
        }
    }

    /// How long a client waits.
    pub(super) fn patience(&self) -> Patience {
        Patience {
            timeout: self.switch_timeout.get(),
            hold: self.switch_hold,
        }
    }
}
