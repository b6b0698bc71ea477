//! The JSON Schema of scenarios accepts what is allowed of transports' options, and nothing else.

use hopflow_lab::builtin;
use hopflow_lab::scenario::schema;
use serde_json::{Value, json};

/// Whether a value is what a schema allows; of JSON Schema as much as that of scenarios needs, save
/// patterns.
fn allows(root: &Value, schema: &Value, value: &Value) -> bool {
    let Some(keywords) = schema.as_object() else {
        return schema.as_bool() != Some(false);
    };
    let has = |schema: &Value| allows(root, schema, value);
    keywords
        .iter()
        .all(|(keyword, wanted)| match keyword.as_str() {
            "$ref" => {
                let path = wanted.as_str().unwrap().trim_start_matches('#');
                has(root.pointer(&path.replace("%20", " ")).expect(path))
            }
            "allOf" => list(wanted).all(has),
            "anyOf" => list(wanted).any(has),
            "oneOf" => list(wanted).filter(|form| has(form)).count() == 1,
            "not" => !has(wanted),
            "if" => {
                let branch = if has(wanted) { "then" } else { "else" };
                keywords.get(branch).is_none_or(has)
            }
            "const" => value == wanted,
            "enum" => list(wanted).any(|allowed| value == allowed),
            "type" => list_or_one(wanted).any(|name| is_a(value, name)),
            "minimum" => value.as_f64() >= wanted.as_f64() || !value.is_number(),
            "maximum" => value.as_f64() <= wanted.as_f64() || !value.is_number(),
            "required" => list(wanted).all(|key| value.get(key.as_str().unwrap()).is_some()),
            "properties" | "additionalProperties" | "items" => {
                parts_are_allowed(root, (keyword, keywords), value)
            }
            _ => true,
        })
}

fn parts_are_allowed(
    root: &Value,
    (keyword, keywords): (&str, &serde_json::Map<String, Value>),
    value: &Value,
) -> bool {
    let wanted = &keywords[keyword];
    let known = |key: &str| keywords.get("properties").and_then(|all| all.get(key));
    match (keyword, value) {
        ("items", Value::Array(items)) => items.iter().all(|item| allows(root, wanted, item)),
        ("properties", Value::Object(parts)) => parts
            .iter()
            .all(|(key, part)| known(key).is_none_or(|schema| allows(root, schema, part))),
        ("additionalProperties", Value::Object(parts)) => parts
            .iter()
            .all(|(key, part)| known(key).is_some() || allows(root, wanted, part)),
        _ => true,
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn list_or_one(value: &Value) -> impl Iterator<Item = &str> {
    list(value)
        .chain(value.is_string().then_some(value))
        .filter_map(Value::as_str)
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    }
}

fn root() -> Value {
    serde_json::from_str(&schema()).unwrap()
}

/// Whether the schema allows a scenario with these transports.
fn allows_transports(root: &Value, transports: &str) -> bool {
    let table: toml::Table = transports.parse().expect(transports);
    let transports = serde_json::to_value(table).unwrap();
    allows(root, &root["properties"]["transports"], &transports)
}

#[test]
fn every_built_in_scenario_is_allowed() {
    let root = root();
    for scenario in builtin::scenarios() {
        let table: toml::Table = scenario.text.parse().unwrap();
        let value = serde_json::to_value(table).unwrap();
        assert!(allows(&root, &root, &value), "{}", scenario.name);
    }
}

#[test]
fn every_presets_own_options_and_defaults_are_allowed() {
    let root = root();
    for preset in hopflow_transports::presets() {
        let mut options: toml::Table = preset.options.parse().unwrap();
        let defaults = hopflow_transports::options_of(preset);
        let given = |key: &String| hopflow_transports::CHOOSING_KEYS.contains(&key.as_str());
        for (key, schema) in defaults.iter().filter(|(key, _)| !given(key)) {
            if let Some(default) = schema.get("default") {
                let default = toml::Value::try_from(default).unwrap();
                options.entry(key.as_str()).or_insert(default);
            }
        }
        let transport = |options: &Value| json!({ preset.name: { "options": options } });
        let transports = transport(&serde_json::to_value(&options).unwrap());
        assert!(
            allows(&root, &root["properties"]["transports"], &transports),
            "{transports:#}"
        );
        let built = hopflow_simulated_hosts::build(preset.name, &options);
        let plan = |built: &dyn hopflow_overlay::Factory<_>| format!("{:?}", built.plan());
        let own = hopflow_simulated_hosts::build(preset.name, &toml::Table::new()).unwrap();
        assert_eq!(plan(built.unwrap().as_ref()), plan(own.as_ref()));
    }
}

#[test]
fn options_are_those_of_the_preset() {
    let root = root();
    for allowed in [
        "backtap = { options = { tolerance = \"20 ms\", alpha = 3 } }",
        "mine = { preset = \"vanilla\", options = { circuit-window = 200 } }",
        "vanilla = { options = { end-to-end = \"vegas\", vegas-alpha = 100 } }",
        "backtap = { preset = \"n23\", options = { n2 = 30 } }",
        "backtap = { options = { carrier = \"stream\" } }",
        "vanilla = { upgrade = { preset = \"backtap\", options = { beta = 6 } } }",
        "udp-or = { options = { initial-window = 1000, sack = false } }",
    ] {
        assert!(allows_transports(&root, allowed), "{allowed}");
    }
    for refused in [
        "backtap = { options = { tolerence = \"20 ms\" } }",
        "backtap = { options = { circuit-window = 200 } }",
        "backtap = { options = { alpha = 0 } }",
        "backtap = { options = { tolerance = 20 } }",
        "backtap = { options = { tolerance = [\"1 ms\", \"2 ms\"] } }",
        "backtap = { options = { growth = \"fast\" } }",
        "backtap = { preset = \"n23\", options = { alpha = 3 } }",
        "mine = { options = { alpha = 3 } }",
        "mine = { preset = \"baktap\" }",
        "mine = { preset = \"vanilla\", options = { alpha = 3 } }",
        "predictor = { options = { margin = 1.5 } }",
        "udp-or = { options = { initial-window = 1001 } }",
        "vanilla = { options = { hop-control = \"credits\" } }",
        "vanilla = { options = { end-to-end = \"vegas\", vegas-alhpa = 100 } }",
        "vanilla = { upgrade = { preset = \"backtap\", options = { circuit-window = 6 } } }",
    ] {
        assert!(!allows_transports(&root, refused), "{refused}");
    }
}
