//! `hopflow describe`.

use std::fmt::Write as _;

use hopflow_api::{Failure, dictionary_json};
use hopflow_results::{ColumnEntry, TableEntry};

use crate::show;

/// Says what the tables of results hold.
pub(crate) fn describe(table: Option<&str>, as_json: bool, markdown: bool) -> Result<(), Failure> {
    let tables = hopflow_api::describe(table)?;
    if as_json {
        return show::print_json(&dictionary_json(&tables));
    }
    let text = if markdown { markdown_of } else { text_of };
    let tables: Vec<String> = tables.iter().map(text).collect();
    let title = if markdown { TITLE } else { "" };
    show::print(&format!("{title}{LEADING}\n\n{}", tables.join("\n")))
}

const TITLE: &str = "# Data dictionary\n\n`hopflow describe --markdown` prints this page.\n\n";

const LEADING: &str = "Every table begins with the columns transport (the label), network (the number \
                       of the sampled network) and seed.\nIn a campaign, columns of the varied \
                       parameters stand before these.";

fn text_of(table: &TableEntry) -> String {
    let width = table.columns.iter().map(|column| column.name.len()).max();
    let width = width.unwrap_or(0);
    let mut text = format!("{}: {}\n", table.name, table.about);
    for column in &table.columns {
        let name = &column.name;
        writeln!(text, "  {name:width$}  {}", told(column)).expect("a string takes every text");
    }
    text
}

fn markdown_of(table: &TableEntry) -> String {
    let mut text = format!(
        "## `{}`\n\n{}\n\n| column | type | unit | meaning |\n| --- | --- | --- | --- |\n",
        table.name, table.about
    );
    for column in &table.columns {
        let (name, about) = (&column.name, &column.about);
        let kind = kind(column);
        let unit = column.unit;
        writeln!(text, "| `{name}` | {kind} | {unit} | {about} |")
            .expect("a string takes every text");
    }
    text
}

fn told(column: &ColumnEntry) -> String {
    let unit = match column.unit {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    format!("{}{unit}: {}", kind(column), column.about)
}

fn kind(column: &ColumnEntry) -> String {
    let optional = if column.optional {
        ", may be empty"
    } else {
        ""
    };
    format!("{}{optional}", column.kind)
}
