//! The whole program with controls of other crates.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hopflow_api::{Caller, Failure};
use hopflow_overlay::{EndControl, HopControl};
use hopflow_sim::Simulated;
use hopflow_transports::{LayerOptions, NameTaken, Preset};

use crate::{fail, overlay};

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
    /// The first name that was given to two things.
    taken: Option<NameTaken>,
}

impl Program {
    /// The program as it is.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a control on hops, in the simulator and, with the feature `overlay`, in real hosts.
    #[must_use]
    pub fn hop_control<H: HopControl<Config: LayerOptions>>(self) -> Self {
        let registered = hopflow_transports::register_hop::<H, Simulated>();
        self.with(registered.and_then(|()| overlay::register_hop::<H>()))
    }

    /// With a control from end to end.
    #[must_use]
    pub fn end_control<E: EndControl + LayerOptions>(self) -> Self {
        self.with(hopflow_transports::register_end::<E>())
    }

    /// With a preset.
    #[must_use]
    pub fn preset(self, preset: &'static Preset) -> Self {
        self.with(hopflow_transports::register_preset(preset))
    }

    fn with(mut self, registered: Result<(), NameTaken>) -> Self {
        self.taken = self.taken.or(registered.err());
        self
    }

    /// Does what the command line says; an error if a control or preset has the name of another one.
    pub fn run(self) -> ExitCode {
        if let Some(taken) = self.taken {
            return ExitCode::from(fail::report(&Failure::bad_input(taken)));
        }
        let arguments: Vec<_> = env::args_os().skip(1).collect();
        let caller = Caller::of_arguments("hopflow", &arguments, running());
        ExitCode::from(crate::main(arguments, &caller))
    }
}

/// The file of this program. Linux names the one that runs, also when another took its place.
fn running() -> PathBuf {
    let itself = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && itself.exists() {
        return itself.to_owned();
    }
    env::current_exe().unwrap_or_default()
}
