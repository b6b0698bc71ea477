//! `hopflow run` and `hopflow compare`.

use std::path::Path;

use hopflow_lab::builtin;
use hopflow_lab::run::{Error, Finished};
use hopflow_lab::scenario::{Scenario, allowed};
use hopflow_transports::presets;

use crate::args::RunOptions;
use crate::caller::Caller;
use crate::fail::Failure;
use crate::making::{Making, Order, Source};
use crate::progress::Progress;
use crate::show;

/// Where results go unless the user says otherwise.
pub(crate) const RESULTS: &str = "results";

/// Runs a scenario with its own transports.
pub(crate) fn run(
    scenario: Option<&str>,
    options: &RunOptions,
    caller: &Caller,
) -> Result<(), Failure> {
    let name = scenario.unwrap_or(builtin::scenarios()[0].name);
    let loaded = Source::Named(name.to_owned()).load(&options.order)?;
    evaluate(loaded, options, caller)
}

/// Compares transports over a scenario.
pub(crate) fn compare(
    scenario: String,
    transports: &[String],
    options: &RunOptions,
    caller: &Caller,
) -> Result<(), Failure> {
    let loaded = with_transports(&Source::Named(scenario), transports, &options.order)?;
    evaluate(loaded, options, caller)
}

/// A scenario with `transports` in place of its own, and its text.
pub(crate) fn with_transports(
    source: &Source,
    transports: &[String],
    order: &Order,
) -> Result<(Scenario, String), Failure> {
    check_transports(transports)?;
    let (mut scenario, _) = source.load(order)?;
    scenario.compare(transports.iter().map(String::as_str));
    let text = scenario.to_toml();
    Ok((scenario, text))
}

/// Whether there are two or more different transports, all of them known.
fn check_transports(transports: &[String]) -> Result<(), Failure> {
    let names = || presets().into_iter().map(|preset| preset.name);
    let fail = |problem: String| Err(Failure::bad_input(format_args!("transports: {problem}")));
    for (number, transport) in transports.iter().enumerate() {
        if !names().any(|name| name == transport) {
            let allowed = allowed(transport, names());
            return fail(format!("\"{transport}\" is unknown; {allowed}"));
        }
        if transports[..number].contains(transport) {
            return fail(format!(
                "\"{transport}\" stands there twice; allowed is once"
            ));
        }
    }
    if transports.is_empty() {
        let all = names().collect::<Vec<_>>().join(", ");
        return fail(format!("it is missing; allowed are two or more of {all}"));
    }
    if let [one] = transports {
        let others: Vec<_> = names().filter(|name| name != one).collect();
        let others = others.join(", ");
        return fail(format!(
            "only \"{one}\"; allowed are two or more, such as {one} and one of {others}"
        ));
    }
    Ok(())
}

fn evaluate(
    (scenario, text): (Scenario, String),
    options: &RunOptions,
    caller: &Caller,
) -> Result<(), Failure> {
    let about = scenario.about.clone();
    let progress = Progress::new();
    let making = Making {
        order: &options.order,
        caller,
        monitor: &progress,
    };
    let finished = making.runs(scenario, &text);
    progress.clear();
    show_results(&about, &finished?, options.json)
}

/// What a failed campaign tells its user.
pub(crate) fn explain(error: Error, folder: &Path) -> Failure {
    let interrupted = matches!(error, Error::Interrupted { .. });
    let failure = Failure::from(error);
    if interrupted {
        let folder = folder.display();
        let hint = format!("They are kept in {folder}; the same command makes what is missing.");
        return failure.with_hint(hint);
    }
    failure
}

fn show_results(about: &str, finished: &Finished, json: bool) -> Result<(), Failure> {
    let comparison = hopflow_report::comparison(&finished.folder)?;
    let report = crate::report::write(&finished.folder)?;
    if json {
        return show::print_json(&show::summary_json(finished, &report, &comparison));
    }
    show::print(&format!(
        "{about}\n\n{}\n\nresults  {}\nreport   {}\nhash     {}\n",
        show::comparison(&comparison),
        finished.folder.display(),
        report.display(),
        finished.results,
    ))
}

/// How the transports of a result folder compare, as JSON in base units, and as text in units that
/// suit readers.
///
/// # Errors
/// If the folder holds no results, or they are damaged.
pub fn summary(folder: &Path) -> Result<serde_json::Value, Failure> {
    let comparison = hopflow_report::comparison(folder)?;
    let mut summary = show::comparison_json(&comparison);
    for (number, compared) in comparison.quantities.iter().enumerate() {
        let quantity = &mut summary["quantities"][number];
        quantity["heading"] = compared.heading().into();
        for (entry, shown) in compared.shown().into_iter().enumerate() {
            quantity["transports"][entry]["text"] = shown.value.into();
        }
    }
    Ok(summary)
}
