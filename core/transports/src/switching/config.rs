//! Parameters of circuit switching.

use std::fmt::Debug;

use hopflow_overlay::{ConfigError, Multiplexing, Transport};
use hopflow_units::{Bytes, Duration};

use super::client::Patience;
use super::monitor::Watch;
use crate::options::{Configure, Options};
use crate::{BackTap, BackTapConfig, Preset, Vanilla, VanillaConfig};

/// The configuration of a transport over which circuits can be switched.
///
/// The regular call, the timers and the messages of nodes are switching's. A transport that needs
/// them itself, as `PredicTor` does, is none.
pub trait BaseConfig: Configure + Clone + Debug + Send + Sync + 'static {
    /// The transport.
    type Transport: Transport<Config = Self>;
    /// What the two together are called in results.
    const NAME: &'static str;
    /// The names by which scenarios choose the two together.
    const SWITCHED: &'static [Preset];
}

impl BaseConfig for VanillaConfig {
    type Transport = Vanilla;
    const NAME: &'static str = "switching";
    const SWITCHED: &'static [Preset] = &[
        Preset {
            name: "switching",
            about: "Circuit switching: entries move bulk circuits to spare ones, over vanilla",
            options: "",
        },
        Preset {
            name: "switching-pctcp",
            about: "Circuit switching over PCTCP",
            options: "connections = \"per-circuit\"",
        },
    ];
}

impl BaseConfig for BackTapConfig {
    type Transport = BackTap;
    const NAME: &'static str = "switching-backtap";
    const SWITCHED: &'static [Preset] = &[Preset {
        name: "switching-backtap",
        about: "Circuit switching over BackTap",
        options: "",
    }];
}

/// Parameters of circuit switching and of the transport below.
#[derive(Clone, Debug)]
pub struct SwitchingConfig<C> {
    pub(super) base: C,
    pub(super) watch: Watch,
    pub(super) patience: Patience,
}

impl<C: BaseConfig> Configure for SwitchingConfig<C> {
    const PRESETS: &'static [Preset] = C::SWITCHED;

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let base = C::configure(options)?;
        let multiplexing = C::Transport::plan(&base).multiplexing;
        Ok(Self {
            base,
            watch: Watch::configure(options, multiplexing)?,
            patience: Patience {
                timeout: options.interval("switch-timeout", Duration::from_secs(2))?,
                hold: options.flag("switch-hold", true)?,
            },
        })
    }
}

impl Watch {
    fn configure(options: &mut Options, multiplexing: Multiplexing) -> Result<Self, ConfigError> {
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
