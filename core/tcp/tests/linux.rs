//! The model against the TCP of the machine that runs the test.
//!
//! It needs root, `/dev/net/tun`, a C compiler and Python. Where one of them is missing the test
//! passes, unless `HOPFLOW_REQUIRE=linux-tcp` in the environment asks for it, as `.ci/run` does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Exit status by which the script says that this machine cannot measure.
const SKIPPED: i32 = 77;

fn skip(reason: &str) {
    hopflow_testkit::skip("linux-tcp", reason);
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/linux-tcp/compare.py")
}

/// The example `bulk`, which is built along with the tests.
fn model() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let model = test.ancestors().nth(2)?.join("examples/bulk");
    model.exists().then_some(model)
}

/// What to compare: BBR where the kernel has it.
fn algorithms() -> Vec<&'static str> {
    let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let known = known.unwrap_or_default();
    let has_bbr = known.split_whitespace().any(|name| name == "bbr");
    let bbr = has_bbr.then_some("bbr");
    ["reno", "cubic"].into_iter().chain(bbr).collect()
}

fn compare(model: &Path, buffers: &[&str], tolerance: &str) -> std::io::Result<Output> {
    Command::new("python3")
        .arg(script())
        .arg("--model")
        .arg(model)
        .args(["--runs", "2", "--seconds", "20", "--parallel", "8"])
        .args(["--tolerance", tolerance, "--buffers"])
        .args(buffers)
        .arg("--algorithms")
        .args(algorithms())
        .output()
}

/// Some 25 seconds, where it can be measured at all.
#[test]
fn goodput_is_within_five_per_cent_of_linux() {
    let Some(model) = model() else {
        return skip("the example was not built");
    };
    let Ok(output) = compare(&model, &["0.5", "2"], "5") else {
        return skip("no python3");
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(SKIPPED) {
        return skip(problem.trim().trim_start_matches("skipped: "));
    }
    assert!(output.status.success(), "{said}{problem}");
    println!("{said}");
}
