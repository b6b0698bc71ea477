//! The page in a browser, if one is installed.

#[allow(dead_code, reason = "each test uses a part of it")]
mod synthetic;

use std::path::{Path, PathBuf};
use std::process::Command;

use hopflow_report::{
    Atlas, AtlasEntry, AtlasFound, Axis, Block, Document, Filter, Mean, Measure, Scatter, Section,
    Spot,
};
use hopflow_results::Verdict;
use serde_json::Value;

const PROBE: &str = include_str!("probe.js");
const SCATTER_PROBE: &str = include_str!("scatter-probe.js");
const ATLAS_PROBE: &str = include_str!("atlas-probe.js");

/// Installed before the page's own script.
const ERRORS: &str = "<script>window.probeErrors=[];addEventListener('error',e=>probeErrors.push(e.message));addEventListener('unhandledrejection',e=>probeErrors.push(String(e.reason)));</script>";

/// A Chromium on the path, or the one that `HOPFLOW_CHROMIUM` names.
fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("HOPFLOW_CHROMIUM") {
        return Some(PathBuf::from(named));
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .flat_map(|folder| {
            ["chromium", "chromium-browser", "google-chrome"].map(|n| folder.join(n))
        })
        .find(|path| path.is_file())
}

/// Opens the page without a network, uses it, and returns what was seen.
fn drive(browser: &Path, page: &Path, width: u32, probe: &str) -> Value {
    let html = std::fs::read_to_string(page).unwrap();
    let html = html.replacen("<style>", &format!("{ERRORS}<style>"), 1);
    let html = html.replace("</body>", &format!("<script>{probe}</script></body>"));
    let probed = page.with_file_name(format!("probed-{width}.html"));
    std::fs::write(&probed, html).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--virtual-time-budget=30000",
        ])
        .arg(format!("--window-size={width},1000"))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", probed.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let start = dom
        .find("<pre id=\"probe\">")
        .map(|at| at + "<pre id=\"probe\">".len());
    let text = start.and_then(|start| dom[start..].split("</pre>").next());
    let text = text.unwrap_or_else(|| panic!("the page was not used to the end: {dom}"));
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_reader_without_a_network_can_use_the_page_on_a_desk_and_on_a_phone() {
    let Some(browser) = browser() else {
        println!("skipped: no Chromium found on the path or in HOPFLOW_CHROMIUM");
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    let written = hopflow_report::write(&document, temporary.path()).unwrap();
    for width in [1400, 500] {
        let seen = drive(&browser, &written.page, width, PROBE);
        assert_eq!(seen["failed"], Value::Null, "{seen}");
        assert_eq!(seen["errors"], Value::Array(vec![]), "{seen}");
        assert_eq!(seen["requests"], Value::Array(vec![]), "{seen}");
        // The last plot is that of the network.
        assert_eq!(seen["charts"], written.plots.len() - 1, "{seen}");
        assert_eq!(seen["started"], seen["charts"], "{seen}");
        let count = |key: &str| seen[key].as_u64().unwrap();
        let visible = count("charts") - count("hiddenCharts");
        assert_eq!((count("drawn"), count("hiddenCharts")), (visible, 6));
        assert!(seen["overflow"].as_i64().unwrap() <= 0, "{seen}");
        used(&seen);
        chosen(&seen);
    }
}

/// Checks that one circuit is shown at a time, and that the paths over a relay stand out: of the 30,
/// 12 lead over the first exit.
fn chosen(seen: &Value) {
    assert_eq!(
        (&seen["choices"], &seen["chosen"]),
        (&3.into(), &true.into()),
        "{seen}"
    );
    assert_eq!(
        (&seen["stops"], &seen["lit"]),
        (&11.into(), &12.into()),
        "{seen}"
    );
    assert_eq!(seen["unlit"], 0, "{seen}");
    assert_eq!(seen["save"], "Save as dumbbell-100-relays.toml", "{seen}");
}

/// Checks that hovering, keys, legend, theme and downloads did what they should.
fn used(seen: &Value) {
    assert!(
        seen["hovered"]
            .as_str()
            .unwrap()
            .contains("Share of downloads"),
        "{seen}"
    );
    assert_eq!(seen["rows"], synthetic::TRANSPORTS.len(), "{seen}");
    assert_eq!(
        (&seen["left"], &seen["keyed"]),
        (&Value::Bool(true), &Value::Bool(true)),
        "{seen}"
    );
    assert_eq!(
        (seen["switched"].as_u64(), seen["switchedBack"].as_u64()),
        (Some(1), Some(0)),
        "{seen}"
    );
    assert_eq!(seen["switchedEverywhere"], true, "{seen}");
    assert_eq!(seen["themes"], 2, "{seen}");
    assert_eq!(
        seen["valueRows"],
        101 * synthetic::TRANSPORTS.len(),
        "{seen}"
    );
    assert_eq!(
        seen["csv"], "series,Time to first byte (s),Share of downloads (%),low,high",
        "{seen}"
    );
    assert_eq!(
        (&seen["standalone"], &seen["variables"]),
        (&Value::from("svg"), &Value::from(0)),
        "{seen}"
    );
}

/// Points by three quantities in two categories; the last point is beaten in the first two of
/// them, and on the front of the first and third.
fn scatter() -> Scatter {
    let measure = |label, higher_is_better| Measure {
        axis: Axis::new(label, "u"),
        higher_is_better,
    };
    let spot = |label: &str, category, values: [f64; 3]| Spot {
        label: label.to_owned(),
        categories: vec![category],
        values: values.map(|value| Mean::of(&[value, 1.1 * value])).to_vec(),
    };
    let kinds = Filter {
        name: "Kind".to_owned(),
        values: vec!["old".to_owned(), "new".to_owned()],
    };
    Scatter::new(
        ["front", "Points", "Read it."],
        vec![
            measure("Goodput", true),
            measure("Latency", false),
            measure("Loss", false),
        ],
        vec![kinds],
        vec![
            spot("a", 0, [5.0, 20.0, 3.0]),
            spot("b", 1, [3.0, 10.0, 0.5]),
            spot("c", 1, [4.0, 30.0, 1.0]),
        ],
        ((0, 1), 0),
    )
}

#[test]
fn a_reader_chooses_axes_and_points_of_a_scatter_chart() {
    let Some(browser) = browser() else {
        println!("skipped: no Chromium found on the path or in HOPFLOW_CHROMIUM");
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let block = Block::Scatter(Box::new(scatter()));
    let document = Document {
        sections: vec![Section::new("Front", vec![block])],
        ..Document::default()
    };
    let written = hopflow_report::write(&document, temporary.path()).unwrap();
    assert_eq!(written.plots.len(), 1);
    for width in [1400, 500] {
        let seen = drive(&browser, &written.page, width, SCATTER_PROBE);
        assert_eq!(seen["failed"], Value::Null, "{seen}");
        assert_eq!(seen["errors"], Value::Array(vec![]), "{seen}");
        assert_eq!(seen["started"], 1, "{seen}");
        assert!(seen["overflow"].as_i64().unwrap() <= 0, "{seen}");
        assert_eq!(
            (&seen["points"], &seen["front"]),
            (&3.into(), &2.into()),
            "{seen}"
        );
        assert_eq!(
            seen["hovered"].as_str().map(|tip| tip.contains("Latency")),
            Some(true),
            "{seen}"
        );
        assert_eq!(seen["keyed"], true, "{seen}");
        assert_eq!(seen["frontByLoss"], 3, "{seen}");
        assert_eq!(seen["filtered"], 1, "{seen}");
    }
}

/// Two figures of an experiment, one of which is off by a half, and an experiment that was not made.
fn atlas() -> Atlas {
    let value = |figure: &str, x, mean, verdict| hopflow_results::Value {
        figure: figure.to_owned(),
        quantity: "rate".to_owned(),
        unit: "kB/s".to_owned(),
        transport: "vanilla".to_owned(),
        x,
        n: 3,
        mean,
        ci_low: Some(mean - 1.0),
        ci_high: Some(mean + 1.0),
        paper: Some(100.0),
        band_low: Some(95.0),
        band_high: Some(105.0),
        verdict,
        wanted: None,
    };
    let curve = |x: u32| {
        let x = Some(f64::from(x));
        value("one-fig10", x, 150.0, Verdict::NotReproduced)
    };
    let mut values: Vec<_> = (1..=3).map(curve).collect();
    values.push(value("one-fig2", None, 101.0, Verdict::Reproduced));
    let entry = |id: &str, title: &str, found| AtlasEntry {
        id: id.to_owned(),
        title: title.to_owned(),
        paper: Some("Paper".to_owned()),
        percentiles: false,
        found,
    };
    let found = AtlasFound {
        values,
        page: Some("one/report.html".to_owned()),
        seconds: Some(100.0),
        made_by: "commit 1".to_owned(),
    };
    Atlas {
        subtitle: "Two experiments.".to_owned(),
        experiments: vec![
            entry("one", "One & all", Ok(found)),
            entry(
                "two",
                "A slow one",
                Err("Not made: `it` <is> slow".to_owned()),
            ),
        ],
    }
}

#[test]
fn a_reader_sorts_and_filters_an_atlas_on_a_desk_and_on_a_phone() {
    let Some(browser) = browser() else {
        println!("skipped: no Chromium found on the path or in HOPFLOW_CHROMIUM");
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let page = atlas().write(temporary.path()).unwrap();
    for width in [1400, 500] {
        let seen = drive(&browser, &page, width, ATLAS_PROBE);
        let none = || Value::Array(vec![]);
        assert_eq!(
            (&seen["errors"], &seen["requests"]),
            (&none(), &none()),
            "{seen}"
        );
        assert!(seen["overflow"].as_i64().unwrap() <= 0, "{seen}");
        let names = |names: &[&str]| Value::from(names.to_vec());
        assert_eq!(
            seen["rows"],
            names(&["one-fig2", "one-fig10", "two"]),
            "{seen}"
        );
        assert_eq!(seen["pictures"], 2, "{seen}");
        assert_eq!(
            seen["sorted"],
            names(&["one-fig2", "one-fig10", "two"]),
            "{seen}"
        );
        assert_eq!(
            seen["reversed"],
            names(&["one-fig10", "one-fig2", "two"]),
            "{seen}"
        );
        assert_eq!(seen["bad"], names(&["one-fig10"]), "{seen}");
        assert_eq!(seen["found"], names(&["two"]), "{seen}");
        assert_eq!(seen["nothing"], true, "{seen}");
    }
}
