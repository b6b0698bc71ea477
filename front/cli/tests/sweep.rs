//! `hopflow sweep` as its users meet it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const SCENARIO: &str = r#"
name = "tiny"
about = "Two circuits."
duration = "3 s"
warm-up = "1 s"
seeds = 2
[transports.vanilla]
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

/// One scheduler, and no end-to-end control but windows.
const FEW: [&str; 4] = ["--scheduler", "round-robin", "--end-to-end", "none,window"];

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tiny.toml"), SCENARIO).unwrap();
    folder
}

fn sweep(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hopflow"));
    command.args(["sweep", "tiny.toml"]).args(arguments);
    command.current_dir(folder).output().unwrap()
}

fn success(output: Output) -> String {
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_value_that_an_axis_does_not_have_is_named_with_what_is_allowed() {
    let folder = folder();
    let refusal = |arguments: &[&str]| {
        let output = sweep(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(
        refusal(&["--carrier", "tcp,datagrams"]),
        "error: --carrier: \"datagrams\" is unknown; did you mean \"datagram\"? \
         allowed: tcp, datagram\n"
    );
    assert!(refusal(&["--scheduler", "fifo"]).contains("allowed: round-robin, ewma, kist"));
    assert!(refusal(&["--front", "speed,loss"]).contains("\"speed\" is unknown; allowed: goodput"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_sweep_writes_a_picture_that_can_be_resumed_and_reported_again() {
    let folder = folder();
    let arguments = |threads| [&FEW[..], &["--out", "out", "--threads", threads]].concat();
    let text = success(sweep(folder.path(), &arguments("1")));
    assert!(text.contains("backtap") && text.contains("pctcp"), "{text}");
    let json = || fs::read_to_string(folder.path().join("out/sweep.json")).unwrap();
    let picture: serde_json::Value = serde_json::from_str(&json()).unwrap();
    assert!(picture["points"][0]["metrics"]["goodput"]["mean"].is_f64());
    let page = folder.path().join("out/report.html");
    let first = (json(), fs::read_to_string(&page).unwrap());
    fs::remove_file(&page).unwrap();
    let mut again = Command::new(env!("CARGO_BIN_EXE_hopflow"));
    success(
        again
            .args(["report", "out"])
            .current_dir(folder.path())
            .output()
            .unwrap(),
    );
    assert_eq!((json(), fs::read_to_string(&page).unwrap()), first);
    let output = sweep(folder.path(), &arguments("2"));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("runs are finished already"), "{error}");
    assert_eq!(json(), first.0);
}

#[test]
fn a_dry_run_tells_the_points_and_why_others_are_left_out() {
    let folder = folder();
    let text = success(sweep(
        folder.path(),
        &["--dry-run", "--carrier", "datagram"],
    ));
    assert!(text.contains("backtap"), "{text}");
    assert!(text.contains(" points are run; "), "{text}");
    let reason = "A datagram belongs to no connection";
    assert_eq!(text.matches(reason).count(), 1, "{text}");
    let (_, points) = text.split_once(reason).unwrap();
    let points = points.lines().nth(1).unwrap_or_default();
    assert_eq!(points.trim(), "datagram+per-circuit+*+*+*", "{text}");
    let plan = success(sweep(folder.path(), &["--dry-run", "--json"]));
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["points"][0]["preset"], "vanilla");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
