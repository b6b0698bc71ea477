//! `hopflow run` and `hopflow compare`.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::path::Path;
use std::{env, fs};

use hopflow_lab::builtin;
use hopflow_lab::run::{Campaign, Error, Finished};
use hopflow_lab::scenario::{Scenario, Seeds, allowed};
use hopflow_transports::presets;

use crate::args::RunOptions;
use crate::fail::Failure;
use crate::progress::Progress;
use crate::show;

/// Where results go unless the user says otherwise.
pub(crate) const RESULTS: &str = "results";

/// Runs a scenario with its own transports.
pub(crate) fn run(scenario: Option<&str>, options: &RunOptions) -> Result<(), Failure> {
    let name = scenario.unwrap_or(builtin::scenarios()[0].name);
    let (scenario, text) = Scenario::load_with(name, options.circuits.as_deref())?;
    evaluate(scenario, &text, options)
}

/// Compares transports over a scenario.
pub(crate) fn compare(
    scenario: &str,
    transports: &[String],
    options: &RunOptions,
) -> Result<(), Failure> {
    check_transports(transports)?;
    let (mut scenario, _) = Scenario::load_with(scenario, options.circuits.as_deref())?;
    scenario.compare(transports.iter().map(String::as_str));
    let text = scenario.to_toml();
    evaluate(scenario, &text, options)
}

/// Whether there are two or more different transports, all of them known.
fn check_transports(transports: &[String]) -> Result<(), Failure> {
    let names = || presets().into_iter().map(|preset| preset.name);
    let fail = |problem: String| Err(Failure::bad_input(format_args!("--transports: {problem}")));
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

fn evaluate(mut scenario: Scenario, text: &str, options: &RunOptions) -> Result<(), Failure> {
    if let Some(seeds) = options.seeds {
        scenario.seeds = Seeds::Count(seeds.get());
    }
    let about = scenario.about.clone();
    let mut campaign = Campaign::new(scenario, text, &build())?;
    campaign.set_command(command());
    let folder = options.out.clone();
    let folder = folder.unwrap_or_else(|| campaign.default_folder(Path::new(RESULTS)));
    let progress = Progress::new();
    let finished = campaign.run(&folder, options.threads.map(Into::into), &progress);
    progress.clear();
    let finished = finished.map_err(|error| explain(error, &folder))?;
    show_results(&about, &finished, options.json)
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

/// The command as a reader may give it again.
pub(crate) fn command() -> String {
    let quoted = |argument: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+%@".contains(c);
        if !argument.is_empty() && argument.chars().all(plain) {
            argument
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    };
    let arguments = env::args_os()
        .skip(1)
        .map(|argument| quoted(argument.to_string_lossy().into_owned()));
    std::iter::once("hopflow".to_owned())
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Identifies this very program, so that results of one that was changed since are made again.
pub(crate) fn build() -> String {
    let program = env::current_exe().and_then(fs::read).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    hasher.write(&program);
    format!("{:016x}", hasher.finish())
}
