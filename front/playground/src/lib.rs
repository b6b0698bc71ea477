//! The simulator for a page in the browser, compiled to WebAssembly.
//!
//! A page makes a [`Playground`] of a scenario's text and lets its runs, one for each transport, go on
//! step by step. Everything passes as JSON, in the forms that `site/playground/src/wire.ts` declares.
//! The results are those of the native program, bit for bit.

mod knobs;
mod play;

use hopflow_config::InputError;
use hopflow_lab::builtin;
use serde_json::json;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

pub use play::Play;

/// The runs of a scenario, one for each transport, on the same network.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Playground(Play);

#[wasm_bindgen]
impl Playground {
    /// The runs of the scenario with this text, with its first seed, at their beginning.
    ///
    /// # Errors
    /// If the text is no valid scenario, or needs more memory than a page has, as `{ line, message }`.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str) -> Result<Self, JsValue> {
        Play::new(text).map(Self).map_err(|error| thrown(&error))
    }

    /// The network, its users and the transports.
    pub fn network(&self) -> String {
        self.0.network().to_string()
    }

    /// Lets the run of a transport, by its number, go on to a time in seconds, or back to it, and
    /// returns how far it has come.
    ///
    /// # Errors
    /// If there is no transport with this number, as `{ line, message }`.
    pub fn go_to(&mut self, transport: usize, seconds: f64) -> Result<f64, JsValue> {
        let time = self.0.go_to(transport, seconds);
        time.map_err(|error| thrown(&error))
    }

    /// What can be seen of a run now, with the downloads that were completed in the last `recent`
    /// seconds.
    ///
    /// # Errors
    /// If there is no transport with this number, as `{ line, message }`.
    pub fn view(&self, transport: usize, recent: f64) -> Result<String, JsValue> {
        let view = self.0.view(transport, recent);
        let view = view.map_err(|error| thrown(&error))?;
        Ok(view.to_string())
    }

    /// Lets a run go on to its end and returns the hash of its results, as `hopflow run` writes it.
    /// The run stays where it was.
    ///
    /// # Errors
    /// If there is no transport with this number, as `{ line, message }`.
    pub fn results(&self, transport: usize) -> Result<String, JsValue> {
        self.0.results(transport).map_err(|error| thrown(&error))
    }
}

/// The scenarios that come with the program: `[{ name, text }]`.
#[wasm_bindgen]
pub fn scenarios() -> String {
    let scenarios = builtin::scenarios().iter();
    let scenarios = scenarios.map(|it| json!({ "name": it.name, "text": it.text }));
    scenarios.collect::<serde_json::Value>().to_string()
}

/// The numbers of a scenario that sliders can change.
///
/// # Errors
/// If the text is no valid scenario, as `{ line, message }`.
#[wasm_bindgen]
pub fn knobs(text: &str) -> Result<String, JsValue> {
    let knobs = knobs::of(text).map_err(|error| thrown(&error))?;
    Ok(serde_json::to_string(&knobs).expect("knobs are plain data"))
}

/// The text with another value, written as TOML, at a key such as `network.relays[1].bucket.rate`.
/// Comments and order stay.
///
/// # Errors
/// If the text is no TOML, or the key or the value is none, or the key leads to something that is not there, as
/// `{ line, message }`.
#[wasm_bindgen]
pub fn set(text: &str, key: &str, value: &str) -> Result<String, JsValue> {
    hopflow_config::set(text, key, value).map_err(|error| thrown(&error))
}

fn thrown(error: &InputError) -> JsValue {
    let error = json!({ "line": error.line(), "message": error.to_string() });
    JsValue::from_str(&error.to_string())
}
