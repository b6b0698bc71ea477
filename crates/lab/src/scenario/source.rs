//! Files that a scenario names: circuits that others published, and graphs.

use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use hopflow_paths::CircuitFile;
use hopflow_results::Fingerprint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::topology::{Graph, Topology};
use super::{InputError, Scenario};

/// The folder of data files, by the name of the environment variable that names it.
const DATA: &str = "HOPFLOW_DATA";

/// Where a network's relays come from, beside those that the scenario lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A file of circuits that were published with a paper, plain or compressed by gzip. It is
    /// looked for beside the scenario, in the current folder, and in the folder that the
    /// environment variable HOPFLOW_DATA names.
    Circuits(String),
}

/// The content of the files that a scenario names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    pub(super) circuits: Option<Arc<CircuitFile>>,
    pub(super) graph: Option<Arc<Graph>>,
    /// Identifies what was in the files.
    digest: String,
}

impl Loaded {
    /// Identifies what was in the files; empty without files.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    fn note(&mut self, bytes: &[u8]) {
        let content = String::from_utf8_lossy(bytes);
        self.digest = Fingerprint::of(&[&self.digest, &content]).to_string();
    }
}

impl Scenario {
    /// Reads the files that the scenario names, or `circuits` in place of its circuit file;
    /// `beside` is the scenario's own file.
    pub(super) fn load_files(
        &mut self,
        beside: &Path,
        circuits: Option<&Path>,
    ) -> Result<(), InputError> {
        let mut loaded = Loaded::default();
        if let Some(circuits) = circuits {
            if self.network.source.is_none() {
                let problem = "is missing: the scenario takes no circuits from a file";
                return Err(InputError::at("network.source", problem));
            }
            let path = path::absolute(circuits).unwrap_or_else(|_| circuits.to_owned());
            self.network.source = Some(Source::Circuits(path.display().to_string()));
        }
        if let Some(Source::Circuits(name)) = &self.network.source {
            let key = "network.source.circuits";
            let (path, bytes) = find(key, name, beside)?;
            loaded.note(&bytes);
            let file = CircuitFile::parse(&bytes, &path.display().to_string());
            let file = file.map_err(|error| InputError::at(key, error.to_string()))?;
            loaded.circuits = Some(Arc::new(file));
        }
        match &self.network.topology {
            Topology::Graph(name) => {
                let key = "network.topology.graph";
                let (path, bytes) = find(key, name, beside)?;
                loaded.note(&bytes);
                let graph = Graph::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| {
                    let problem = error.to_string().trim().replace('\n', " ");
                    InputError::at(key, format!("{}: {problem}", path.display()))
                })?;
                loaded.graph = Some(Arc::new(graph));
            }
            Topology::Tree(tree) => loaded.graph = Some(Arc::new(tree.graph())),
            Topology::Star | Topology::Dumbbell(_) => {}
        }
        self.loaded = loaded;
        Ok(())
    }
}

/// The first file of this name, and its content.
fn find(key: &str, name: &str, beside: &Path) -> Result<(PathBuf, Vec<u8>), InputError> {
    let folder = beside.parent().map(Path::to_owned);
    let data = env::var_os(DATA).map(PathBuf::from);
    let mut folders = vec![folder.unwrap_or_default(), PathBuf::new()];
    folders.extend(data);
    folders.dedup();
    for folder in &folders {
        let path = folder.join(name);
        if path.is_file() {
            let bytes = fs::read(&path).map_err(|error| {
                InputError::at(key, format!("cannot read {}: {error}", path.display()))
            })?;
            return Ok((path, bytes));
        }
    }
    let tried: Vec<_> = folders
        .iter()
        .map(|folder| folder.join(name).display().to_string())
        .collect();
    Err(InputError::at(
        key,
        format!(
            "there is no file \"{name}\" (tried: {}); name the folder that holds it in {DATA}, or \
             a circuit file by --circuits",
            tried.join(", ")
        ),
    ))
}
