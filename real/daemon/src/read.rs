//! Reading TOML, with errors that name the key.

use std::fmt::{Display, Write};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serializer};
use serde_path_to_error::Segment;

use crate::InputError;

/// No file that a node reads is larger: 10,000 relays take some 4 MB.
const LARGEST_FILE: u64 = 16 << 20;

/// The text of a file.
pub(crate) fn file(path: &Path) -> Result<String, InputError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| {
        let limited = file.take(LARGEST_FILE + 1).read_to_string(&mut text)?;
        Ok(limited as u64)
    });
    match read {
        Ok(length) if length <= LARGEST_FILE => Ok(text),
        Ok(_) => Err(InputError::new(format!(
            "is larger than {LARGEST_FILE} bytes, which is what is allowed"
        ))),
        Err(cause) => Err(InputError::new(format!("cannot be read: {cause}"))),
    }
    .map_err(|error| error.in_file(path))
}

/// Reads a value from the text of a TOML document.
pub(crate) fn toml<T: DeserializeOwned>(text: &str) -> Result<T, InputError> {
    let document =
        toml::Deserializer::parse(text).map_err(|error| from_toml(String::new(), &error, text))?;
    serde_path_to_error::deserialize(document)
        .map_err(|error| from_toml(key_of(error.path()), error.inner(), text))
}

fn from_toml(key: String, error: &toml::de::Error, text: &str) -> InputError {
    let problem = error.message().trim().replace('\n', "; ");
    let found = InputError::at(key, problem);
    match error.span() {
        Some(span) => {
            let before = text.bytes().take(span.start);
            found.on_line(1 + before.filter(|byte| *byte == b'\n').count())
        }
        None => found,
    }
}

fn key_of(path: &serde_path_to_error::Path) -> String {
    let mut key = String::new();
    for segment in path {
        let written = match segment {
            Segment::Seq { index } => write!(key, "[{index}]"),
            Segment::Map { key: name } | Segment::Enum { variant: name } if key.is_empty() => {
                write!(key, "{name}")
            }
            Segment::Map { key: name } | Segment::Enum { variant: name } => write!(key, ".{name}"),
            Segment::Unknown => Ok(()),
        };
        written.expect("a string takes everything");
    }
    key
}

/// Reads a value that is written as text, such as `"1500 kB/s"`.
pub(crate) fn text<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

/// Values that are written as text, for `#[serde(with)]`.
pub(crate) mod as_text {
    use super::{Deserializer, Display, FromStr, Serializer};

    pub(crate) fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
    {
        super::text(deserializer)
    }
}

/// Values that are written as text and may be left out, for `#[serde(with)]`.
pub(crate) mod as_optional_text {
    use super::{Deserializer, Display, FromStr, Serializer};

    #[expect(
        clippy::ref_option,
        reason = "serde calls it with a reference to the field"
    )]
    pub(crate) fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
    {
        super::text(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_units::Rate;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Example {
        #[serde(deserialize_with = "text")]
        rate: Rate,
    }

    #[derive(Debug, Deserialize)]
    struct Examples {
        list: Vec<Example>,
    }

    #[test]
    fn an_error_names_key_line_value_and_what_is_allowed() {
        let wrong = "[[list]]\nrate = \"1 MB/s\"\n[[list]]\nrate = \"1 mb/s\"\n";
        let error = toml::<Examples>(wrong).unwrap_err();
        let message = error.in_file(Path::new("a.toml")).to_string();
        assert!(
            message.starts_with("a.toml:4: list[1].rate: \"1 mb/s\""),
            "{message}"
        );
        assert!(message.contains("kB/s, MB/s"), "{message}");
    }

    #[test]
    fn an_unknown_key_is_told_which_are_known() {
        let error = toml::<Examples>("[[list]]\nrat = \"1 MB/s\"\n").unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("unknown field `rat`, expected `rate`"),
            "{message}"
        );
        let right = toml::<Examples>("[[list]]\nrate = \"1 MB/s\"\n").unwrap();
        assert_eq!(right.list[0].rate.to_string(), "1 MB/s");
    }

    #[test]
    fn a_missing_file_is_named() {
        let message = file(Path::new("there/is/none.toml"))
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("there/is/none.toml: cannot be read"),
            "{message}"
        );
    }
}
