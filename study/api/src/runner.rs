//! Making the runs of a campaign.

use std::fmt;
use std::path::Path;

use hopflow_lab::run::{Campaign, Error, Finished, Monitor};
use hopflow_lab::scenario::{Scenario, Seeds};
use hopflow_results::Manifest;

use crate::caller::Caller;
use crate::failure::Failure;
use crate::order::Order;

/// Where results go unless the order says otherwise.
pub const RESULTS: &str = "results";

/// Makes runs; nothing is printed.
#[derive(Clone, Copy)]
pub struct Runner<'a> {
    /// How runs are made.
    pub order: &'a Order,
    /// Who asks for the runs.
    pub caller: &'a Caller,
    /// Watches the runs, and may interrupt them.
    pub monitor: &'a dyn Monitor,
}

impl fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("order", self.order)
            .field("caller", self.caller)
            .finish_non_exhaustive()
    }
}

impl Runner<'_> {
    /// Makes the runs of a scenario with this text, which was read from `file`.
    pub(crate) fn scenario(
        &self,
        mut scenario: Scenario,
        text: &str,
        file: &str,
    ) -> Result<Finished, Failure> {
        if let Some(seeds) = self.order.seeds {
            scenario.seeds = Seeds::Count(seeds.get());
        }
        let mut campaign = Campaign::new(scenario, text, &self.caller.build()?)?;
        campaign.set_file(file);
        let folder = self.order.out.clone();
        let folder = folder.unwrap_or_else(|| campaign.default_folder(RESULTS.as_ref()));
        self.campaign(campaign, &folder)
    }

    /// Makes the runs of a campaign in `folder`.
    pub(crate) fn campaign(
        &self,
        mut campaign: Campaign,
        folder: &Path,
    ) -> Result<Finished, Failure> {
        campaign.set_command(self.caller.command().to_owned());
        campaign.set_commit(Caller::commit());
        let threads = self.order.threads.map(Into::into);
        let finished = campaign.run(folder, threads, self.monitor);
        finished.map_err(|error| explain(error, folder))
    }
}

/// What a failed campaign tells its user.
fn explain(error: Error, folder: &Path) -> Failure {
    let interrupted = matches!(error, Error::Interrupted { .. });
    let failure = Failure::from(error);
    if interrupted {
        let folder = folder.display();
        let hint = format!("They are kept in {folder}; the same command makes the missing runs.");
        return failure.with_hint(hint);
    }
    failure
}

/// Checks that the folder's last command finished, so that `file` is of it and not of an earlier one.
///
/// # Errors
/// If runs are missing.
pub(crate) fn check_finished(
    manifest: &Manifest,
    folder: &Path,
    file: &str,
) -> Result<(), Failure> {
    let Some(missing) = manifest.missing else {
        return Ok(());
    };
    let command = match &manifest.command {
        Some(command) => format!("`{command}`"),
        None => "the last command".to_owned(),
    };
    Err(Failure::bad_input(format_args!(
        "{}: {command} did not finish; runs that are missing: {missing}. If there is a {file}, it is \
         of an earlier command",
        folder.display()
    ))
    .with_hint("Give it again, or the earlier one: finished runs are kept."))
}
