//! Users whose pages and files a learned model draws.

use std::fs;

use hopflow_lab::run::{Campaign, Silent};
use hopflow_lab::scenario::Scenario;
use hopflow_results::{Class, Download, Folder};
use hopflow_traffic::Model;

/// A scenario of eight users of a workload.
fn text(workload: &str) -> String {
    format!(
        "name = \"learned\"\nduration = \"40 s\"\nseeds = 1\n[transports.vanilla]\n\
         [transports.backtap]\n[network]\nbucket = {{ rate = \"4 MB/s\" }}\n[[network.relays]]\n\
         name = \"relay\"\ncount = 4\n[[circuits]]\ncount = 8\npath = {{ random = 3 }}\n\
         workload = {{ {workload} }}\n"
    )
}

fn error(workload: &str) -> String {
    let parsed = Scenario::parse(&text(workload), "learned.toml");
    parsed.unwrap_err().to_string()
}

/// The downloads of both transports.
fn downloads(workload: &str) -> [Vec<Download>; 2] {
    let text = text(workload);
    let scenario = Scenario::parse(&text, "learned.toml").unwrap();
    let campaign = Campaign::new(scenario, &text, "test").unwrap();
    let folder = tempfile::tempdir().unwrap();
    campaign.run(folder.path(), Some(1), &Silent).unwrap();
    let folder = Folder::open(folder.path());
    let runs = folder.read_manifest().unwrap().runs;
    let downloads: Vec<_> = runs
        .iter()
        .map(|run| folder.read_run(run).unwrap().downloads)
        .collect();
    downloads.try_into().unwrap()
}

#[test]
fn a_page_is_one_row_and_the_same_under_every_transport() {
    for model in Model::builtin_names() {
        let [vanilla, backtap] = downloads(&format!("class = \"web\", model = \"{model}\""));
        assert!(vanilla.len() > 8, "{model}: {}", vanilla.len());
        let mut shared = 0;
        for page in &vanilla {
            let same =
                |other: &&Download| [other.circuit, other.request] == [page.circuit, page.request];
            if let Some(other) = backtap.iter().find(same) {
                assert_eq!(page.bytes, other.bytes, "{model}");
                shared += 1;
            }
            assert_eq!(page.class, Class::Web);
            assert!(0.0 < page.ttfb_s && page.ttfb_s <= page.ttlb_s);
        }
        assert!(shared >= 8, "{model}: {shared}");
        let mut sizes: Vec<_> = vanilla.iter().map(|page| page.bytes).collect();
        sizes.dedup();
        assert!(sizes.len() > 4, "{model}: pages differ");
    }
}

#[test]
fn pages_whose_objects_come_in_batches_take_longer() {
    let slowest = |parallel| {
        let [vanilla, _] = downloads(&format!("class = \"web\", model = \"copula\"{parallel}"));
        let first = vanilla.iter().filter(|page| page.request == 0);
        first.map(|page| page.ttlb_s).fold(0.0, f64::max)
    };
    assert!(slowest("") < slowest(", parallel = 1"));
}

#[test]
fn a_model_may_be_a_file_beside_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.safetensors");
    fs::write(&file, Model::builtin("copula").unwrap()).unwrap();
    let parse = || {
        let text = text("class = \"bulk\", model = \"own.safetensors\"");
        let path = folder.path().join("learned.toml");
        Scenario::parse(&text, path.to_str().unwrap())
    };
    let scenario = parse().unwrap();
    assert!(scenario.sample(1).circuits[0].workload.is_greedy());
    assert!(!scenario.loaded.digest().is_empty());
    fs::write(&file, "nonsense").unwrap();
    let error = parse().unwrap_err().to_string();
    for part in [
        "circuits[0].workload.model",
        "own.safetensors",
        "safetensors",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn errors_name_the_key_and_what_is_allowed() {
    for (workload, parts) in [
        (
            "class = \"web\", model = \"copla\"",
            [
                "workload.model: \"copla\" is no model",
                "did you mean \"copula\"?",
            ],
        ),
        (
            "class = \"web\", model = \"no.safetensors\"",
            ["workload.model: there is no file", "HOPFLOW_DATA"],
        ),
        (
            "class = \"web\", model = \"copula\", think = [\"1 s\", \"2 s\"]",
            ["workload.think: is what the model", "server-delay"],
        ),
        (
            "class = \"web\", parallel = 6",
            [
                "workload.parallel: is for pages",
                "needed is the key `model`",
            ],
        ),
        (
            "class = \"web\", model = \"copula\", parallel = 0",
            ["workload.parallel: is 0", "1 or more"],
        ),
        (
            "class = \"bulk\", model = \"copula\", parallel = 1",
            ["workload.parallel: is for pages", "leave the key out"],
        ),
    ] {
        let error = error(workload);
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    }
}
