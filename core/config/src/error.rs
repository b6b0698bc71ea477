//! What a user got wrong, and where.

use std::fmt;
use std::path::Path;

use toml::de::{DeTable, DeValue};

/// An error in something that a user wrote: where it is, what is wrong, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    file: Option<String>,
    line: Option<usize>,
    key: String,
    problem: String,
    of_missing_file: bool,
}

impl InputError {
    /// An error that belongs to no file.
    pub fn new(problem: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            key: String::new(),
            problem: problem.into(),
            of_missing_file: false,
        }
    }

    /// An error at a key such as `network.relays[2].bucket`.
    pub fn at(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            ..Self::new(problem)
        }
    }

    /// The error that a file which the input names is not there.
    pub fn missing_file(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            of_missing_file: true,
            ..Self::at(key, problem)
        }
    }

    /// Whether a file which the input names is not there.
    pub const fn is_of_missing_file(&self) -> bool {
        self.of_missing_file
    }

    /// The error with the file's name and, where the key can be found in its text, the line.
    pub fn in_text(mut self, file: &str, text: &str) -> Self {
        self.file = Some(file.to_owned());
        self.line = self.line.or_else(|| line_of_key(text, &self.key));
        self
    }

    /// The error with the file's name, unless it has one already.
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.display().to_string());
        self
    }

    /// The error without the line, which is that of a text that nobody wrote.
    pub fn without_line(mut self) -> Self {
        self.line = None;
        self
    }

    /// The line in the text, counted from 1, if it is known.
    pub const fn line(&self) -> Option<usize> {
        self.line
    }

    /// The error with the line that holds the byte `offset` of `text`.
    pub(crate) fn on_line_of(mut self, text: &str, offset: usize) -> Self {
        self.line = Some(line_of(text, offset));
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            f.write_str(file)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for InputError {}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text
        .bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
}

/// The line of the deepest part of a key path that the text holds.
fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut table = Some(document.get_ref());
    let mut found = None;
    for part in key.split('.') {
        let (name, indices) = part.split_once('[').unwrap_or((part, ""));
        let Some((key, value)) = table.and_then(|table| table.get_key_value(name)) else {
            break;
        };
        found = Some(key.span().start);
        let mut value = value;
        for index in indices
            .split(['[', ']'])
            .filter_map(|text| text.parse::<usize>().ok())
        {
            let DeValue::Array(items) = value.get_ref() else {
                break;
            };
            let Some(item) = items.get(index) else {
                break;
            };
            found = Some(item.span().start);
            value = item;
        }
        table = match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        };
    }
    found.map(|offset| line_of(text, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_path_is_found_on_its_line() {
        let text = "a = 1\n[b]\nc = [\n  { d = 2 },\n  { d = 3 },\n]\n";
        for (key, line) in [("a", 1), ("b.c", 3), ("b.c[1].d", 5), ("b.c[1].missing", 5)] {
            assert_eq!(line_of_key(text, key), Some(line), "{key}");
        }
        assert_eq!(line_of_key(text, "z"), None);
    }
}
