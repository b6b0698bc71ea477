//! The numbers of a scenario that sliders can change.

use hopflow_config::InputError;
use hopflow_lab::scenario::Scenario;
use hopflow_transports::{options_of, presets};
use hopflow_units::{Duration, Rate};
use serde::Serialize;
use serde_json::Value;

/// A number that a slider can change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Knob {
    /// The key at which it stands in the scenario.
    path: String,
    /// Where it belongs: `network`, `circuits`, or the label of a transport.
    group: String,
    name: String,
    about: String,
    /// Whether it is a number alone, milliseconds, or kilobytes per second.
    unit: Unit,
    value: f64,
    least: f64,
    most: f64,
    /// Whether it is a whole number.
    whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Unit {
    None,
    Milliseconds,
    KilobytesPerSecond,
}

/// The knobs of a scenario, the network's first.
pub(crate) fn of(text: &str) -> Result<Vec<Knob>, InputError> {
    let scenario = Scenario::parse(text, "scenario.toml")?;
    let plain = serde_json::to_value(&scenario).expect("a scenario is plain data");
    let mut knobs = network(&plain["network"]);
    // As it is written: a scenario that was read has other counts where it has `scale` or `per-second`.
    let written: Value = hopflow_config::read::toml(text)?;
    let groups = list(&written["circuits"]).iter().enumerate();
    knobs.extend(groups.filter_map(|(number, group)| circuits(number, group)));
    for (label, choice) in scenario.transports.iter() {
        let preset = choice.preset.as_deref().unwrap_or(label);
        let given = serde_json::to_value(&choice.options).expect("options are plain data");
        knobs.extend(transport(label, preset, &given));
    }
    Ok(knobs)
}

fn network(network: &Value) -> Vec<Knob> {
    let access = &network["access"];
    let mut knobs = Vec::new();
    let in_network = |path: &str, name: &str, about: &str, (unit, value)| Knob {
        path: format!("network.{path}"),
        group: "network".to_owned(),
        name: name.to_owned(),
        about: about.to_owned(),
        unit,
        value,
        least: if unit == Unit::Milliseconds {
            0.0
        } else {
            value / 20.0
        },
        most: value * 5.0,
        whole: false,
    };
    if let Some((unit, value)) = mean(&access["delay"]) {
        let about = "Propagation delay of every access link, one way.";
        let mut delay = in_network("access.delay", "delay", about, (unit, value));
        delay.most = delay.most.max(100.0);
        knobs.push(delay);
    }
    if let Some(rate) = mean(&access["rate"]) {
        let about = "Rate of every access link, in each direction.";
        knobs.push(in_network("access.rate", "access rate", about, rate));
    }
    let about = "Probability that a packet is lost on an access link.";
    let loss = access["loss"].as_f64().unwrap_or(0.0);
    knobs.push(Knob {
        least: 0.0,
        most: 0.05,
        ..in_network("access.loss", "loss", about, (Unit::None, loss))
    });
    for (number, relays) in list(&network["relays"]).iter().enumerate() {
        if let Some(rate) = mean(&relays["bucket"]["rate"]) {
            let name = relays["name"].as_str().unwrap_or("relay");
            let path = format!("relays[{number}].bucket.rate");
            let about = format!("Rate of the token bucket of {name}.");
            knobs.push(in_network(&path, &format!("{name}'s rate"), &about, rate));
        }
    }
    knobs
}

/// The number of circuits of a group; none where `per-second` says it, which excludes `count`.
fn circuits(number: usize, group: &Value) -> Option<Knob> {
    if group.get("per-second").is_some() {
        return None;
    }
    let count = group["count"].as_f64().unwrap_or(1.0);
    let workload = &group["workload"];
    let kind = workload.as_str().or_else(|| workload["class"].as_str())?;
    Some(Knob {
        path: format!("circuits[{number}].count"),
        group: "circuits".to_owned(),
        name: format!("{kind} circuits"),
        about: format!("Circuits whose users are {kind} users."),
        unit: Unit::None,
        value: count,
        least: 1.0,
        most: (4.0 * count).max(20.0),
        whole: true,
    })
}

