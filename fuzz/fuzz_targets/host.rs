//! Any bytes as the life of a node, for each transport.
#![no_main]

use std::sync::LazyLock;

use hopflow_overlay::Factory;
use hopflow_testkit::{Counted, fuzz};

/// The transports, two of them with limits that a short life can reach.
static FACTORIES: LazyLock<Vec<Box<dyn Factory<Counted>>>> = LazyLock::new(|| {
    let windows = "circuit-window = 10\ncircuit-increment = 2\nstream-window = 5\n\
                   stream-increment = 1\nqueue-limit = 20";
    let presets = hopflow_transports::presets().into_iter();
    let presets = presets.map(|preset| (preset.name, ""));
    presets
        .chain([("vanilla", windows), ("backtap", "queue-limit = 20")])
        .map(|(name, options)| {
            let options = options.parse().expect("it is TOML");
            hopflow_transports::build(name, &options).expect("the options are allowed")
        })
        .collect()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for factory in FACTORIES.iter() {
        fuzz::any_life(factory.as_ref(), bytes);
    }
});
