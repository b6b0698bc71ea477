//! Reading the files that a scenario names: circuits that others published, tables of relays,
//! graphs, and models of users.

use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use hopflow_paths::{CircuitFile, Population};
use hopflow_traffic::{LiveCircuits, Model};
use hopflow_units::Rate;

use super::replay::Recording;
use super::topology::{Graph, Topology};
use super::{InputError, Loaded, PopulationSource, Scenario, Source, allowed};

/// The folder of data files, by the name of the environment variable that names it.
const DATA: &str = "HOPFLOW_DATA";

/// The key that `--circuits` replaces.
const CIRCUITS_KEY: &str = "network.source.circuits";

/// How the names of models' files end.
const MODEL_FILE: &str = ".safetensors";

/// The most bandwidth of a relay that Tor's clients believed without a measurement (path-spec,
/// `MAX_BELIEVABLE_BANDWIDTH`): with it, chosen paths agree with published ones.
const fn most_believed() -> Rate {
    Rate::from_kilobytes_per_sec(10_000)
}

impl Scenario {
    /// Reads the files that the scenario names, or `circuits` in place of its circuit file;
    /// `beside` is the scenario's own file.
    pub(super) fn load_files(
        &mut self,
        beside: &Path,
        circuits: Option<&Path>,
    ) -> Result<(), InputError> {
        if let Some(circuits) = circuits {
            self.replace_circuits(circuits)?;
        }
        let mut loaded = Loaded::default();
        match &self.network.source {
            Some(Source::Circuits(name)) => loaded.read_circuits(name, beside)?,
            Some(Source::Population(PopulationSource {
                table: Some(name), ..
            })) => loaded.read_table(name, beside)?,
            Some(Source::Population(_)) | None => {}
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
            Topology::Tree(tree) => {
                tree.check()?;
                loaded.graph = Some(Arc::new(tree.graph()));
            }
            Topology::Star | Topology::Dumbbell(_) => {}
        }
        for (key, group) in self.groups() {
            if let Some(name) = &group.workload.replay {
                loaded.read_recording(name, beside, &key)?;
            }
        }
        for (key, group) in self.groups() {
            if let Some(name) = &group.workload.model {
                loaded.read_traffic(name, beside, &key)?;
            }
        }
        self.loaded = loaded;
        Ok(())
    }

    /// Puts the circuit file at this path in place of the one that the scenario names.
    fn replace_circuits(&mut self, circuits: &Path) -> Result<(), InputError> {
        let Some(Source::Circuits(name)) = &mut self.network.source else {
            let problem = "the scenario takes no circuits from a file that another could replace; \
                           needed is network.source = { circuits = FILE }";
            return Err(InputError::at("network.source", problem));
        };
        let path = path::absolute(circuits).unwrap_or_else(|_| circuits.to_owned());
        *name = path.display().to_string();
        Ok(())
    }
}

impl Loaded {
    fn read_circuits(&mut self, name: &str, beside: &Path) -> Result<(), InputError> {
        let key = CIRCUITS_KEY;
        let (path, bytes) = find(key, name, beside)?;
        self.note(&bytes);
        let file = CircuitFile::parse(&bytes, &path.display().to_string());
        let file = file.map_err(|error| InputError::at(key, error.to_string()))?;
        let population = Population::from_circuits(&file).with_weight_cap(most_believed());
        self.relays = Some(Arc::new(population));
        self.circuits = Some(Arc::new(file));
        Ok(())
    }

    /// Reads the page loads that the circuits of a group replay.
    fn read_recording(&mut self, name: &str, beside: &Path, group: &str) -> Result<(), InputError> {
        if self.recordings.contains_key(name) {
            return Ok(());
        }
        let key = format!("{group}.workload.replay");
        let (path, bytes) = find(&key, name, beside)?;
        self.note(&bytes);
        let recording = Recording::parse(&bytes)
            .map_err(|error| InputError::at(key, format!("{}: {error}", path.display())))?;
        self.recordings.insert(name.to_owned(), Arc::new(recording));
        Ok(())
    }

    fn read_table(&mut self, name: &str, beside: &Path) -> Result<(), InputError> {
        let key = "network.source.population.table";
        let (path, bytes) = find(key, name, beside)?;
        self.note(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        let population = Population::from_table(&text, &path.display().to_string());
        let population = population.map_err(|error| InputError::at(key, error.to_string()))?;
        self.relays = Some(Arc::new(population));
        Ok(())
    }

    /// Reads the model that the users of a group follow.
    fn read_traffic(&mut self, name: &str, beside: &Path, group: &str) -> Result<(), InputError> {
        if name != LiveCircuits::NAME && !self.traffic.holds(name) {
            let key = format!("{group}.workload.model");
            let model = self.read_model(&key, name, beside)?;
            self.traffic.add(name, model);
        }
        Ok(())
    }

    fn read_model(&mut self, key: &str, name: &str, beside: &Path) -> Result<Model, InputError> {
        let (file, bytes) = match Model::builtin(name) {
            Some(bytes) => (name.to_owned(), bytes.to_vec()),
            None if name.ends_with(MODEL_FILE) => {
                let (path, bytes) = find(key, name, beside)?;
                (path.display().to_string(), bytes)
            }
            None => {
                let names = Model::builtin_names().chain([LiveCircuits::NAME]);
                let allowed = allowed(name, names);
                let problem = format!(
                    "\"{name}\" is no model of users; {allowed}, or a file that ends in {MODEL_FILE}"
                );
                return Err(InputError::at(key, problem));
            }
        };
        self.note(&bytes);
        Model::read(&bytes, &file).map_err(|error| InputError::at(key, error.to_string()))
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
    let otherwise = match key {
        CIRCUITS_KEY => ", or another circuit file (`circuits`)",
        _ => "",
    };
    let problem = format!(
        "there is no file \"{name}\" (tried: {}); name the folder that holds it in \
         {DATA}{otherwise}",
        tried.join(", ")
    );
    Err(InputError::missing_file(key, problem))
}
