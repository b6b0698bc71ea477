//! Reading a scenario, with errors that say where and what is allowed.

use std::path::Path;
use std::{fs, io};

use hopflow_config::{InputError, allowed, read, set};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use super::{Scenario, Seeds};
use crate::builtin;

impl Scenario {
    /// Reads the built-in scenario of this name, or else the file at this path.
    ///
    /// Returns the scenario's text along with it.
    ///
    /// # Errors
    /// If there is neither, or it is no valid scenario.
    pub fn load(name_or_path: &str) -> Result<(Self, String), InputError> {
        Self::load_with(name_or_path, None)
    }

    /// Reads like [`load`](Self::load) a scenario that takes its circuits from the file
    /// `circuits`, if one is given, in place of the one that it names.
    ///
    /// # Errors
    /// If there is no such scenario, it is not valid, or a file is given and it takes circuits
    /// from none.
    pub fn load_with(
        name_or_path: &str,
        circuits: Option<&Path>,
    ) -> Result<(Self, String), InputError> {
        let text = Self::text(name_or_path)?;
        Ok((Self::parse_with(&text, name_or_path, circuits)?, text))
    }

    /// The text of the built-in scenario of this name, or else of the file at this path.
    ///
    /// # Errors
    /// If there is neither.
    pub fn text(name_or_path: &str) -> Result<String, InputError> {
        match builtin::find(name_or_path) {
            Some(scenario) => Ok(scenario.text.to_owned()),
            None => {
                fs::read_to_string(name_or_path).map_err(|cause| unreadable(name_or_path, &cause))
            }
        }
    }

    /// The text of a scenario, which messages call `file`, with values at [keys](hopflow_config::set).
    ///
    /// # Errors
    /// If the text is no TOML, or a key or a value is none.
    pub fn with_values(
        text: &str,
        file: &str,
        values: &[(String, String)],
    ) -> Result<String, InputError> {
        read::toml::<toml::Table>(text).map_err(|error| error.in_text(file, text))?;
        let mut values = values.iter();
        values.try_fold(text.to_owned(), |text, (key, value)| set(&text, key, value))
    }

    /// Reads a scenario from `text`, which messages call `file`; the files that it names are looked
    /// for beside that one first.
    ///
    /// # Errors
    /// If the text is no valid scenario.
    pub fn parse(text: &str, file: &str) -> Result<Self, InputError> {
        Self::parse_with(text, file, None)
    }

    /// Reads a scenario that takes its circuits from the file `circuits`, if one is given, in
    /// place of the one that it names.
    ///
    /// # Errors
    /// If the text is no valid scenario, or a file is given and it takes circuits from none.
    pub fn parse_with(text: &str, file: &str, circuits: Option<&Path>) -> Result<Self, InputError> {
        let in_text = |error: InputError| error.in_text(file, text);
        let mut scenario: Self = read::toml(text).map_err(in_text)?;
        scenario
            .resolve_counts()
            .and_then(|()| scenario.load_files(Path::new(file), circuits))
            .and_then(|()| scenario.check())
            .map_err(in_text)?;
        Ok(scenario)
    }
}

fn unreadable(path: &str, cause: &io::Error) -> InputError {
    let problem = format!("cannot read the scenario {path}: {cause}");
    if Path::new(path).exists() {
        return InputError::new(problem);
    }
    let names = builtin::scenarios().iter().map(|scenario| scenario.name);
    let allowed = allowed(path, names);
    InputError::new(format!("{problem}; neither a file nor built in; {allowed}"))
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountOrList;

        impl<'de> Visitor<'de> for CountOrList {
            type Value = Seeds;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of seeds, or a list of seeds such as [1, 2, 3]")
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Seeds, E> {
                let seeds = u32::try_from(count).ok();
                let seeds = seeds.filter(|seeds| (1..=Seeds::MOST.get()).contains(seeds));
                seeds.map(Seeds::Count).ok_or_else(|| {
                    E::custom(format_args!(
                        "is {count}; allowed is a number of seeds from 1 to {}",
                        Seeds::MOST
                    ))
                })
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Seeds, E> {
                self.visit_i64(i64::try_from(count).unwrap_or(i64::MAX))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seeds: A) -> Result<Seeds, A::Error> {
                let seeds = de::value::SeqAccessDeserializer::new(seeds);
                Vec::deserialize(seeds).map(Seeds::List)
            }
        }

        deserializer.deserialize_any(CountOrList)
    }
}
