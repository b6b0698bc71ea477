//! What campaigns need: single runs, what identifies them, and what their tables hold.

use std::path::PathBuf;

use hopflow_api::{Caller, Single};
use hopflow_results::ColumnEntry;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::input::source;
use crate::watch::{failed, watched};

/// Identifies the file of this module.
#[pyfunction]
pub(crate) fn build(program: PathBuf) -> String {
    Caller::new("", program).build()
}

/// The tables of results and of campaigns.
#[pyfunction]
pub(crate) fn dictionary() -> PyResult<String> {
    let tables = hopflow_api::describe(None).map_err(|error| failed(&error))?;
    let leading = hopflow_api::leading_columns();
    let table = |table: &hopflow_results::TableEntry| {
        let columns = leading.iter().chain(&table.columns).map(column);
        let columns: Vec<Value> = columns.collect();
        json!({ "table": table.name, "about": table.about, "columns": columns })
    };
    Ok(Value::Array(tables.iter().map(table).collect()).to_string())
}

fn column(column: &ColumnEntry) -> Value {
    json!({
        "column": column.name,
        "type": column.kind,
        "unit": column.unit,
        "optional": column.optional,
        "about": column.about,
    })
}

/// What identifies each run of a scenario.
#[pyfunction]
pub(crate) fn keys(py: Python<'_>, scenario: (bool, String), build: &str) -> PyResult<String> {
    let keys = py.detach(|| hopflow_api::keys(&source(scenario), build));
    let keys = keys.map_err(|error| failed(&error))?;
    Ok(serde_json::to_string(&keys).expect("plain data has a JSON form"))
}

/// Makes the runs of a transport with these seeds, in a folder, each on so many threads.
#[pyfunction]
pub(crate) fn run_each(
    py: Python<'_>,
    scenario: (bool, String),
    runs: (String, Vec<u64>),
    place: (PathBuf, usize),
    build: &str,
    watch: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let ((label, seeds), (folder, threads)) = (runs, place);
    let runs = watched(py, watch, |monitor| {
        let (runs, place) = ((&*label, seeds), (&*folder, threads));
        hopflow_api::run_each(&source(scenario), runs, place, build, monitor)
    })?;
    Ok(Value::Array(runs.iter().map(single).collect()).to_string())
}

fn single(single: &Single) -> Value {
    let Single { key, made } = single;
    match made {
        Ok((entry, measures)) => json!({ "key": key, "entry": entry, "measures": measures }),
        Err(message) => json!({ "key": key, "error": message }),
    }
}
