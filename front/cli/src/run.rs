//! `hopflow run` and `hopflow compare`.

use hopflow_api::{Caller, Evaluated, Failure, Runner, Source};
use hopflow_lab::builtin;

use crate::args::RunOptions;
use crate::changes::Changes;
use crate::progress::Progress;
use crate::show;

/// Runs a scenario with its own transports.
pub(crate) fn run(
    scenario: Option<&str>,
    changes: &Changes,
    options: &RunOptions,
    caller: &Caller,
) -> Result<(), Failure> {
    let name = scenario.unwrap_or(builtin::scenarios()[0].name);
    evaluate(&changes.of(name), None, options, caller)
}

/// Compares transports over a scenario.
pub(crate) fn compare(
    scenario: &Source,
    transports: &[String],
    options: &RunOptions,
    caller: &Caller,
) -> Result<(), Failure> {
    evaluate(scenario, Some(transports), options, caller)
}

fn evaluate(
    scenario: &Source,
    transports: Option<&[String]>,
    options: &RunOptions,
    caller: &Caller,
) -> Result<(), Failure> {
    let progress = Progress::new();
    let runner = Runner {
        order: &options.order.order(),
        caller,
        monitor: &progress,
    };
    let evaluated = hopflow_api::run(scenario, transports, &runner);
    progress.clear();
    show_results(&evaluated?, options.json)
}

fn show_results(evaluated: &Evaluated, json: bool) -> Result<(), Failure> {
    if json {
        return show::print_json(&show::summary_json(evaluated));
    }
    let Evaluated {
        about,
        finished,
        comparison,
        page,
    } = evaluated;
    show::print(&format!(
        "{about}\n\n{}\n\nresults  {}\nreport   {}\nhash     {}\n",
        show::comparison(comparison),
        finished.folder.display(),
        page.display(),
        finished.results,
    ))
}
