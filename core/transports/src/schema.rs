//! The JSON Schema of transports' options, by which editors complete and check them.

use hopflow_overlay::Info;
use serde_json::{Value as Json, json};
use toml::{Table, Value};

use crate::choice::LayerChoice;
use crate::link::{HopRepairOptions, LinkOptions, TcpOptions};
use crate::presets::Preset;
use crate::read::{Properties, properties};
use crate::registry::{choose, end_controls, ends, hop_controls, hop_layers, path_choices, paths};

/// The options that choose layers: where one is given, a preset's own layers no longer say which
/// options there are.
pub const CHOOSING_KEYS: [&str; 5] = ["carrier", "end-to-end", "hop-control", "path", "repair"];

/// The options of all layers that there are: the JSON Schema of each by its key. Where layers differ
/// in what a key means, the schema allows what one of them does.
pub fn all_options() -> Properties {
    let hops = hop_layers().into_iter().map(|layer| (layer.options)());
    let ends = ends().into_iter().map(|entry| (entry.options)());
    let paths = paths().into_iter().map(|entry| (entry.options)());
    let links = [
        properties::<TcpOptions>(),
        properties::<HopRepairOptions>(),
        properties::<LinkOptions>(),
    ];
    let mut all = properties::<LayerChoice>();
    for (key, schema) in hops.chain(ends).chain(paths).chain(links).flatten() {
        match all.get_mut(&key) {
            None => {
                all.insert(key, schema);
            }
            Some(known) => join(known, schema),
        }
    }
    with_names(all)
}

/// The options that the layers of a preset read, with the preset's defaults: the JSON Schema of each
/// by its key.
pub fn options_of(preset: &Preset) -> Properties {
    let layers = hop_layers();
    let settled = choose(preset, &Table::new(), &layers)
        .and_then(|(hop, chosen)| (layers[hop].settled)(chosen));
    let Ok(settled) = settled else {
        return all_options();
    };
    let mut options = settled.known;
    for (key, value) in &settled.resolved {
        if let Some(schema) = options.get_mut(key) {
            schema["default"] = as_json(value);
        }
    }
    with_names(options)
}

/// Puts in the names of the layers that there are.
fn with_names(mut options: Properties) -> Properties {
    for (key, infos) in [
        ("hop-control", hop_controls()),
        ("end-to-end", end_controls()),
        ("path", path_choices()),
    ] {
        let form = |info: &Info| json!({ "const": info.name, "description": info.about });
        let forms: Vec<Json> = infos.iter().map(form).collect();
        if let Some(schema) = options.get_mut(key) {
            schema["oneOf"] = forms.into();
        }
    }
    options
}

/// Lets a schema allow what another one does.
fn join(known: &mut Json, other: Json) {
    let plain = |schema: &Json| {
        let mut schema = schema.clone();
        if let Some(keys) = schema.as_object_mut() {
            keys.remove("default");
            keys.remove("description");
        }
        schema
    };
    if known.get("default") != other.get("default")
        && let Some(keys) = known.as_object_mut()
    {
        keys.remove("default");
    }
    if known.get("anyOf").is_none() {
        if plain(known) == plain(&other) {
            return;
        }
        *known = json!({ "anyOf": [known] });
    }
    let Some(forms) = known["anyOf"].as_array_mut() else {
        return;
    };
    if forms.iter().all(|form| plain(form) != plain(&other)) {
        forms.push(other);
    }
}

fn as_json(value: &Value) -> Json {
    serde_json::to_value(value).expect("an option is no exotic value")
}
