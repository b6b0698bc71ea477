//! The compiled part of the Python package `hopflow`: the module `hopflow._native`.
//!
//! It is the library `hopflow-api`, and the command line for `python -m hopflow`. Whatever has structure
//! crosses as JSON; results stay in their folder, where Python reads the Parquet files itself. The
//! package wraps all of it, so the module is no interface for users.

mod campaign;
mod input;
mod watch;

use pyo3::prelude::*;

/// The module; its functions are documented in `_native.pyi`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::campaign::{build, dictionary, keys, lacking, make_lacking, run_each, simulated};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use hopflow_api::{Caller, Runner};
    use hopflow_results::Folder;
    use pyo3::prelude::*;

    use crate::input::{Orders, source};
    use crate::watch::{failed, watched};

    /// Does what a command line says, as the program `hopflow` does; returns the exit code.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<OsString>, command: &str, program: PathBuf) -> u8 {
        let caller = Caller::of_arguments(command, &arguments, program);
        py.detach(|| hopflow_cli::main(arguments, &caller))
    }

    /// Runs a scenario with `changes`, and with `transports` in place of its own unless that is empty;
    /// returns the folder of the results.
    #[pyfunction]
    fn run(
        py: Python<'_>,
        scenario: (bool, String),
        changes: Vec<(String, String)>,
        transports: Option<Vec<String>>,
        orders: &Bound<'_, PyAny>,
        watch: &Bound<'_, PyAny>,
    ) -> PyResult<PathBuf> {
        let (order, caller) = orders.extract::<Orders>()?.into_parts();
        watched(py, watch, |monitor| {
            let runner = Runner {
                order: &order,
                caller: &caller,
                monitor,
            };
            let source = source(scenario).changed(&changes);
            let made = hopflow_api::run(&source, transports.as_deref(), &runner)?;
            Ok(made.finished.folder)
        })
    }

    /// Makes an experiment again; returns the folder of the results.
    #[pyfunction]
    fn reproduce(
        py: Python<'_>,
        experiment: &str,
        orders: &Bound<'_, PyAny>,
        watch: &Bound<'_, PyAny>,
    ) -> PyResult<PathBuf> {
        let (order, caller) = orders.extract::<Orders>()?.into_parts();
        watched(py, watch, |monitor| {
            let runner = Runner {
                order: &order,
                caller: &caller,
                monitor,
            };
            Ok(hopflow_api::reproduce(experiment, &runner)?.folder)
        })
    }

    /// Checks a scenario with `changes`; returns a line that says what it would run.
    #[pyfunction]
    fn validate(
        py: Python<'_>,
        scenario: (bool, String),
        changes: Vec<(String, String)>,
    ) -> PyResult<String> {
        py.detach(|| hopflow_api::validate(&source(scenario).changed(&changes)))
            .map_err(|error| failed(&error))
    }

    /// A scenario that is given as JSON, as TOML.
    #[pyfunction]
    fn to_toml(json: &str) -> PyResult<String> {
        crate::input::to_toml(json)
    }

    /// The JSON Schema of scenarios.
    #[pyfunction]
    fn schema() -> String {
        hopflow_lab::scenario::schema()
    }

    /// The transports that scenarios may name, each with a sentence about it.
    #[pyfunction]
    fn transports() -> Vec<(String, String)> {
        hopflow_api::transports()
    }

    /// The options of a transport, as JSON.
    #[pyfunction]
    fn options(transport: &str) -> PyResult<String> {
        let options = hopflow_api::options_json(transport).map_err(|error| failed(&error))?;
        Ok(options.to_string())
    }

    /// The built-in scenarios.
    #[pyfunction]
    fn scenarios() -> PyResult<Vec<(String, String)>> {
        hopflow_api::scenarios().map_err(|error| failed(&error))
    }

    /// The text of the built-in scenario of this name, if there is one.
    #[pyfunction]
    fn scenario_text(name: &str) -> Option<&'static str> {
        hopflow_lab::builtin::find(name).map(|scenario| scenario.text)
    }

    /// The figures and tables that can be reproduced.
    #[pyfunction]
    fn experiments() -> PyResult<Vec<(String, String)>> {
        hopflow_api::experiments().map_err(|error| failed(&error))
    }

    /// How a value compares with its band, and how many runs would decide an open case; see
    /// `_native.pyi` for its numbers.
    #[pyfunction]
    fn judge(value: crate::input::Judged) -> (&'static str, Option<u64>) {
        let [value] = &mut [crate::input::value(value)];
        hopflow_api::judge(std::slice::from_mut(value));
        (value.verdict.as_str(), value.wanted)
    }

    /// The manifest of a result folder, as JSON.
    #[pyfunction]
    fn manifest(folder: PathBuf) -> PyResult<String> {
        let manifest = Folder::open(&folder).read_manifest();
        let manifest = manifest.map_err(|error| failed(&error.into()))?;
        Ok(serde_json::to_string(&manifest).expect("plain data has a JSON form"))
    }

    /// The checksum of a file's content, as manifests have it.
    #[pyfunction]
    fn checksum(py: Python<'_>, content: &[u8]) -> String {
        py.detach(|| hopflow_results::Fingerprint::of_bytes(content).to_string())
    }

    /// How the transports of a result folder compare, as JSON in base units.
    #[pyfunction]
    fn summary(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
        let summary = py.detach(|| hopflow_api::summary(&folder));
        summary
            .map(|it| it.to_string())
            .map_err(|error| failed(&error))
    }

    /// Writes the report of a result folder anew; returns the page's path.
    #[pyfunction]
    fn write_report(py: Python<'_>, folder: PathBuf) -> PyResult<PathBuf> {
        py.detach(|| hopflow_api::write_report(&folder))
            .map_err(|error| failed(&error))
    }

    /// Writes a page that is given as JSON into a folder; returns its path.
    #[pyfunction]
    fn write_page(page: &str, folder: PathBuf) -> PyResult<PathBuf> {
        let write = |folder: &Path| {
            let document = hopflow_report::Document::from_json(page)?;
            Ok(hopflow_report::write(&document, folder)?.page)
        };
        write(&folder).map_err(|error: hopflow_report::Error| failed(&error.into()))
    }
}
