//! Learned models of users that a scenario names.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopflow_traffic::Model;

/// The models of a scenario, by the name that it calls them by.
#[derive(Clone, Debug, Default)]
pub(super) struct TrafficModels(BTreeMap<String, Arc<Model>>);

impl TrafficModels {
    /// A model of the scenario.
    pub(super) fn get(&self, name: &str) -> Arc<Model> {
        let model = self.0.get(name);
        Arc::clone(model.expect("a scenario's models are read before it is checked"))
    }

    /// Whether there is a model of this name.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Adds a model.
    pub(super) fn add(&mut self, name: &str, model: Model) {
        self.0.insert(name.to_owned(), Arc::new(model));
    }
}

/// Scenarios are compared by the names of their models; what is in the files is told apart by the
/// digest.
impl PartialEq for TrafficModels {
    fn eq(&self, other: &Self) -> bool {
        self.0.keys().eq(other.0.keys())
    }
}
