//! What is run, and how.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use hopflow_lab::run::text_with_circuits;
use hopflow_lab::scenario::{InputError, Scenario};

/// How runs are made.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// Folder for the results; by default one below [`RESULTS`](crate::RESULTS), named after the
    /// scenario.
    pub out: Option<PathBuf>,
    /// Runs of each transport, with the seeds from 1 on; an experiment keeps to its own list of seeds. By
    /// default as the scenario says.
    pub seeds: Option<NonZeroU32>,
    /// File of circuits in place of the one that the scenario or experiment names.
    pub circuits: Option<PathBuf>,
    /// Runs that are made at the same time; by default one per core.
    pub threads: Option<NonZeroUsize>,
}

/// A scenario that is to be run.
#[derive(Clone, Debug)]
pub enum Source {
    /// The name of a built-in scenario, or a file.
    Named(String),
    /// TOML text; files that it names are looked for in the current folder.
    Text(String),
    /// Another one, with [these values](Scenario::with_values) at keys.
    Changed(Box<Self>, Vec<(String, String)>),
}

impl Order {
    /// What only a scenario can be run with, of what is given: where results of a folder are read, it means
    /// nothing.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.out.is_some(), "--out"),
            (self.seeds.is_some(), "--seeds"),
            (self.circuits.is_some(), "--circuits"),
            (self.threads.is_some(), "--threads"),
        ];
        let given = given.into_iter().filter(|(given, _)| *given);
        given.map(|(_, option)| option)
    }
}

impl Source {
    /// What messages call a text that comes from no file.
    const TEXT: &str = "scenario";

    /// The same with values at keys.
    #[must_use]
    pub fn changed(self, changes: &[(String, String)]) -> Self {
        if changes.is_empty() {
            return self;
        }
        Self::Changed(Box::new(self), changes.to_vec())
    }

    /// The scenario and its text, with circuits from a file if the order names one: the text, too, names
    /// that file then.
    ///
    /// # Errors
    /// If there is none, or it is not valid, or what is changed in it means nothing with this order.
    pub fn load(&self, order: &Order) -> Result<(Scenario, String), InputError> {
        if order.seeds.is_some() {
            self.refuse_changes("seeds", "--seeds")?;
        }
        if order.circuits.is_some() {
            self.refuse_changes("network.source", "--circuits")?;
        }
        let text = self.text()?;
        let parsed = Scenario::parse_with(&text, self.name(), order.circuits.as_deref());
        let scenario = parsed.map_err(|error| match self {
            Self::Named(_) | Self::Text(_) => error,
            // What is wrong with the scenario itself is told with its line.
            Self::Changed(source, _) => {
                let error = error.without_line();
                let itself = source.load(order).err();
                let same = itself.filter(|itself| itself.clone().without_line() == error);
                same.unwrap_or(error)
            }
        })?;
        let text = match order.circuits {
            Some(_) => text_with_circuits(&text, self.name(), &scenario)?,
            None => text,
        };
        Ok((scenario, text))
    }

    /// Refuses changes in a section, such as `network.source`, in whose place an option has something
    /// else.
    ///
    /// # Errors
    /// The first change that would have no effect.
    pub fn refuse_changes(&self, section: &str, option: &str) -> Result<(), InputError> {
        let Self::Changed(source, changes) = self else {
            return Ok(());
        };
        let inside = |(key, value): &&(String, String)| {
            let mut parts = key.split(['.', '[']).map(|part| part.trim_matches('"'));
            // A key of a table, whose value may have the rest.
            let of_name = |name: &str| match parts.next() {
                Some(part) => part == name,
                None => words(value).any(|word| word == name),
            };
            section.split('.').all(of_name)
        };
        if let Some((key, _)) = changes.iter().find(inside) {
            let problem = format!("has no effect with {option}; allowed is one of both");
            return Err(InputError::at(format!("--set {key}"), problem));
        }
        source.refuse_changes(section, option)
    }

    /// The folder that is meant, if it is no scenario but one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Named(name) => Some(Path::new(name)).filter(|path| path.is_dir()),
            Self::Text(_) => None,
            Self::Changed(source, _) => source.folder(),
        }
    }

    fn text(&self) -> Result<String, InputError> {
        match self {
            Self::Named(name) => Scenario::text(name),
            Self::Text(text) => Ok(text.clone()),
            Self::Changed(source, changes) => {
                Scenario::with_values(&source.text()?, source.name(), changes)
            }
        }
    }

    /// The name by which messages call it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Text(_) => Self::TEXT,
            Self::Changed(source, _) => source.name(),
        }
    }
}

/// The names in a text of TOML.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
}

#[cfg(test)]
mod tests {
    use hopflow_lab::run::Job;

    use super::*;

    const TEXT: &str = "name = \"x\" # of a paper\nduration = \"3 s\"\nseeds = 1\n\
         [transports.vanilla]\n[network]\nsource = { circuits = \"none.dat\" }\n\
         [[circuits]]\ncount = 2\npath = \"published\"\nworkload = \"bulk\"\n";

    /// A file of circuits over three relays each.
    fn circuits(folder: &Path) -> PathBuf {
        let relay = |number: u32| format!("{number:040X} EU 500000");
        let line = |n| format!("{n}\t{}\t{}\t{}\n", relay(n), relay(n + 10), relay(n + 20));
        let file = folder.join("other circuits.dat");
        std::fs::write(&file, (0..4).map(line).collect::<String>()).unwrap();
        file
    }

    fn keys(scenario: Scenario) -> Vec<hopflow_results::RunKey> {
        let jobs = Job::plan(&scenario.into(), "test").unwrap();
        jobs.into_iter().map(|job| job.key).collect()
    }

    #[test]
    fn the_text_names_the_circuits_with_which_runs_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = circuits(folder.path());
        let order = Order {
            circuits: Some(file.clone()),
            ..Order::default()
        };
        let table = TEXT.replace(
            "[network]\nsource = { circuits = \"none.dat\" }",
            "[network.source]\ncircuits = 'none.dat'",
        );
        for text in [TEXT, &table] {
            let source = Source::Text(text.to_owned());
            let (scenario, found) = source.load(&order).unwrap();
            let named = format!("\"{}\"", file.display());
            let expected = text.replace("\"none.dat\"", &named);
            assert_eq!(found, expected.replace("'none.dat'", &named));
            let (again, same) = Source::Text(found.clone()).load(&Order::default()).unwrap();
            assert_eq!(keys(again), keys(scenario));
            assert_eq!(same, found);
        }
    }

    #[test]
    fn a_changed_source_of_circuits_is_refused_beside_a_file_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = circuits(folder.path());
        let changed = |key: &str, value: &str| {
            let changes = [(key.to_owned(), value.to_owned())];
            Source::Text(TEXT.to_owned()).changed(&changes)
        };
        let order = Order {
            circuits: Some(file.clone()),
            ..Order::default()
        };
        let named = file.display().to_string();
        for (key, value) in [
            ("network.source.circuits", named.clone()),
            ("\"network\".source", format!("{{ circuits = '{named}' }}")),
        ] {
            let source = changed(key, &value);
            assert!(source.load(&Order::default()).is_ok(), "{key}");
            let message = source.load(&order).unwrap_err().to_string();
            let expected = format!("--set {key}: has no effect with --circuits; allowed is one");
            assert!(message.starts_with(&expected), "{message}");
        }
        let other = changed("duration", "4 s").load(&order);
        other.expect("other keys may change");
    }
}
