//! The dictionary of tables and columns.

use hopflow_report::Dimension;
use hopflow_results::{ColumnEntry, TableEntry, dictionary};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The name of the table that campaigns add: a row per run.
const RUNS: &str = "runs";

/// The columns that stand before all others in the tables of runs.
fn leading_columns() -> Vec<ColumnEntry> {
    let column = |name: &str, kind, about: &str| ColumnEntry {
        name: name.to_owned(),
        about: about.to_owned(),
        kind,
        unit: "",
        optional: false,
    };
    vec![
        column("transport", "text", "The label of the transport."),
        column("network", "uint32", "Number of the sampled network."),
        column("seed", "uint64", "The seed of the run."),
    ]
}

/// The tables of runs, and that of campaigns; or the one of this name.
///
/// # Errors
/// If there is none of this name.
pub fn describe(name: Option<&str>) -> Result<Vec<TableEntry>, Failure> {
    let mut tables = dictionary();
    tables.insert(0, runs());
    let Some(name) = name else {
        return Ok(tables);
    };
    let names: Vec<_> = tables.iter().map(|table| table.name).collect();
    let allowed = hopflow_lab::scenario::allowed(name, names.iter().copied());
    tables.retain(|table| table.name == name);
    if tables.is_empty() {
        return Err(Failure::bad_input(format_args!(
            "there is no table \"{name}\"; {allowed}"
        )));
    }
    Ok(tables)
}

fn runs() -> TableEntry {
    let text = |name: &str, optional, about: &str| ColumnEntry {
        name: name.to_owned(),
        about: about.to_owned(),
        kind: "text",
        unit: "",
        optional,
    };
    let quantity = |quantity: hopflow_report::Quantity| ColumnEntry {
        name: quantity.key.to_owned(),
        about: format!("{}.", quantity.title),
        kind: "double",
        unit: match quantity.dimension {
            Dimension::Time => "seconds",
            Dimension::Rate => "bytes per second",
            Dimension::Data => "bytes",
            Dimension::Plain => "",
        },
        optional: true,
    };
    let mut columns = vec![
        text("run", false, "Hash of what the run was made from."),
        text("results", true, "Hash of the run's results."),
        text("error", true, "Why the run failed; empty if it did not."),
    ];
    columns.extend(hopflow_report::quantities().map(quantity));
    TableEntry {
        name: RUNS,
        about: "A run of a campaign, in numbers. Latencies are of all cells of the run, the warm-up included."
            .to_owned(),
        columns,
    }
}

/// Tables as JSON, each with the columns that all have.
pub fn dictionary_json(tables: &[TableEntry]) -> Value {
    let column = |column: &ColumnEntry| {
        json!({
            "column": column.name,
            "type": column.kind,
            "unit": column.unit,
            "optional": column.optional,
            "about": column.about,
        })
    };
    let leading = leading_columns();
    let table = |table: &TableEntry| {
        let columns: Vec<Value> = leading.iter().chain(&table.columns).map(column).collect();
        json!({ "table": table.name, "about": table.about, "columns": columns })
    };
    tables.iter().map(table).collect()
}
