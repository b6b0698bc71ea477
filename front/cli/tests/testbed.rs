//! `hopflow testbed` as its users meet it.

use std::io::{BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Deserializer, Value};

fn testbed(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hopflow"))
        .arg("testbed")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn success(folder: &Path, arguments: &[&str]) -> String {
    let output = testbed(folder, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_testbed_is_measured_compared_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let common = ["--size", "300kB", "--delay", "5ms", "--compare", "--json"];
    let arguments = [["--downloads", "1,2"].as_slice(), &common].concat();
    let found: Value = serde_json::from_str(&success(folder.path(), &arguments)).unwrap();
    let testbeds = found["testbeds"].as_array().unwrap();
    assert_eq!(testbeds.len(), 2);
    for (testbed, downloads) in testbeds.iter().zip([1, 2]) {
        assert_eq!(testbed["transport"], "backtap");
        assert_eq!(testbed["complete"], downloads);
        assert_eq!(testbed["unfinished"], 0);
        assert_eq!(testbed["delay_s"], 0.005);
        let names: Vec<_> = testbed["figures"].as_object().unwrap().keys().collect();
        let wanted = [
            "backlog_mean",
            "goodput_median",
            "goodput_total",
            "ttfb_max",
            "ttfb_median",
            "ttlb_max",
            "ttlb_median",
        ];
        assert_eq!(names, wanted);
        let ttfb = &testbed["figures"]["ttfb_median"];
        for side in ["real", "simulated"] {
            assert!(ttfb[side].as_f64().unwrap() >= 0.03, "{ttfb}");
        }
        assert!(ttfb["error"].is_f64());
    }
    let page = folder.path().join(found["report"].as_str().unwrap());
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.contains("Real and simulated"));
    let again = Command::new(env!("CARGO_BIN_EXE_hopflow"))
        .args(["report", "results/testbed"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(again.status.success());
    assert_eq!(std::fs::read_to_string(&page).unwrap(), written);
}

#[test]
fn downloads_that_were_cut_off_are_told_of_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let common = ["--size", "50MB", "--rate", "20Mbit/s", "--delay", "5ms"];
    let cut = ["--duration", "500ms", "--compare"];
    let one = [["--downloads", "1", "--json"].as_slice(), &common, &cut].concat();
    let found: Value = serde_json::from_str(&success(folder.path(), &one)).unwrap();
    let testbed = &found["testbeds"][0];
    for (complete, unfinished) in [
        ("complete", "unfinished"),
        ("simulated_complete", "simulated_unfinished"),
    ] {
        assert_eq!(
            (&testbed[complete], &testbed[unfinished]),
            (&0.into(), &1.into())
        );
    }
    let goodput = &testbed["figures"]["goodput_total"];
    for side in ["real", "simulated"] {
        assert!(goodput[side].as_f64().unwrap() > 100e3, "{goodput}");
    }
    let page = folder.path().join(found["report"].as_str().unwrap());
    let written = std::fs::read_to_string(&page).unwrap();
    let note = "Downloads cut off by --duration: 1 of 1 for real, 1 of 1 simulated.";
    assert!(written.contains(note));
    let several = [
        ["--downloads", "1,2", "--out", "several"].as_slice(),
        &common,
        &cut,
    ]
    .concat();
    let table = success(folder.path(), &several);
    for row in ["Cut off", "1 real, 1 simulated", "2 real, 2 simulated"] {
        assert!(table.contains(row), "{table}");
    }
}

#[test]
fn a_testbed_that_is_kept_says_in_json_where_it_is_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "testbed",
        "--size",
        "50kB",
        "--delay",
        "0ms",
        "--downloads",
        "1",
    ];
    let mut testbed = Command::new(env!("CARGO_BIN_EXE_hopflow"))
        .args(arguments)
        .args(["--keep", "--json"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(testbed.stdout.take().unwrap());
    let json = Deserializer::from_reader(&mut stdout);
    let found = json.into_iter::<Value>().next().unwrap().unwrap();
    for end in ["socks", "server"] {
        let address = found[end].as_str().unwrap();
        std::net::TcpStream::connect(address).unwrap();
    }
    let id = testbed.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.trim(), "");
    assert!(testbed.wait().unwrap().success());
}

#[test]
fn options_that_cannot_be_used_are_named_with_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (
            ["--transport", "pigeon"],
            "--transport: \"pigeon\"; allowed are vanilla",
        ),
        (["--middle-rate", "1500"], "has no unit; allowed is a rate"),
        (["--middle-rate", "no"], "or `none`"),
        (
            ["--downloads", "1001"],
            "--downloads: 1001; allowed are numbers from 1 to 1000",
        ),
        (
            ["--size", "0B"],
            "--size: 0 B; allowed are sizes from 1 B on",
        ),
        (["--delay", "1min"], "allowed are times up to 10 s"),
        (
            ["--netns=vegas", "--compare"],
            "allowed are cubic, new-reno, bbr",
        ),
        (["--netns", "--keep"], "cannot be used with"),
        (
            ["--option", "alpa=2"],
            "--option: `alpa`: unknown; did you mean `alpha`?",
        ),
        (["--shared", "--compare"], "cannot be used with"),
        (
            ["--keep", "--repeats=2"],
            "--keep: allowed with one testbed",
        ),
        (["--out", "."], "files but no results of hopflow"),
        (
            ["--transport", "backtap,backtap"],
            "--transport: backtap is listed twice; allowed is once",
        ),
        (["--downloads", "1,2,1"], "--downloads: 1 is listed twice"),
        (["--delay", "1ms,1000us"], "--delay: 1 ms is listed twice"),
        (
            ["--middle-rate", "none,none"],
            "--middle-rate: none is listed twice",
        ),
        (
            ["--option=alpha=2", "--option=alpha=3"],
            "--option: \"alpha\" is given twice; allowed is once",
        ),
    ] {
        std::fs::write(folder.path().join("precious.txt"), "mine").unwrap();
        let output = testbed(folder.path(), &arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test waits for another process"
)]
fn an_interrupted_command_reports_what_it_measured_and_its_folder_can_be_used_again() {
    use std::fs::read_to_string;
    use std::thread::sleep;
    use std::time::Duration;

    let folder = tempfile::tempdir().unwrap();
    // The second testbed takes more than a minute.
    let long = ["--size", "2MB", "--middle-rate", "none,20kB/s"];
    let child = Command::new(env!("CARGO_BIN_EXE_hopflow"))
        .args(["testbed", "--downloads", "1", "--delay", "0ms"])
        .args(long)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let results = folder.path().join("results/testbed");
    let manifest = || read_to_string(results.join("manifest.json")).unwrap_or_default();
    for _ in 0..3000 {
        if manifest().contains("backtap-1-0s-no-limit") {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    let id = child.id().to_string();
    let kill = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(
        error.contains("What was measured is in the report"),
        "{error}"
    );
    let page = read_to_string(results.join("report.html")).unwrap();
    assert!(page.contains("some or all of their measurements: 1."));
    let short = ["--size", "50kB", "--delay", "0ms", "--downloads", "1,2"];
    let table = success(folder.path(), &short);
    assert!(
        table.starts_with("Measured on the real overlay."),
        "{table}"
    );
}

#[test]
fn nodes_of_a_testbed_write_traces_and_replace_none() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--size", "50kB", "--delay", "0ms", "--downloads", "1"];
    let arguments = [small.as_slice(), &["--trace", "qlog,packets"]].concat();
    let found = success(folder.path(), &arguments);
    assert!(found.contains("traces   "), "{found}");
    let traces = folder.path().join("results/testbed/trace/1");
    for node in ["guard", "middle", "exit", "client"] {
        for file in ["circuit-0.qlog", "packets.pcapng"] {
            assert!(traces.join(node).join(file).exists(), "{node}, {file}");
        }
    }
    let again = testbed(folder.path(), &arguments);
    let message = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(2), "{message}");
    assert!(message.contains("trace.folder: "), "{message}");
    let arguments = [
        small.as_slice(),
        &["--trace", "qlog", "--trace-size", "1kB"],
    ]
    .concat();
    let output = testbed(folder.path(), &arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("--trace-size: 1 kB; allowed are sizes from 100 kB on"),
        "{message}"
    );
}
