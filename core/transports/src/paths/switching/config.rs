//! Parameters of circuit switching.

use hopflow_overlay::{ConfigError, Multiplexing};
use hopflow_units::{Bytes, Duration};

use super::client::Patience;
use super::monitor::Watch;
use crate::options::Options;

impl Patience {
    pub(super) fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        Ok(Self {
            timeout: options.interval("switch-timeout", Duration::from_secs(2))?,
            hold: options.flag("switch-hold", true)?,
        })
    }
}

impl Watch {
    pub(super) fn configure(
        options: &mut Options,
        multiplexing: Multiplexing,
    ) -> Result<Self, ConfigError> {
        let interval = options.interval("switch-interval", Duration::from_secs(15))?;
        let gamma = options.number("switch-gamma", 0.7, (0.0, 0.99))?;
        let beta = options.number("switch-beta", 0.5, (0.0, 1.0))?;
        let buffer = options.bytes("output-buffer", Bytes::new(32 << 10))?;
        let space = buffer.get() / CELL;
        if space == 0 {
            let allowed = format!("{CELL} B, a cell, or more");
            return Err(ConfigError::new("output-buffer", buffer, allowed));
        }
        Ok(Self {
            interval,
            gamma,
            beta,
            space,
            multiplexing,
        })
    }
}

/// Bytes of a cell in an output buffer (tor-spec, section 3).
const CELL: u64 = 512;
