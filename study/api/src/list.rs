//! What there is, and whether a scenario is valid.

use hopflow_lab::builtin;
use hopflow_lab::run::Needs;
use hopflow_lab::scenario::Scenario;
use hopflow_reproductions::Expectations;

use crate::failure::Failure;
use crate::order::{Order, Source};

/// Names, each with a sentence about it.
pub type Entries = Vec<(String, String)>;

/// The transports that scenarios may name.
pub fn transports() -> Entries {
    let presets = hopflow_transports::presets().into_iter();
    presets
        .map(|preset| (preset.name.to_owned(), preset.about.to_owned()))
        .collect()
}

/// The built-in scenarios.
///
/// # Errors
/// If one is not valid, which is a defect.
pub fn scenarios() -> Result<Entries, Failure> {
    let scenario = |builtin: &builtin::Builtin| {
        let (scenario, _) = Scenario::load(builtin.name)?;
        Ok((scenario.name, scenario.about))
    };
    builtin::scenarios().iter().map(scenario).collect()
}

/// The figures and tables that can be reproduced.
///
/// # Errors
/// If the data of one are not valid, which is a defect.
pub fn experiments() -> Result<Entries, Failure> {
    let mut entries = Vec::new();
    for experiment in hopflow_reproductions::experiments() {
        let data = Expectations::parse(experiment.data(), experiment.id())?;
        let title = &data.description().title;
        let names = std::iter::once(experiment.id()).chain(experiment.also().iter().copied());
        entries.extend(names.map(|name| (name.to_owned(), title.clone())));
    }
    let in_python = hopflow_reproductions::in_python().iter();
    entries.extend(in_python.map(|experiment| {
        let title = format!("{} (needs the Python package)", experiment.title);
        (experiment.id.to_owned(), title)
    }));
    Ok(entries)
}

/// Checks a scenario; returns lines that say what it would run, and what that needs.
///
/// # Errors
/// If it is not valid: what is wrong, where, and what is allowed.
pub fn validate(source: &Source) -> Result<String, Failure> {
    let (scenario, _) = source.load(&Order::default())?;
    let (transports, seeds) = (scenario.transports.len(), scenario.seeds.list().len());
    let runs = scenario.labels().len();
    let variants = match runs - transports {
        0 => String::new(),
        variants => format!("{variants} variants of them, "),
    };
    let circuits = scenario.circuit_count();
    let needs = Needs::of(&scenario);
    let record = &scenario.record;
    let traced = !record.qlog.is_empty() || !record.packets.is_empty();
    let apart = if traced { ", traces not counted" } else { "" };
    Ok(format!(
        "{} is valid: {} runs ({transports} transports, {variants}{seeds} seeds) of {} each, \
         {} relays, {circuits} circuits\n\
         A run needs about {needs}{apart}.\n",
        source.name(),
        runs * seeds,
        scenario.duration.0,
        scenario.relay_count(),
    ))
}
