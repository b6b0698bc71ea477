//! Values of options as people read them.

use toml::Value;

/// A value as the lines of a transport's parameters show it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Float(number) => number.to_string(),
        value => value.to_string(),
    }
}
