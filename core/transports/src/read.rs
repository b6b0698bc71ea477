//! Reading a transport's options, which its layers share as one table.

use std::fmt::Write;

use hopflow_config::{forbid_null, nearest};
use hopflow_overlay::ConfigError;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use toml::{Table, Value};

use crate::layer::{Around, LayerOptions};

/// Options by key, each with its JSON Schema.
pub(crate) type Properties = Map<String, Json>;

/// What the options are that a struct holds.
pub(crate) fn properties<T: JsonSchema>() -> Properties {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    match schema.remove("properties") {
        Some(mut properties) => {
            forbid_null(&mut properties);
            match properties {
                Json::Object(properties) => properties,
                _ => Properties::new(),
            }
        }
        None => Properties::new(),
    }
}

/// The options of a transport. Each layer takes those that its struct has; none may be left.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    given: Table,
    settled: Settled,
}

/// What came of a transport's options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settled {
    /// The options that its layers know; of two layers with the same option the first counts.
    pub(crate) known: Properties,
    /// Those that have an effect, with their values.
    pub(crate) resolved: Table,
}

impl Reader {
    /// Options from tables; later ones win.
    pub(crate) fn new(tables: impl IntoIterator<Item = Table>) -> Self {
        Self {
            given: tables.into_iter().flatten().collect(),
            settled: Settled::default(),
        }
    }

    /// Reads a layer's options, and settles what they leave open.
    ///
    /// # Errors
    /// If a value cannot be used.
    pub(crate) fn layer<T: LayerOptions>(&mut self, around: &mut Around) -> Result<T, ConfigError> {
        let mut options: T = self.read()?;
        options.settle(around)?;
        self.note(&options);
        Ok(options)
    }

    /// Reads the options that a struct holds.
    ///
    /// # Errors
    /// If a value is not what the struct's schema allows.
    pub(crate) fn read<T: JsonSchema + DeserializeOwned>(&mut self) -> Result<T, ConfigError> {
        let mut own = Table::new();
        for (key, schema) in properties::<T>() {
            if let Some(value) = self.given.get(&key) {
                // Alone, so that what is wrong with it is known to be its own.
                let alone = Table::from_iter([(key.clone(), value.clone())]);
                let read = alone.try_into::<T>();
                read.map_err(|error| refusal(&key, value, &schema, error.message()))?;
                if !is_in_range(value, &schema) {
                    return Err(ConfigError::new(&key, value, allowed_values(&schema)));
                }
                own.insert(key.clone(), value.clone());
            }
            self.settled.known.entry(key).or_insert(schema);
        }
        own.try_into()
            .map_err(|error| ConfigError::new("options", "", error.message()))
    }

    /// Notes what came of options; of two layers with the same option the first counts.
    pub(crate) fn note(&mut self, options: &impl Serialize) {
        let settled = Table::try_from(options).expect("options are a table");
        for (key, value) in settled {
            self.settled.resolved.entry(key).or_insert(value);
        }
    }

    /// Checks that every given key was known.
    ///
    /// # Errors
    /// If a key is unknown; the error suggests the nearest known one.
    pub(crate) fn finish(self) -> Result<Settled, ConfigError> {
        let known = &self.settled.known;
        let mut given = self.given.keys();
        match given.find(|key| !known.contains_key(key.as_str())) {
            None => Ok(self.settled),
            Some(key) => {
                let problem = unknown(key, known.keys().map(String::as_str));
                Err(ConfigError::new(key, "", problem))
            }
        }
    }
}

/// Says that a name is unknown, which one may have been meant, and which there are.
pub(crate) fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = known.into_iter().collect();
    let near = nearest(name, &names);
    let hint = near.map_or(String::new(), |near| format!(" did you mean `{near}`?"));
    format!("unknown;{hint} allowed is one of {}", names.join(", "))
}

fn refusal(key: &str, value: &Value, schema: &Json, problem: &str) -> ConfigError {
    match value {
        Value::Array(_) => {
            let allowed = format!(
                "one value, {}; to compare several, give each a label: [transports.LABEL] with the \
                 preset and this option",
                allowed_values(schema)
            );
            ConfigError::new(key, value, allowed)
        }
        // Such texts say themselves what is wrong with them, and what is allowed.
        Value::String(_) if schema["type"] == "string" && names(schema).is_empty() => {
            ConfigError::new(key, "", problem)
        }
        _ => ConfigError::new(key, value, allowed_values(schema)),
    }
}

/// The bounds of a number.
fn bounds(schema: &Json) -> [Option<f64>; 2] {
    ["minimum", "maximum"].map(|bound| schema.get(bound).and_then(Json::as_f64))
}

fn is_in_range(value: &Value, schema: &Json) -> bool {
    let number = match value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        _ => return true,
    };
    let [least, most] = bounds(schema);
    number.is_finite()
        && least.is_none_or(|least| number >= least)
        && most.is_none_or(|most| number <= most)
}

