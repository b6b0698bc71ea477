//! Reading captures with Wireshark's `tshark`.

use std::path::Path;
use std::process::Command;

/// The first line of what tshark prints about itself, if it is there.
pub fn tshark() -> Option<String> {
    let version = Command::new("tshark").arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&version.stdout).into_owned();
    text.lines().next().map(str::to_owned)
}

/// The values of fields in each packet of a capture, as tshark finds them with our dissector.
///
/// # Panics
/// If tshark fails, or the dissector does.
pub fn dissect(file: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tools/wireshark/hopflow.lua"
    );
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{script}"));
    command.args(["-o", "tcp.reassemble_out_of_order:TRUE"]);
    command.args([
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
    ]);
    command.arg("-r").arg(file).args(["-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(!errors.contains("Lua"), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines();
    lines
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}
