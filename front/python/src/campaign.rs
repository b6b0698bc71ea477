//! What campaigns need: single runs, what identifies them, and what their tables hold.

use std::path::PathBuf;

use hopflow_api::{Caller, MadeRun, Runner, Runs, Single};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::input::{Orders, source};
use crate::watch::{failed, watched};

/// Identifies the file of this module, as it was when this was first asked for.
#[pyfunction]
pub(crate) fn build(program: PathBuf) -> PyResult<String> {
    let build = Caller::new("", program).build();
    build.map_err(|error| failed(&error))
}

/// The tables of results and of campaigns.
#[pyfunction]
pub(crate) fn dictionary() -> PyResult<String> {
    let tables = hopflow_api::describe(None).map_err(|error| failed(&error))?;
    Ok(hopflow_api::dictionary_json(&tables).to_string())
}

/// What identifies each run of a scenario.
#[pyfunction]
pub(crate) fn keys(py: Python<'_>, scenario: (bool, String), build: &str) -> PyResult<String> {
    let keys = py.detach(|| hopflow_api::keys(&source(scenario), build));
    let keys = keys.map_err(|error| failed(&error))?;
    Ok(serde_json::to_string(&keys).expect("plain data has a JSON form"))
}

/// The runs of a transport; an object with these attributes.
#[derive(Debug, FromPyObject)]
pub(crate) struct Wanted {
    transport: String,
    seeds: Vec<u64>,
    tables: Vec<String>,
    build: String,
}

/// A run as JSON, and its tables by name.
type Told = (String, Vec<(&'static str, Py<PyBytes>)>);

/// Makes the runs of a transport, one after the other.
#[pyfunction]
pub(crate) fn run_each(
    py: Python<'_>,
    scenario: (bool, String),
    wanted: &Bound<'_, PyAny>,
    watch: &Bound<'_, PyAny>,
) -> PyResult<Vec<Told>> {
    let wanted: Wanted = wanted.extract()?;
    let source = source(scenario);
    let runs = watched(py, watch, |monitor| {
        let runs = Runs {
            source: &source,
            transport: &wanted.transport,
            seeds: wanted.seeds,
            tables: wanted.tables,
            build: &wanted.build,
        };
        hopflow_api::run_each(&runs, 1, monitor)
    })?;
    Ok(runs.into_iter().map(|run| told(py, run)).collect())
}

/// The names of the experiments that have runs.
#[pyfunction]
pub(crate) fn simulated() -> Vec<&'static str> {
    hopflow_api::simulated()
}

/// The runs that an experiment's folder lacks.
#[pyfunction]
pub(crate) fn lacking(
    py: Python<'_>,
    experiment: &str,
    orders: &Bound<'_, PyAny>,
    watch: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let (order, caller) = orders.extract::<Orders>()?.into_parts();
    let found = watched(py, watch, |monitor| {
        let runner = Runner {
            order: &order,
            caller: &caller,
            monitor,
        };
        hopflow_api::lacking(experiment, &runner)
    })?;
    let runs = found.runs.iter().map(|key| {
        json!({
            "name": key.folder(),
            "transport": key.transport,
            "seed": key.seed,
        })
    });
    let runs: Vec<_> = runs.collect();
    Ok(json!({ "seeds": found.seeds, "runs": runs }).to_string())
}

/// Makes some of these runs in the folder.
#[pyfunction]
pub(crate) fn make_lacking(
    py: Python<'_>,
    experiment: &str,
    names: Vec<String>,
    orders: &Bound<'_, PyAny>,
    watch: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let (order, caller) = orders.extract::<Orders>()?.into_parts();
    let made = watched(py, watch, |monitor| {
        let runner = Runner {
            order: &order,
            caller: &caller,
            monitor,
        };
        hopflow_api::make_lacking(experiment, names, &runner)
    })?;
    let made = made.into_iter().map(|MadeRun { name, made }| match made {
        Ok(seconds) => json!({ "name": name, "seconds": seconds }),
        Err(error) => json!({ "name": name, "error": error }),
    });
    let made: Vec<_> = made.collect();
    Ok(json!(made).to_string())
}

fn told(py: Python<'_>, run: Single) -> Told {
    let key = run.key;
    match run.made {
        Ok(made) => {
            let about = json!({
                "key": key,
                "results": made.results,
                "wall_seconds": made.wall_seconds,
                "measures": made.measures,
            });
            let bytes = |bytes: Vec<u8>| PyBytes::new(py, &bytes).unbind();
            let tables = made.tables.into_iter();
            let tables = tables.map(|(table, encoded)| (table, bytes(encoded.bytes)));
            (about.to_string(), tables.collect())
        }
        Err(message) => (
            json!({ "key": key, "error": message }).to_string(),
            Vec::new(),
        ),
    }
}
