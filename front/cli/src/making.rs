//! Making runs and reproductions.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use hopflow_lab::run::{Campaign, Finished, Monitor};
use hopflow_lab::scenario::{Scenario, Seeds};

use crate::args::positive;
use crate::caller::Caller;
use crate::fail::Failure;
use crate::run;

/// How runs are made.
#[derive(Clone, Debug, Default, Args)]
pub struct Order {
    /// Folder for the results; by default one below `results`, named after the scenario
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Runs of each transport, with the seeds from 1 on; by default as the scenario says
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroU32>)]
    pub seeds: Option<NonZeroU32>,
    /// File of circuits in place of the one that the scenario or experiment names
    #[arg(long, value_name = "FILE")]
    pub circuits: Option<PathBuf>,
    /// Runs that are made at the same time; by default one per core
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    pub threads: Option<NonZeroUsize>,
}

/// A scenario that is to be run.
#[derive(Clone, Debug)]
pub enum Source {
    /// The name of a built-in scenario, or a file.
    Named(String),
    /// TOML text; files that it names are looked for in the current folder.
    Text(String),
}

impl Source {
    /// What messages call a text that comes from no file.
    const TEXT: &str = "scenario";

    /// The scenario and its text, with circuits from a file if the order names one.
    pub(crate) fn load(&self, order: &Order) -> Result<(Scenario, String), Failure> {
        let circuits = order.circuits.as_deref();
        Ok(match self {
            Self::Named(name) => Scenario::load_with(name, circuits)?,
            Self::Text(text) => {
                let scenario = Scenario::parse_with(text, Self::TEXT, circuits)?;
                (scenario, text.clone())
            }
        })
    }

    /// The name by which messages call it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Text(_) => Self::TEXT,
        }
    }
}

/// Makes runs; nothing is printed.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "monitors need not have one")]
pub struct Making<'a> {
    /// How runs are made.
    pub order: &'a Order,
    /// Who asks for the runs.
    pub caller: &'a Caller,
    /// Watches the runs, and may interrupt them.
    pub monitor: &'a dyn Monitor,
}

impl Making<'_> {
    /// Runs a scenario with its own transports, or with `transports` in their place, and writes
    /// the report.
    ///
    /// # Errors
    /// If what was given cannot be used, the monitor interrupts, or runs fail; finished runs are
    /// kept.
    pub fn scenario(
        &self,
        source: &Source,
        transports: Option<&[String]>,
    ) -> Result<PathBuf, Failure> {
        let (scenario, text) = match transports {
            None => source.load(self.order)?,
            Some(transports) => run::with_transports(source, transports, self.order)?,
        };
        let finished = self.runs(scenario, &text)?;
        crate::report::write(&finished.folder)?;
        Ok(finished.folder)
    }

    /// Makes an experiment again and writes its report; returns the folder.
    ///
    /// # Errors
    /// As for [`scenario`](Self::scenario).
    pub fn experiment(&self, name: &str) -> Result<PathBuf, Failure> {
        crate::reproduce::make_one(name, self)
    }

    /// Makes the runs of a scenario.
    pub(crate) fn runs(&self, mut scenario: Scenario, text: &str) -> Result<Finished, Failure> {
        if let Some(seeds) = self.order.seeds {
            scenario.seeds = Seeds::Count(seeds.get());
        }
        let campaign = Campaign::new(scenario, text, &self.caller.build())?;
        let folder = self.order.out.clone();
        let folder = folder.unwrap_or_else(|| campaign.default_folder(run::RESULTS.as_ref()));
        self.campaign(campaign, &folder)
    }

    /// Makes the runs of a campaign in `folder`.
    pub(crate) fn campaign(
        &self,
        mut campaign: Campaign,
        folder: &std::path::Path,
    ) -> Result<Finished, Failure> {
        campaign.set_command(self.caller.command());
        let threads = self.order.threads.map(Into::into);
        let finished = campaign.run(folder, threads, self.monitor);
        finished.map_err(|error| run::explain(error, folder))
    }
}
