//! Transports of another crate are everywhere in the program.

use std::fs;
use std::path::Path;
use std::process::Command;

const SCENARIO: &str = r#"
name = "two-relays"
about = "Two circuits."
duration = "5 s"
seeds = 1
[transports.backtap]
[transports.delay-aimd]
options = { target = "20 ms" }
[transports.source-window]
[record]
hops = "100 ms"
[network]
bucket = { rate = "1500 kB/s" }
[[network.relays]]
name = "relay"
count = 3
[[circuits]]
count = 2
path = ["relay", "relay"]
workload = { class = "bulk", response = "100 KiB" }
"#;

/// What the program prints, which succeeds.
fn hopflow(folder: &Path, arguments: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_hopflow-own-transport"));
    let output = program.current_dir(folder).args(arguments).output();
    let output = output.expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn lists_schema_and_sweep_know_them() {
    let folder = tempfile::tempdir().unwrap();
    let listed = hopflow(folder.path(), &["list", "transports"]);
    let schema = hopflow(folder.path(), &["schema"]);
    for name in ["delay-aimd", "source-window"] {
        assert!(listed.contains(name), "{listed}");
        assert!(schema.contains(&format!("\"{name}\"")), "{name}");
    }
    assert!(schema.contains("How much longer than the base round trip one may take"));
    let points = hopflow(
        folder.path(),
        &["sweep", "--dry-run", "--hop-control", "delay-aimd"],
    );
    assert!(points.contains("delay-aimd"), "{points}");
}

#[test]
fn they_run_in_the_simulator_and_their_metrics_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("two.toml"), SCENARIO).unwrap();
    let printed = hopflow(
        folder.path(),
        &["run", "two.toml", "--out", "out", "--json"],
    );
    let summary: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert!(summary.to_string().contains("delay-aimd"), "{summary}");
    let page = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("the last round trip until a cell was reported as forwarded"));
}

#[test]
fn they_run_on_real_relays() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "testbed",
        "--transport",
        "delay-aimd",
        "--size",
        "200kB",
        "--json",
    ];
    let printed = hopflow(folder.path(), &arguments);
    let found: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(found["testbeds"][0]["transport"], "delay-aimd");
    assert_eq!(found["testbeds"][0]["unfinished"], 0);
}
