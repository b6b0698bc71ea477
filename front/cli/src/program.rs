//! The whole program with controls of other crates.

use std::env;
use std::process::ExitCode;

use hopflow_api::Caller;
use hopflow_overlay::{EndControl, HopControl};
use hopflow_sim::Simulated;
use hopflow_transports::{LayerOptions, Preset};

use crate::overlay;

/// The program `hopflow`, to which other crates add controls and presets.
///
/// ```no_run
/// # use std::process::ExitCode;
/// use hopflow_transports::{Family, Preset};
///
/// static PRESET: Preset = Preset {
///     name: "narrow",
///     about: "Tor with a narrow window",
///     family: &Family::TOR,
///     options: "circuit-window = 200\nstream-window = 0",
/// };
///
/// fn main() -> ExitCode {
///     hopflow_cli::Program::new().preset(&PRESET).run()
/// }
/// ```
#[derive(Debug, Default)]
pub struct Program {
    _private: (),
}

impl Program {
    /// The program as it is.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a control on hops, in the simulator and, with the feature `overlay`, in real hosts.
    #[must_use]
    pub fn hop_control<H: HopControl<Config: LayerOptions>>(self) -> Self {
        hopflow_transports::register_hop::<H, Simulated>();
        overlay::register_hop::<H>();
        self
    }

    /// With a control from end to end.
    #[must_use]
    pub fn end_control<E: EndControl + LayerOptions>(self) -> Self {
        hopflow_transports::register_end::<E>();
        self
    }

    /// With a preset.
    #[must_use]
    pub fn preset(self, preset: &'static Preset) -> Self {
        hopflow_transports::register_preset(preset);
        self
    }

    /// Does what the command line says.
    pub fn run(self) -> ExitCode {
        let program = env::current_exe().unwrap_or_default();
        let arguments: Vec<_> = env::args_os().skip(1).collect();
        let caller = Caller::of_arguments("hopflow", &arguments, program);
        ExitCode::from(crate::main(arguments, &caller))
    }
}
