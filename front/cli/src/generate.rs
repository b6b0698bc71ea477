//! What the arguments' definition gives besides reading them: completions and manual pages.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use hopflow_api::Failure;

use crate::args::Cli;
use crate::show;

/// Prints a script that completes the program's arguments in a shell.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "hopflow", &mut script);
    show::print(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for each command into a folder.
pub(crate) fn manual(folder: &Path) -> Result<(), Failure> {
    let cannot = |error| {
        let folder = folder.display();
        Failure::bad_input(format_args!("{folder}: cannot be written: {error}"))
    };
    fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(cannot)
}
