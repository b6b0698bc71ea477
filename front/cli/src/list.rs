//! `hopflow list`, `hopflow options` and `hopflow validate`.

use hopflow_api::{Failure, Source, experiments, scenarios, transports};
use serde_json::{Value, json};

use crate::args::Listing;
use crate::show;

/// Lists what there is.
pub(crate) fn list(what: Listing, json: bool) -> Result<(), Failure> {
    let entries = match what {
        Listing::Transports => transports(),
        Listing::Scenarios => scenarios()?,
        Listing::Experiments => experiments()?,
    };
    if json {
        let entries = entries
            .iter()
            .map(|(name, about)| json!({ "name": name, "about": about }));
        return show::print_json(&Value::Array(entries.collect()));
    }
    let width = entries
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0);
    let lines = entries
        .iter()
        .map(|(name, about)| format!("{name:width$}  {about}\n"));
    show::print(&lines.collect::<String>())
}

/// Says which options a transport has.
pub(crate) fn options(transport: &str, json: bool) -> Result<(), Failure> {
    if json {
        return show::print_json(&hopflow_api::options_json(transport)?);
    }
    show::print(&hopflow_api::options_toml(transport)?)
}

/// Checks a scenario and says what it would run.
pub(crate) fn validate(source: &Source) -> Result<(), Failure> {
    show::print(&hopflow_api::validate(source)?)
}
