//! Running a scenario.

use std::path::PathBuf;

use hopflow_lab::run::Finished;
use hopflow_lab::scenario::{Scenario, allowed};
use hopflow_report::Comparison;
use hopflow_transports::presets;

use crate::failure::Failure;
use crate::order::{Order, Source};
use crate::report::write_report;
use crate::runner::Runner;

/// A scenario whose runs are made, with its report.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// What the scenario shows.
    pub about: String,
    /// The runs.
    pub finished: Finished,
    /// How the transports compare.
    pub comparison: Comparison,
    /// The page of the report.
    pub page: PathBuf,
}

/// Runs a scenario with its own transports, or with `transports` in their place, and writes the
/// report.
///
/// # Errors
/// If what was given cannot be used, the monitor interrupts, or runs fail; finished runs are kept.
pub fn run(
    source: &Source,
    transports: Option<&[String]>,
    runner: &Runner,
) -> Result<Evaluated, Failure> {
    let (scenario, text) = match transports {
        None => source.load(runner.order)?,
        Some(transports) => with_transports(source, transports, runner.order)?,
    };
    let about = scenario.about.clone();
    let finished = runner.scenario(scenario, &text, source.name())?;
    let comparison = hopflow_report::comparison(&finished.folder)?;
    let page = write_report(&finished.folder)?;
    Ok(Evaluated {
        about,
        finished,
        comparison,
        page,
    })
}

/// A scenario with `transports` in place of its own, and its text.
fn with_transports(
    source: &Source,
    transports: &[String],
    order: &Order,
) -> Result<(Scenario, String), Failure> {
    check_transports(transports, source, order)?;
    let mut scenario = load_to_compare(source, order)?;
    scenario.compare(transports.iter().map(String::as_str));
    let text = scenario.to_toml();
    Ok((scenario, text))
}

/// A scenario whose transports will be replaced.
///
/// # Errors
/// If it cannot be used, or its transports or variants are changed.
pub fn load_to_compare(source: &Source, order: &Order) -> Result<Scenario, Failure> {
    for section in ["transports", "branch"] {
        source.refuse_changes(section, "--transports")?;
    }
    Ok(source.load(order)?.0)
}

/// Whether the transports are different, and all of them known.
///
/// # Errors
/// The first one that cannot be run, and what is allowed.
pub fn check_presets(transports: &[String]) -> Result<(), Failure> {
    let names = || presets().into_iter().map(|preset| preset.name);
    for (number, transport) in transports.iter().enumerate() {
        if !names().any(|name| name == transport) {
            let allowed = allowed(transport, names());
            return fail(&format!("\"{transport}\" is unknown; {allowed}"));
        }
        if transports[..number].contains(transport) {
            return fail(&format!("\"{transport}\" is listed twice; allowed is once"));
        }
    }
    Ok(())
}

/// Whether there are two or more transports that can be run side by side.
fn check_transports(transports: &[String], source: &Source, order: &Order) -> Result<(), Failure> {
    check_presets(transports).map_err(|failure| {
        let labels = source.load(order).map(|(scenario, _)| scenario.labels());
        let labels = labels.unwrap_or_default();
        let is_preset = |name: &String| presets().iter().any(|preset| preset.name == name);
        if transports
            .iter()
            .any(|it| labels.contains(it) && !is_preset(it))
        {
            return failure.with_hint("`hopflow run` compares the scenario's own labels.");
        }
        failure
    })?;
    let names = || presets().into_iter().map(|preset| preset.name);
    if transports.is_empty() {
        let all = names().collect::<Vec<_>>().join(", ");
        return fail(&format!("it is missing; allowed are two or more of {all}"));
    }
    if let [one] = transports {
        let others: Vec<_> = names().filter(|name| name != one).collect();
        let others = others.join(", ");
        return fail(&format!(
            "only \"{one}\"; allowed are two or more, such as {one} and one of {others}"
        ));
    }
    Ok(())
}

fn fail(problem: &str) -> Result<(), Failure> {
    Err(Failure::bad_input(format_args!("transports: {problem}")))
}
