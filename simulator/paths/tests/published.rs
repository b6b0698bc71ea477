//! Chosen paths against published ones: runs where `HOPFLOW_DATA` names the folder that holds
//! `circuits-*.dat.gz`.

use std::path::{Path, PathBuf};

use hopflow_paths::check::{BandwidthTest, UseTest};
use hopflow_paths::{CircuitFile, PathSelector, Population};
use hopflow_random::Streams;
use hopflow_units::Rate;

/// The published file, or nothing, with a message, where it is absent.
fn published(name: &str) -> Option<CircuitFile> {
    let Some(folder) = std::env::var_os("HOPFLOW_DATA").map(PathBuf::from) else {
        eprintln!("skipped: HOPFLOW_DATA does not name a folder with {name}");
        return None;
    };
    // Relative to the workspace, as everything a user names.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder);
    let path = folder.join(name);
    if !path.exists() {
        eprintln!("skipped: {} does not exist", path.display());
        return None;
    }
    Some(CircuitFile::read(&path).unwrap())
}

/// The 2015 network's capped weights, three guards per client, and `Wmg` as fitted.
fn chosen_anew(file: &CircuitFile) -> Vec<Vec<u32>> {
    let cap = Rate::from_kilobytes_per_sec(10_000);
    let mut population = Population::from_circuits(file).with_weight_cap(cap);
    population.weights.wmg = 2_400;
    let selector = PathSelector::new(&population, 3).unwrap();
    let mut stream = Streams::new(1).stream("published", 0);
    (0..10 * file.paths.len())
        .map(|_| {
            let client = selector.client(3, &mut stream);
            selector.draw_for(&client, &mut stream).unwrap()
        })
        .collect()
}

fn agrees_with_its_choice_anew(file: &CircuitFile) {
    let chosen = chosen_anew(file);
    let sets: [&[Vec<u32>]; 2] = [&file.paths, &chosen];
    for position in 0..3 {
        let test = UseTest::at(position, file.relays.len(), sets);
        assert!(
            test.p_value > 0.01 && test.distance < 0.05,
            "{position}: {test:?}"
        );
    }
    let test = BandwidthTest::of(&file.relays, sets);
    assert!(test.p_value > 0.01 && test.distance < 0.02, "{test:?}");
}

#[test]
fn the_paths_over_50_relays_could_be_ours() {
    if let Some(file) = published("circuits-5000c50r-20150804.dat.gz") {
        assert_eq!((file.relays.len(), file.paths.len()), (45, 5_000));
        agrees_with_its_choice_anew(&file);
    }
}

#[test]
fn the_paths_over_100_relays_could_be_ours() {
    if let Some(file) = published("circuits-10000c100r-20150804.dat.gz") {
        assert_eq!((file.relays.len(), file.paths.len()), (85, 10_000));
        let total: u64 = file
            .relays
            .iter()
            .map(|relay| relay.bandwidth.bytes_per_sec())
            .sum();
        assert_eq!(total, 235_911_637);
        agrees_with_its_choice_anew(&file);
    }
}
