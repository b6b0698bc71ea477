//! The JSON Schema of scenarios.

use hopflow_config::forbid_null;

use super::{Scenario, options};

/// The JSON Schema of scenarios, by which editors complete and check them; it knows the presets and
/// the options of all layers that are registered.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    forbid_null(&mut schema);
    options::put_into(&mut schema);
    format!("{schema:#}\n")
}
