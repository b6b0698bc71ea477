//! Reading TOML, with errors that name the key.

use std::fmt::{Display, Write};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serializer};
use serde_path_to_error::Segment;

use crate::error::InputError;
use crate::names::allowed;

/// No file that is read as a whole is larger: a directory of 10,000 relays takes some 4 MB.
const LARGEST_FILE: u64 = 16 << 20;

/// The text of a file.
///
/// # Errors
/// If the file cannot be read, or is larger than any that hopflow reads.
pub fn file(path: &Path) -> Result<String, InputError> {
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
///
/// # Errors
/// If the text is no TOML, or not that of such a value.
pub fn toml<T: DeserializeOwned>(text: &str) -> Result<T, InputError> {
    let document =
        toml::Deserializer::parse(text).map_err(|error| from_toml(String::new(), &error, text))?;
    serde_path_to_error::deserialize(document)
        .map_err(|error| from_toml(key_of(error.path()), error.inner(), text))
}

fn from_toml(key: String, error: &toml::de::Error, text: &str) -> InputError {
    let (key, problem) = reword(key, error.message());
    let found = InputError::at(key, problem);
    match error.span() {
        Some(span) if !text.is_empty() => found.on_line_of(text, span.start),
        _ => found,
    }
}

/// Puts serde's messages about names into our form, with a suggestion.
///
/// Serde says "unknown field `x`, expected one of `a`, `b`"; what does not look like this is kept.
fn reword(key: String, message: &str) -> (String, String) {
    let message = message.trim().replace('\n', "; ");
    if let Some(message) = reword_type(&message) {
        return (key, message);
    }
    let quoted: Vec<_> = message.split('`').skip(1).step_by(2).collect();
    let (Some(found), names) = (quoted.first(), quoted.iter().skip(1).copied()) else {
        return (key, message);
    };
    if message.starts_with("unknown field") {
        // Depending on the format, the path does or does not end in the unknown key.
        let path = match key.strip_suffix(found) {
            Some("") => key,
            Some(parent) if parent.ends_with('.') => key,
            _ if key.is_empty() => (*found).to_owned(),
            _ => format!("{key}.{found}"),
        };
        (
            path,
            format!("unknown key \"{found}\"; {}", allowed(found, names)),
        )
    } else if message.starts_with("unknown variant") {
        (
            key,
            format!("unknown value \"{found}\"; {}", allowed(found, names)),
        )
    } else if message.starts_with("missing field") {
        (key, format!("the key \"{found}\" is missing"))
    } else {
        (key, message)
    }
}

/// Puts serde's messages about types into our form; `None`: it is about something else.
///
/// Serde says "invalid type: string "1 %", expected f64", with the names of types of Rust.
fn reword_type(message: &str) -> Option<String> {
    // The standard library's words do not say that names and addresses without a port are none.
    if message == "invalid socket address syntax" {
        return Some(format!(
            "{message}; allowed is an address with a port, such as \"127.0.0.1:9050\""
        ));
    }
    let typed = message.starts_with("invalid type") || message.starts_with("invalid value");
    let (found, expected) = message.rsplit_once(", expected ").filter(|_| typed)?;
    let allowed = match expected {
        "f64" | "f32" => "a number, without quotes and unit",
        "i64" | "i32" => "a whole number, without quotes and unit",
        "u64" | "usize" => "a whole number of at least 0, without quotes and unit",
        "u32" => "a whole number from 0 to 4294967295, without quotes and unit",
        "u16" => "a whole number from 0 to 65535, without quotes and unit",
        "u8" => "a whole number from 0 to 255, without quotes and unit",
        "a string" => "text in quotes",
        "a boolean" => "true or false",
        _ => return None,
    };
    Some(format!("{found}; allowed is {allowed}"))
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
///
/// # Errors
/// If there is no text, or not that of such a value.
pub fn text<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

/// Values that are written as text, for `#[serde(with)]`.
pub mod as_text {
    use super::{Deserializer, Display, FromStr, Serializer};

    /// Writes the value as text.
    ///
    /// # Errors
    /// If the serializer fails.
    pub fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    /// Reads the value from text.
    ///
    /// # Errors
    /// If there is no text, or not that of such a value.
    pub fn deserialize<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
    {
        super::text(deserializer)
    }
}

/// Values that are written as text and may be left out, for `#[serde(with)]`.
pub mod as_optional_text {
    use super::{Deserializer, Display, FromStr, Serializer};

    /// Writes the value as text.
    ///
    /// # Errors
    /// If the serializer fails.
    pub fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    /// Reads the value from text.
    ///
    /// # Errors
    /// If there is no text, or not that of such a value.
    pub fn deserialize<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<Option<T>, D::Error>
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
            message.contains("list[0].rat: unknown key \"rat\"; did you mean \"rate\"?"),
            "{message}"
        );
        let right = toml::<Examples>("[[list]]\nrate = \"1 MB/s\"\n").unwrap();
        assert_eq!(right.list[0].rate.to_string(), "1 MB/s");
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only reading is tested")]
    struct Plain {
        share: Option<f64>,
        seed: Option<u64>,
        port: Option<u16>,
        name: Option<String>,
    }

    #[test]
    fn a_value_of_another_type_is_told_what_is_allowed() {
        for (wrong, told) in [
            (
                "share = \"1 %\"",
                "share: invalid type: string \"1 %\"; allowed is a number, without",
            ),
            ("seed = -1", "allowed is a whole number of at least 0"),
            ("port = 70000", "allowed is a whole number from 0 to 65535"),
            (
                "name = 5",
                "name: invalid type: integer `5`; allowed is text in quotes",
            ),
        ] {
            let message = toml::<Plain>(wrong).unwrap_err().to_string();
            assert!(message.contains(told), "{message}");
        }
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
