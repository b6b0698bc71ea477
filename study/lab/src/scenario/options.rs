//! The JSON Schema of transports' options: which there are depends on the preset.

use hopflow_transports::{CHOOSING_KEYS, Preset, all_options, options_of, presets};
use serde_json::{Map, Value, json};

/// Puts the presets and their options into the schema of scenarios, in which [`any`] stands for
/// options.
pub(super) fn put_into(schema: &mut Value) {
    let all = all_options();
    let definitions = &mut schema["$defs"];
    for preset in presets() {
        definitions[format!("Options of {}", preset.name)] = options(preset, &all);
    }
    definitions["Options"] = json!({
        "description": "Options of a transport's layers.",
        "type": "object",
        "properties": all,
        "additionalProperties": false,
    });
    let chooses = CHOOSING_KEYS.map(|key| json!({ "required": [key] }));
    definitions["Other layers"] = json!({
        "description": "Options that choose other layers than those of a preset.",
        "anyOf": chooses,
    });
    let about = |preset: &Preset| json!({ "const": preset.name, "description": preset.about });
    definitions["Preset"] = json!({
        "description": "The name of a transport.",
        "oneOf": presets().into_iter().map(about).collect::<Vec<_>>(),
    });
    definitions["Options by preset"] = json!({
        "description": "The preset says which options a transport has.",
        "allOf": presets().into_iter().map(when_named).collect::<Vec<_>>(),
    });
    for transport in ["Choice", "Upgrade"] {
        let transport = &mut definitions[transport];
        transport["properties"]["preset"]["$ref"] = "#/$defs/Preset".into();
        transport["allOf"] = json!([{ "$ref": "#/$defs/Options%20by%20preset" }]);
    }
    let labels = presets().into_iter().map(labelled);
    let transports = &mut schema["properties"]["transports"];
    transports["properties"] = labels.collect::<Map<_, _>>().into();
    // Of a label that is no preset the table must say which preset it means.
    transports["additionalProperties"]["required"] = json!(["preset"]);
}

/// What stands for the options of a transport of any preset.
pub(super) fn any(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "$ref": "#/$defs/Options" })
}

fn reference(preset: &Preset) -> Value {
    let name = preset.name;
    json!({ "properties": { "options": { "$ref": format!("#/$defs/Options%20of%20{name}") } } })
}

/// A transport whose table names a preset.
fn when_named(preset: &Preset) -> Value {
    json!({
        "if": { "properties": { "preset": { "const": preset.name } }, "required": ["preset"] },
        "then": reference(preset),
    })
}

/// A transport whose label is a preset, unless its table names another one.
fn labelled(preset: &'static Preset) -> (String, Value) {
    let transport = json!({
        "$ref": "#/$defs/Choice",
        "description": preset.about,
        "if": { "required": ["preset"] },
        "else": reference(preset),
    });
    (preset.name.to_owned(), transport)
}

/// The options of a preset, as long as it keeps its layers.
fn options(preset: &Preset, all: &Map<String, Value>) -> Value {
    let own = options_of(preset);
    let own = own.into_iter().map(|(key, schema)| {
        let schema = shortened(&key, schema, all);
        (key, schema)
    });
    json!({
        "description": format!("Options of {}: {}.", preset.name, preset.about),
        "if": { "$ref": "#/$defs/Other%20layers" },
        "else": {
            "properties": own.collect::<Map<_, _>>(),
            "additionalProperties": false,
        },
    })
}

/// The schema of an option, which says only how it differs from what the option is in all layers.
fn shortened(key: &str, schema: Value, all: &Map<String, Value>) -> Value {
    let plain = |schema: &Value| {
        let mut schema = schema.clone();
        if let Some(keys) = schema.as_object_mut() {
            keys.remove("default");
        }
        schema
    };
    let Some(general) = all
        .get(key)
        .filter(|general| plain(general) == plain(&schema))
    else {
        return schema;
    };
    let mut short = json!({ "$ref": format!("#/$defs/Options/properties/{key}") });
    if let Some(default) = schema
        .get("default")
        .filter(|own| general.get("default") != Some(own))
    {
        short["default"] = default.clone();
    }
    short
}
