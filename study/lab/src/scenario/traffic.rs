//! Learned models of users that a scenario names.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hopflow_traffic::Model;

use super::check::{Check, fail};
use super::source::{Loaded, find};
use super::{Circuits, InputError, Workload, allowed};

/// How the names of models' files end.
const FILE: &str = ".safetensors";

/// The models of a scenario, by the name that it calls them by.
#[derive(Clone, Debug, Default)]
pub(super) struct TrafficModels(BTreeMap<String, Arc<Model>>);

impl TrafficModels {
    /// A model of the scenario.
    pub(super) fn get(&self, name: &str) -> Arc<Model> {
        let model = self.0.get(name);
        Arc::clone(model.expect("a scenario's models are read before it is checked"))
    }
}

/// Scenarios are compared by the names of their models; what is in the files is told apart by the
/// digest.
impl PartialEq for TrafficModels {
    fn eq(&self, other: &Self) -> bool {
        self.0.keys().eq(other.0.keys())
    }
}

impl Loaded {
    /// Reads the models of all groups of circuits.
    pub(super) fn read_traffic(
        &mut self,
        circuits: &[Circuits],
        beside: &Path,
    ) -> Result<(), InputError> {
        for (number, group) in circuits.iter().enumerate() {
            let Some(name) = &group.workload.model else {
                continue;
            };
            if self.traffic.0.contains_key(name) {
                continue;
            }
            let key = format!("circuits[{number}].workload.model");
            let model = self.read_model(&key, name, beside)?;
            self.traffic.0.insert(name.clone(), Arc::new(model));
        }
        Ok(())
    }

    fn read_model(&mut self, key: &str, name: &str, beside: &Path) -> Result<Model, InputError> {
        let (file, bytes) = match Model::builtin(name) {
            Some(bytes) => (name.to_owned(), bytes.to_vec()),
            None if name.ends_with(FILE) => {
                let (path, bytes) = find(key, name, beside)?;
                (path.display().to_string(), bytes)
            }
            None => {
                let allowed = allowed(name, Model::builtin_names());
                let problem = format!(
                    "\"{name}\" is no model of users; {allowed}, or a file that ends in {FILE}"
                );
                return Err(InputError::at(key, problem));
            }
        };
        self.note(&bytes);
        Model::read(&bytes, &file).map_err(|error| InputError::at(key, error.to_string()))
    }
}

impl Workload {
    /// Checks the keys that belong to a model, and that none is there that it replaces.
    pub(super) fn check_model(&self, key: &str, models: &TrafficModels) -> Check {
        if self.parallel == Some(0) {
            let key = format!("{key}.parallel");
            return fail(&key, "is 0; allowed are 1 or more objects at once");
        }
        let Some(name) = &self.model else {
            return match self.parallel {
                Some(_) => fail(
                    &format!("{key}.parallel"),
                    "is for pages with objects, which only models have; needed is the key `model`",
                ),
                None => Ok(()),
            };
        };
        let model = models.get(name);
        if !model.has(self.class.into()) {
            let classes: Vec<_> = model.classes().collect();
            let problem = format!(
                "the model \"{name}\" has no users of this class; allowed: {}",
                classes.join(", ")
            );
            return fail(&format!("{key}.class"), problem);
        }
        let replaced = [
            ("response", self.response.is_some()),
            ("request", self.request.is_some()),
            ("direction", self.direction.is_some()),
            ("think", self.think.is_some()),
            ("replay", self.replay.is_some()),
        ];
        match replaced.iter().find(|(_, said)| *said) {
            Some((other, _)) => fail(
                &format!("{key}.{other}"),
                format!(
                    "is what the model \"{name}\" draws; allowed beside `model`: class, parallel, \
                     server-delay, server-delay-max"
                ),
            ),
            None => Ok(()),
        }
    }
}
