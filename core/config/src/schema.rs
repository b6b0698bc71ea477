//! JSON Schemas of what users write as TOML.

use serde_json::Value;

/// Takes the null out of optional keys: TOML has none, a key is left out instead.
pub fn forbid_null(schema: &mut Value) {
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
                    // What is said of the key counts more than what is said of its type.
                    for (name, value) in only {
                        keys.entry(name).or_insert(value);
                    }
                }
            }
            if let Some(Value::Array(values)) = keys.get_mut("enum") {
                values.retain(|value| !value.is_null());
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
