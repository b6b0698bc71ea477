//! Any sequence of frames, doings and times leaves a node sane, whatever its transport.
//!
//! The same lives are what the fuzz target `host` looks for; its corpus is replayed here.

#[path = "../../../../fuzz/explore.rs"]
mod explore;

use hopflow_overlay::{Factory, NodeCounters};
use hopflow_testkit::{Counted, Rng, fuzz};
use proptest::prelude::*;
use toml::Table;

fn factories() -> impl Iterator<Item = Box<dyn Factory<Counted>>> {
    // Small limits are reached within a short life.
    let small = ["vanilla", "backtap", "n23", "marut"].map(|name| (name, "queue-limit = 20\n"));
    let windows = "circuit-window = 10\ncircuit-increment = 2\nstream-window = 5\n\
                   stream-increment = 1";
    let presets = hopflow_transports::presets().into_iter();
    let presets = presets.map(|preset| (preset.name, String::new()));
    let small = small.map(|(name, limit)| {
        let windows = match name {
            "vanilla" => windows,
            "n23" => "n2 = 5\nn3 = 10",
            "marut" => "window-counts = \"first-hop\"",
            _ => "",
        };
        (name, format!("{limit}{windows}"))
    });
    presets.chain(small).map(|(name, options)| {
        let options: Table = options.parse().expect("it is TOML");
        hopflow_transports::build(name, &options).expect("the options are allowed")
    })
}

proptest! {
    #[test]
    fn any_life_leaves_a_node_sane(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        for factory in factories() {
            fuzz::any_life(factory.as_ref(), &bytes);
        }
    }
}

#[test]
fn random_lives_go_through_all_that_can_happen() {
    let mut rng = Rng::new(3);
    let mut done = NodeCounters::default();
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..800).map(|_| rng.bits() as u8).collect();
        for factory in factories() {
            let life = fuzz::any_life(factory.as_ref(), &bytes);
            done.cells_sent += life.cells_sent;
            done.cells_resent += life.cells_resent;
            done.cells_dropped += life.cells_dropped;
            done.duplicates += life.duplicates;
            done.violations += life.violations;
            done.strays += life.strays;
        }
    }
    let least = [
        done.cells_sent,
        done.cells_resent,
        done.cells_dropped,
        done.duplicates,
        done.violations,
        done.strays,
    ];
    assert!(least.iter().all(|count| *count > 100), "{done:?}");
}

#[test]
fn fuzzing_nodes_finds_nothing() {
    explore::explore("host", |bytes| {
        for factory in factories() {
            fuzz::any_life(factory.as_ref(), bytes);
        }
    });
}
