//! The JSON Schema of scenarios.

use serde_json::Value;

use super::Scenario;

/// The JSON Schema of scenarios, by which editors complete and check them.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    forbid_null(&mut schema);
    format!("{schema:#}\n")
}

/// Takes the null out of optional keys: TOML has none, a key is left out instead.
fn forbid_null(schema: &mut Value) {
    let null = Value::String("null".to_owned());
    match schema {
        Value::Object(keys) => {
            if let Some(Value::Array(types)) = keys.get_mut("type") {
                types.retain(|name| *name != null);
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    keys.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(forms)) = keys.get_mut("anyOf") {
                forms.retain(|form| form.get("type") != Some(&null));
                if let [Value::Object(only)] = forms.as_mut_slice() {
                    let only = std::mem::take(only);
                    keys.remove("anyOf");
                    keys.extend(only);
                }
            }
            if keys.get("default").is_some_and(says_nothing) {
                keys.remove("default");
            }
            keys.values_mut().for_each(forbid_null);
        }
        Value::Array(values) => values.iter_mut().for_each(forbid_null),
        _ => {}
    }
}

fn says_nothing(default: &Value) -> bool {
    match default {
        Value::Object(keys) => keys.values().all(says_nothing),
        Value::String(text) => text.is_empty(),
        default => default.is_null(),
    }
}
