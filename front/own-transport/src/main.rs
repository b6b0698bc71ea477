//! The program `hopflow` with a control on hops and a control from end to end of this crate.
//!
//! To begin with transports of your own outside of hopflow's tree, copy this folder and let the
//! dependencies name hopflow's repository. `docs/adding-a-transport.md` explains the files.

mod delay_aimd;
mod source_window;

use std::process::ExitCode;

use delay_aimd::DelayAimd;
use hopflow_cli::Program;
use source_window::SourceWindow;

fn main() -> ExitCode {
    let program = Program::new().hop_control::<DelayAimd>();
    let program = program.end_control::<SourceWindow>();
    let presets = [&delay_aimd::PRESET, &source_window::PRESET];
    presets.into_iter().fold(program, Program::preset).run()
}
