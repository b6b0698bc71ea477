//! Reading qlog, and checking its form.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A trace of a qlog file: its vantage point, and its events.
#[derive(Clone, Debug)]
pub struct Vantage {
    /// The node's name.
    pub name: String,
    /// What the node is to the circuit: `client`, `network` or `server`.
    pub kind: String,
    /// Times in milliseconds, names without their namespace, and what events tell.
    pub events: Vec<(f64, String, Value)>,
}

/// Reads a qlog file.
///
/// # Panics
/// If it is not as the draft requires, or times are not monotone.
pub fn read(path: &Path) -> Vec<Vantage> {
    let text = fs::read_to_string(path).unwrap();
    for early in ["\"file_schema\"", "\"serialization_format\""] {
        assert!(text.find(early).unwrap() < 256 - 80, "{early} comes late");
    }
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["file_schema"], "urn:ietf:params:qlog:file:contained");
    assert_eq!(file["serialization_format"], "application/qlog+json");
    assert!(file["title"].is_string());
    let traces = file["traces"].as_array().unwrap();
    assert!(!traces.is_empty());
    traces.iter().map(read_trace).collect()
}

fn read_trace(trace: &Value) -> Vantage {
    let schemas = trace["event_schemas"].as_array().unwrap();
    assert!(!schemas.is_empty());
    for schema in schemas {
        let schema = schema.as_str().unwrap();
        assert!(schema.starts_with("urn:"), "an absolute URI");
        assert!(
            !schema.starts_with("urn:ietf:"),
            "the schema is no standard"
        );
    }
    let common = &trace["common_fields"];
    assert_eq!(common["time_format"], "relative_to_epoch");
    assert!(common["group_id"].is_string());
    // A monotonic clock has no known epoch.
    assert_eq!(common["reference_time"]["clock_type"], "monotonic");
    assert_eq!(common["reference_time"]["epoch"], "unknown");
    let wall_clock = common["reference_time"].get("wall_clock_time");
    assert!(wall_clock.is_none_or(is_rfc3339), "{wall_clock:?}");
    let vantage = &trace["vantage_point"];
    let (kind, flow) = (vantage["type"].as_str().unwrap(), &vantage["flow"]);
    assert!(["client", "server", "network", "unknown"].contains(&kind));
    if kind == "network" {
        assert!(["client", "server", "unknown"].contains(&flow.as_str().unwrap()));
    }
    let events = trace["events"].as_array().unwrap();
    let mut before = 0.0;
    let events = events.iter().map(|event| {
        let (time, name) = (event["time"].as_f64().unwrap(), &event["name"]);
        assert!(time >= before, "times are monotone");
        before = time;
        let (space, name) = name.as_str().unwrap().split_once(':').unwrap();
        assert_eq!(space, "hopflow");
        assert!(event["data"].is_object());
        (time, name.to_owned(), event["data"].clone())
    });
    Vantage {
        name: vantage["name"].as_str().unwrap().to_owned(),
        kind: kind.to_owned(),
        events: events.collect(),
    }
}

/// Whether a value is a time of the calendar as RFC 3339 writes it, in UTC and with nanoseconds.
fn is_rfc3339(value: &Value) -> bool {
    let form = "0000-00-00T00:00:00.000000000Z".bytes();
    let text = value.as_str().unwrap_or_default();
    let fits = |(found, wanted): (u8, u8)| match wanted {
        b'0' => found.is_ascii_digit(),
        _ => found == wanted,
    };
    text.len() == form.len() && text.bytes().zip(form).all(fits)
}

impl Vantage {
    /// What the events of this name tell.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        let named = self.events.iter().filter(move |event| event.1 == name);
        named.map(|(_, _, data)| data)
    }

    /// Cells in events of this name: of those sent again, or of the others.
    pub fn count(&self, name: &str, again: bool) -> u64 {
        let cells = self.of(name);
        let cells = cells.filter(|data| data["retransmission"].is_boolean() == again);
        cells.count() as u64
    }

    /// How much of a kind there was in a direction.
    ///
    /// # Panics
    /// If an offset does not follow from what was before.
    pub fn sum(&self, name: &str, direction: &str) -> u64 {
        let mut sum = 0;
        for data in self.of(name).filter(|data| data["direction"] == direction) {
            assert_eq!(data["offset"], sum);
            sum += data["length"].as_u64().unwrap();
        }
        sum
    }
}
