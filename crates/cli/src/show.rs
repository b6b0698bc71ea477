//! Printing to the standard output.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use hopflow_lab::run::Finished;
use hopflow_lab::summary::{Mean, QUANTITIES, Row};
use serde_json::{Map, Value, json};

use crate::fail::Failure;

/// Prints text; a reader that has seen enough is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::bad_input(
            format_args!("cannot write to the standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Lines above and below the table and its header, none within.
const RULED: TableStyle = {
    let rule = LineStyle::none().fill('─').junction('─');
    TableStyle::new()
        .top_border(rule)
        .header_separator(rule)
        .bottom_border(rule)
};

/// A table whose first column is text and whose others are numbers.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_header(header);
    table.add_rows(rows);
    table
}

/// The summary as a table: a row per quantity, a column per transport.
pub(crate) fn summary(rows: &[Row]) -> String {
    let mut header = vec!["mean ± 95 % interval over runs"];
    header.extend(rows.iter().map(|row| row.transport.as_str()));
    let measured =
        (0..QUANTITIES.len()).filter(|n| rows.iter().any(|row| row.values[*n].is_some()));
    let lines = measured.map(|n| {
        let cells = rows.iter().map(|row| cell(row.values[n]));
        std::iter::once(QUANTITIES[n].to_string())
            .chain(cells)
            .collect()
    });
    let mut table = table(&header, lines);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn cell(mean: Option<Mean>) -> String {
    let Some(mean) = mean else {
        return "-".to_owned();
    };
    let decimals = decimals(mean.mean);
    let interval = mean
        .half_width
        .map_or(String::new(), |half| format!(" ± {half:.decimals$}"));
    format!("{:.decimals$}{interval}", mean.mean)
}

/// Decimals that show three significant digits.
fn decimals(number: f64) -> usize {
    match number.abs() {
        n if n >= 100.0 || n == 0.0 => 0,
        n if n >= 10.0 => 1,
        n if n >= 1.0 => 2,
        _ => 3,
    }
}

/// The summary for machines.
pub(crate) fn summary_json(finished: &Finished, report: &Path, rows: &[Row]) -> Value {
    let runs: Vec<_> = finished
        .runs
        .iter()
        .map(|run| {
            json!({
                "transport": run.key.transport,
                "seed": run.key.seed,
                "results": run.results.to_string(),
                "wall_seconds": run.wall_seconds,
            })
        })
        .collect();
    let transports: Vec<_> = rows.iter().map(row_json).collect();
    json!({
        "folder": finished.folder.display().to_string(),
        "report": report.display().to_string(),
        "results": finished.results.to_string(),
        "transports": transports,
        "runs": runs,
    })
}

fn row_json(row: &Row) -> Value {
    let values = QUANTITIES.iter().zip(&row.values).map(|(quantity, value)| {
        let value = value.map_or(Value::Null, |mean| {
            json!({
                "unit": quantity.unit,
                "mean": mean.mean,
                "ci_low": mean.low(),
                "ci_high": mean.high(),
            })
        });
        (quantity.key.to_owned(), value)
    });
    json!({
        "transport": row.transport,
        "runs": row.runs,
        "values": values.collect::<Map<_, _>>(),
    })
}
