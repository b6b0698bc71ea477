//! Pages and sections as JSON, from programs in other languages.
//!
//! The JSON has the form of the model: an object per struct with the fields' names, an object with
//! one key per block and reference, and `null` or nothing for what is empty. What differs:
//!
//! - a cell is `null`, a text, a number, an array of a number and half the width of its interval,
//!   or an object with one of the keys `label` (an array of the text and its colour's number),
//!   `link` (an array of the text and a path from the page), `figures`, `faint` (texts), `range` (an
//!   array of two numbers), `count` and `verdict` (its name);
//! - an image is an object of `caption` and `png`, the file in base 64;
//! - charts whose axes readers choose cannot be given.

use std::path::Path;

use hopflow_results::Verdict;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::error::Error;
use crate::image::{Image, from_base64};
use crate::model::{Cell, Document, Section};

impl Document {
    /// A page from JSON, in which sections may be left empty.
    ///
    /// # Errors
    /// If the text is no such JSON; the message says where.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| Error::json(Path::new("page"), &error))
    }
}

impl Section {
    /// A section from the JSON in the file at `path`, which has the text `text`.
    ///
    /// # Errors
    /// If the text is no such JSON; the message says where.
    pub(crate) fn from_json(text: &str, path: &Path) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| Error::json(path, &error))
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnyCell {
    Empty,
    Number(f64),
    Interval(f64, f64),
    Text(String),
    Other(OtherCell),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OtherCell {
    Label(String, usize),
    Link(String, String),
    Figures(String),
    Faint(String),
    Range(f64, f64),
    Count(u64),
    Verdict(String),
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cell = AnyCell::deserialize(deserializer)
            .map_err(|_| D::Error::custom("a table has a cell of no known form"))?;
        Ok(match cell {
            AnyCell::Empty => Self::Empty,
            AnyCell::Number(value) => Self::number(Some(value)),
            AnyCell::Interval(value, half_width) => Self::Number {
                value,
                half_width: Some(half_width),
            },
            AnyCell::Text(text) => Self::Text(text),
            AnyCell::Other(OtherCell::Label(text, colour)) => Self::Label { text, colour },
            AnyCell::Other(OtherCell::Link(text, path)) => Self::Link { text, path },
            AnyCell::Other(OtherCell::Figures(text)) => Self::Figures { text, faint: false },
            AnyCell::Other(OtherCell::Faint(text)) => Self::Figures { text, faint: true },
            AnyCell::Other(OtherCell::Range(low, high)) => Self::Range(low, high),
            AnyCell::Other(OtherCell::Count(count)) => Self::Count(count),
            AnyCell::Other(OtherCell::Verdict(name)) => verdict(&name).map(Self::Verdict)?,
        })
    }
}

fn verdict<E: serde::de::Error>(name: &str) -> Result<Verdict, E> {
    let all = [
        Verdict::Reproduced,
        Verdict::NotReproduced,
        Verdict::Undecided,
        Verdict::NotJudged,
    ];
    let found = all.into_iter().find(|verdict| verdict.to_string() == name);
    found.ok_or_else(|| {
        let names = all.map(|verdict| verdict.to_string()).join(", ");
        E::custom(format_args!(
            "there is no verdict \"{name}\"; allowed: {names}"
        ))
    })
}

impl<'de> Deserialize<'de> for Image {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            caption: String,
            png: String,
        }
        let file = File::deserialize(deserializer)?;
        let image = from_base64(&file.png).and_then(|bytes| Self::png(&*file.caption, &bytes));
        image.ok_or_else(|| {
            D::Error::custom(format_args!(
                "the image \"{}\" is no PNG file in base 64",
                file.caption
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Block;

    fn cells(json: &str) -> Result<Vec<Cell>, Error> {
        let page = format!(
            r#"{{"sections": [{{"heading": "H", "blocks": [{{"table": {{"rows": [{json}]}}}}]}}]}}"#
        );
        let mut page = Document::from_json(&page)?;
        match page.sections.remove(0).blocks.remove(0) {
            Block::Table(mut table) => Ok(table.rows.remove(0)),
            other => panic!("{other:?} is no table"),
        }
    }

    #[test]
    fn every_kind_of_cell_has_a_form() {
        let found = cells(
            r#"[null, "a", 1.5, 2, [3.0, 0.5], {"label": ["t", 1]}, {"link": ["l", "data/l"]},
                {"figures": "1 of 2"}, {"range": [0, 1]}, {"count": 7}, {"verdict": "undecided"}]"#,
        );
        let number = |value, half_width| Cell::Number { value, half_width };
        let expected = vec![
            Cell::Empty,
            Cell::Text("a".to_owned()),
            number(1.5, None),
            number(2.0, None),
            number(3.0, Some(0.5)),
            Cell::Label {
                text: "t".to_owned(),
                colour: 1,
            },
            Cell::Link {
                text: "l".to_owned(),
                path: "data/l".to_owned(),
            },
            Cell::Figures {
                text: "1 of 2".to_owned(),
                faint: false,
            },
            Cell::Range(0.0, 1.0),
            Cell::Count(7),
            Cell::Verdict(Verdict::Undecided),
        ];
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for (json, message) in [
            (r#"[{"verdict": "good"}]"#, "there is no verdict \"good\""),
            (r#"[{"colour": 1}]"#, "a cell of no known form"),
        ] {
            let error = cells(json).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let error = Document::from_json(r#"{"titel": ""}"#).unwrap_err();
        assert!(error.to_string().contains("titel"), "{error}");
    }

    #[test]
    fn a_chart_needs_only_what_has_no_default() {
        let page = Document::from_json(
            r#"{"title": "T", "sections": [{"heading": "H", "blocks": [
                {"chart": {"id": "c", "title": "C", "caption": "", "x": {"label": "x"},
                    "y": {"label": "y", "unit": "s"}, "series": [
                    {"label": "s", "colour": 0, "mark": "line", "points": [{"x": 0, "y": 1}]}],
                    "references": [{"horizontal": {"label": "limit", "y": 2}}]}},
                {"note": "n"}, {"code": {"caption": "c", "text": "t"}}]}]}"#,
        );
        assert_eq!(page.unwrap().sections[0].blocks.len(), 3);
    }
}
