//! The model against the TCP of the machine that runs the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Exit status by which the script says that this machine cannot measure.
const SKIPPED: i32 = 77;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/linux-tcp/compare.py")
}

/// The example `bulk`, which is built along with the tests.
fn model() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let model = test.ancestors().nth(2)?.join("examples/bulk");
    model.exists().then_some(model)
}

fn compare(model: &Path, buffers: &[&str], tolerance: &str) -> std::io::Result<Output> {
    Command::new("python3")
        .arg(script())
        .arg("--model")
        .arg(model)
        .args(["--runs", "2", "--seconds", "20", "--parallel", "8"])
        .args(["--tolerance", tolerance, "--buffers"])
        .args(buffers)
        .output()
}

/// Some 25 seconds, where it can be measured at all.
#[test]
fn goodput_is_within_five_per_cent_of_linux() {
    let Some(model) = model() else {
        println!("skipped: the example was not built");
        return;
    };
    let Ok(output) = compare(&model, &["0.5", "2"], "5") else {
        println!("skipped: no python3");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(SKIPPED) {
        println!("{problem}");
        return;
    }
    assert!(output.status.success(), "{said}{problem}");
    println!("{said}");
}