/// The options of a transport that are numbers.
fn transport(label: &str, preset: &str, given: &Value) -> Vec<Knob> {
    let Some(preset) = presets().into_iter().find(|it| it.name == preset) else {
        return Vec::new();
    };
    let options = options_of(preset).into_iter();
    let knob = |(key, schema): (String, Value)| {
        let value = given.get(&key).unwrap_or(&schema["default"]);
        let (unit, value) = number(value)?;
        let bound = |key: &str| schema[key].as_f64();
        let most = bound("maximum").unwrap_or(f64::MAX);
        Some(Knob {
            path: format!("transports.\"{label}\".options.{key}"),
            group: label.to_owned(),
            name: key,
            about: schema["description"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            unit,
            value,
            least: bound("minimum").unwrap_or(0.0),
            most: most.min((5.0 * value).max(if unit == Unit::None { 1.0 } else { 10.0 })),
            whole: schema["type"] == "integer",
        })
    };
    options.filter_map(knob).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A number, or a duration or rate written as text.
fn number(value: &Value) -> Option<(Unit, f64)> {
    match value {
        Value::Number(number) => Some((Unit::None, number.as_f64()?)),
        Value::String(text) => {
            let time = text.parse::<Duration>().map(|it| it.as_secs_f64() * 1e3);
            let time = time.map(|time| (Unit::Milliseconds, time));
            let rate = || {
                let rate: Rate = text.parse().ok()?;
                Some((Unit::KilobytesPerSecond, rate.bytes_per_sec() as f64 / 1e3))
            };
            time.ok().or_else(rate)
        }
        _ => None,
    }
}

/// A number, or the middle of the two between which it is drawn.
fn mean(value: &Value) -> Option<(Unit, f64)> {
    let [low, high] = list(&value["uniform"]) else {
        return number(value);
    };
    let ((unit, low), (_, high)) = (number(low)?, number(high)?);
    Some((unit, f64::midpoint(low, high)))
}

#[cfg(test)]
mod tests {
    use hopflow_lab::builtin;

    use super::*;

    /// Options that depend on each other may refuse an end, and then say what is allowed.
    #[test]
    fn both_ends_of_every_knob_are_valid_or_say_what_is() {
        for name in ["quickstart", "tor"] {
            let text = builtin::find(name).unwrap().text;
            let knobs = of(text).unwrap();
            assert!(knobs.len() > 10, "{knobs:?}");
            ends_are_valid_or_say_what_is(text, knobs);
        }
    }

    fn ends_are_valid_or_say_what_is(text: &str, knobs: Vec<Knob>) {
        for knob in knobs {
            assert!(
                knob.least <= knob.value && knob.value <= knob.most,
                "{knob:?}"
            );
            for value in [knob.least, knob.most] {
                let written = match knob.unit {
                    Unit::None if knob.whole => format!("{}", value.ceil() as u64),
                    Unit::None => format!("{value:?}"),
                    Unit::Milliseconds => format!("\"{value} ms\""),
                    Unit::KilobytesPerSecond => format!("\"{value} kB/s\""),
                };
                let text = hopflow_config::set(text, &knob.path, &written).unwrap();
                if let Err(error) = Scenario::parse(&text, "scenario.toml") {
                    let message = error.to_string();
                    let coupled = knob.path.starts_with("transports.");
                    assert!(
                        coupled && message.contains("allowed"),
                        "{written}: {message}"
                    );
                }
            }
        }
    }

    #[test]
    fn groups_have_the_number_of_circuits_that_is_written() {
        let knobs = of(builtin::find("tor").unwrap().text).unwrap();
        let groups = knobs.iter().filter(|knob| knob.group == "circuits");
        let groups: Vec<_> = groups.map(|knob| (&*knob.path, knob.value)).collect();
        // The first group has `per-second`, and the scenario a `scale` of a hundredth.
        assert_eq!(
            groups,
            [
                ("circuits[1].count", 1500.0),
                ("circuits[2].count", 300.0),
                ("circuits[3].count", 300.0)
            ]
        );
    }
}