/// The names that a schema allows, if it allows only some.
fn names(schema: &Json) -> Vec<&str> {
    // Names of which some have a description stand in forms of their own.
    let forms = std::iter::once(schema).chain(list(schema, "oneOf"));
    let names = forms.flat_map(|form| form.get("const").into_iter().chain(list(form, "enum")));
    names.filter_map(Json::as_str).collect()
}

fn list<'a>(schema: &'a Json, key: &str) -> &'a [Json] {
    let list = schema.get(key).and_then(Json::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// What the schema of an option allows, in words.
pub fn allowed_values(schema: &Json) -> String {
    let forms = list(schema, "anyOf");
    if !forms.is_empty() {
        return forms
            .iter()
            .map(allowed_values)
            .collect::<Vec<_>>()
            .join(", or ");
    }
    let names = names(schema);
    if !names.is_empty() {
        return names.join(", ");
    }
    let kind = match schema["type"].as_str() {
        Some("boolean") => "true or false",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        _ => "a text",
    };
    let mut text = schema["title"].as_str().unwrap_or(kind).to_owned();
    let written = match bounds(schema) {
        [Some(least), Some(most)] => write!(text, " from {least} to {most}"),
        [Some(least), None] => write!(text, ", at least {least}"),
        [None, Some(most)] => write!(text, ", at most {most}"),
        [None, None] => Ok(()),
    };
    written.expect("a string takes everything");
    if let Some(example) = schema["examples"][0].as_str() {
        write!(text, " such as \"{example}\"").expect("a string takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use hopflow_units::{Cells, Duration, Interval};
    use serde::Deserialize;

    use super::*;
    use crate::shown::shown;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default, rename_all = "kebab-case")]
    struct Example {
        #[schemars(range(min = 1))]
        alpha: Cells,
        beta: Option<Cells>,
        refill: Duration,
        every: Interval,
        #[schemars(range(min = 0.25, max = 1))]
        share: f64,
        quick: bool,
        order: Order,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Order {
        RoundRobin,
        /// Those that sent least of late first.
        Ewma,
    }

    impl Default for Example {
        fn default() -> Self {
            Self {
                alpha: Cells::new(2),
                beta: None,
                refill: Duration::from_millis(10),
                every: Interval::from_millis(15),
                share: 1.0,
                quick: true,
                order: Order::RoundRobin,
            }
        }
    }

    fn read(text: &str) -> Result<(Example, Table), ConfigError> {
        let mut reader = Reader::new([text.parse().unwrap()]);
        let example: Example = reader.read()?;
        reader.note(&example);
        Ok((example, reader.finish()?.resolved))
    }

    #[test]
    fn what_is_not_given_keeps_its_default() {
        let (example, resolved) = read("beta = 3\nshare = 1").unwrap();
        let beta = Some(Cells::new(3));
        let expected = Example {
            beta,
            ..Example::default()
        };
        assert_eq!(example, expected);
        let lines = resolved.iter();
        let lines: Vec<_> = lines
            .map(|(key, value)| format!("{key} {}", shown(value)))
            .collect();
        let expected = [
            "alpha 2",
            "beta 3",
            "refill 10 ms",
            "every 15 ms",
            "share 1",
            "quick true",
            "order round-robin",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn errors_name_key_value_and_what_is_allowed() {
        for (text, expected) in [
            (
                "alpha = 0",
                "`alpha` is 0; allowed is a whole number of cells, at least 1",
            ),
            (
                "alpha = -1",
                "`alpha` is -1; allowed is a whole number of cells, at least 1",
            ),
            (
                "beta = true",
                "`beta` is true; allowed is a whole number of cells, at least 0",
            ),
            (
                "refill = 10",
                "`refill` is 10; allowed is a time such as \"40 ms\"",
            ),
            (
                "refill = \"10 mss\"",
                "`refill`: \"10 mss\": has the unknown unit \"mss\"; allowed is a time: ",
            ),
            (
                "every = \"0 s\"",
                "`every`: \"0 s\": is zero; allowed is a time longer than zero",
            ),
            (
                "share = 2.5",
                "`share` is 2.5; allowed is a number from 0.25 to 1",
            ),
            (
                "share = nan",
                "`share` is nan; allowed is a number from 0.25 to 1",
            ),
            ("quick = 1", "`quick` is 1; allowed is true or false"),
            (
                "order = \"fifo\"",
                "`order` is \"fifo\"; allowed is round-robin, ewma",
            ),
            (
                "refill = [\"1 ms\", \"2 ms\"]",
                "`refill` is [\"1 ms\", \"2 ms\"]; allowed is one value, a time such as \"40 ms\"; \
                 to compare several, give each a label: [transports.LABEL] with",
            ),
            (
                "alhpa = 3",
                "`alhpa`: unknown; did you mean `alpha`? allowed is one of alpha, beta, every, ",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
