//! Changes of a scenario on the command line.

use clap::Args;
use hopflow_api::Source;

/// What is changed in a scenario.
#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Another value at a key of the scenario, such as `circuits[0].count=5` or
    /// `network.relays[middle].bucket.rate="2 MB/s"`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = change)]
    set: Vec<(String, String)>,
}

impl Changes {
    /// Whether nothing is changed.
    #[cfg(feature = "live")]
    pub(crate) const fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// A scenario by its name or file, with the changes.
    pub(crate) fn of(&self, scenario: &str) -> Source {
        Source::Named(scenario.to_owned()).changed(&self.set)
    }
}

fn change(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=');
    parts
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .ok_or_else(|| "allowed is a key and a value, such as circuits[0].count=5".to_owned())
}
