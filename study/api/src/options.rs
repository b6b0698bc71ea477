//! The options of a transport, with its defaults.

use hopflow_transports::{Preset, allowed_values, options_of, presets};
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// The options of the transport of this name, as JSON: `key`, `about`, `allowed` in words, `values` with what
/// each name means where a name alone does not say, and `default`, which is null where an option is not set.
///
/// # Errors
/// If there is no transport of this name.
pub fn options_json(transport: &str) -> Result<Value, Failure> {
    let preset = find(transport)?;
    Ok(json!({
        "transport": transport,
        "about": preset.about,
        "options": entries(preset).map(|entry| entry.to_json()).collect::<Value>(),
    }))
}

/// The options of the transport of this name, as a section of a scenario in which each is a comment with its default.
///
/// # Errors
/// If there is no transport of this name.
pub fn options_toml(transport: &str) -> Result<String, Failure> {
    let preset = find(transport)?;
    let mut text = format!("# {}.\n[transports.{transport}.options]\n", preset.about);
    for entry in entries(preset) {
        text.push_str(&entry.to_toml());
    }
    Ok(text)
}

fn find(transport: &str) -> Result<&'static Preset, Failure> {
    let presets = presets();
    let found = presets.iter().find(|preset| preset.name == transport);
    found.copied().ok_or_else(|| {
        let names = presets.iter().map(|preset| preset.name);
        let allowed = hopflow_lab::scenario::allowed(transport, names);
        Failure::bad_input(format_args!(
            "there is no transport \"{transport}\"; {allowed}"
        ))
    })
}

fn entries(preset: &Preset) -> impl Iterator<Item = Entry> {
    let options = options_of(preset).into_iter();
    options.map(|(key, schema)| Entry { key, schema })
}

/// An option and its JSON Schema.
struct Entry {
    key: String,
    schema: Value,
}

impl Entry {
    fn about(&self) -> &str {
        self.schema["description"].as_str().unwrap_or_default()
    }

    /// Names among the values, and what they mean.
    fn values(&self) -> Vec<(&str, &str)> {
        let forms = self.schema["oneOf"].as_array().into_iter().flatten();
        forms
            .filter_map(|form| Some((form["const"].as_str()?, form["description"].as_str()?)))
            .collect()
    }

    fn to_json(&self) -> Value {
        let values: Map<_, _> = self
            .values()
            .into_iter()
            .map(|(name, about)| (name.to_owned(), about.into()))
            .collect();
        json!({
            "key": self.key,
            "about": self.about().replace('\n', " "),
            "allowed": allowed_values(&self.schema),
            "values": values,
            "default": self.schema["default"],
        })
    }

    fn to_toml(&self) -> String {
        let key = &self.key;
        let mut text = format!("\n{}", comment("", self.about()));
        let values = self.values();
        let names = self.schema["oneOf"].as_array().map_or(0, Vec::len);
        if values.len() < names.max(1) {
            text.push_str(&comment("Allowed: ", &allowed_values(&self.schema)));
        }
        for (name, about) in values {
            text.push_str(&comment("- ", &format!("\"{name}\": {about}")));
        }
        // Values of options are written as in JSON. They are comments, for some defaults follow other options.
        let default = &self.schema["default"];
        text + &if default.is_null() {
            format!("# {key}: not set\n")
        } else {
            format!("# {key} = {default}\n")
        }
    }
}

/// A text as comments; `lead` stands before its first line, and room for it before the others.
fn comment(lead: &str, text: &str) -> String {
    let indent = " ".repeat(lead.len());
    let mut comment = String::new();
    for (number, line) in text.lines().enumerate() {
        let before = if number == 0 { lead } else { &indent };
        comment += &["# ", before, line, "\n"].concat();
    }
    comment
}
