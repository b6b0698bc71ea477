use std::path::Path;

use super::*;
use crate::run::Silent;
use crate::scenario::Choice;

const TEXT: &str = r#"
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

fn sweep(folder: &Path, chosen: Chosen) -> Sweep {
    let file = folder.join("tiny.toml");
    std::fs::write(&file, TEXT).unwrap();
    let setting = Setting {
        chosen,
        ..Setting::default()
    };
    Sweep::plan(file.to_str().unwrap(), &setting).unwrap()
}

/// One scheduler, and no end-to-end control but windows.
fn few() -> Chosen {
    Chosen {
        end_to_end: vec!["none".to_owned(), "window".to_owned()],
        scheduler: vec!["round-robin".to_owned()],
        ..Chosen::default()
    }
}

#[test]
fn every_point_is_run_or_has_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = sweep(folder.path(), Chosen::default());
    let all = sweep.axes.points().len();
    assert_eq!(sweep.points.len() + sweep.skipped.len(), all);
    assert!(sweep.skipped.iter().all(|(_, reason)| !reason.is_empty()));
    let presets = ["vanilla", "pctcp", "n23", "backtap", "marut"];
    for preset in presets {
        let is_it = |(_, choice): &(Point, Choice)| choice.preset.as_deref() == Some(preset);
        assert!(sweep.points.iter().any(is_it), "{preset} is a point");
    }
}

#[test]
fn the_same_folder_takes_a_wider_sweep_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let narrow = Chosen {
        carrier: vec!["tcp".to_owned()],
        ..few()
    };
    let narrow = sweep(folder.path(), narrow);
    let wide = sweep(folder.path(), few());
    assert_eq!(narrow.default_folder(&out), wide.default_folder(&out));
    let run = |sweep: &Sweep, folder: &Path, threads| {
        let campaign = sweep.campaign("test").unwrap();
        let finished = campaign.run(folder, Some(threads), &Silent).unwrap();
        sweep.evaluate(&finished).unwrap()
    };
    let first = run(&narrow, &out, 1);
    let second = run(&wide, &out, 2);
    assert!(second.points.len() > first.points.len());
    let anew = run(&wide, &folder.path().join("anew"), 1);
    assert_eq!(second, anew);
    let read = Picture::read(&Folder::open(&out)).unwrap().unwrap();
    assert_eq!(read.skipped, second.skipped, "what is written can be read");
    assert_eq!(read.points.len(), second.points.len());
    assert_eq!(Picture::read(&Folder::open(folder.path())).unwrap(), None);
}

#[test]
fn a_folder_of_other_circuits_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let relay = |number: u32| format!("{number:040X} EU 500000");
    let file = folder.path().join("published.toml");
    let text = TEXT.replace("path = [\"relay\", \"relay\"]", "path = \"published\"");
    let text = text.replace("[[network.relays]]\nname = \"relay\"\ncount = 3\n", "");
    let text = text.replace(
        "bucket = { rate = \"1500 kB/s\" }",
        "source = { circuits = \"none.dat\" }",
    );
    std::fs::write(&file, text).unwrap();
    let campaign = |number: u32| {
        let circuits = folder.path().join(format!("{number}.dat"));
        let way = |n: u32| {
            [n + number, n + number + 10, n + number + 20]
                .map(relay)
                .join("\t")
        };
        let lines: Vec<_> = (0..4).map(|n| format!("{n}\t{}\n", way(n))).collect();
        std::fs::write(&circuits, lines.concat()).unwrap();
        let setting = Setting {
            chosen: few(),
            circuits: Some(circuits),
            ..Setting::default()
        };
        let sweep = Sweep::plan(file.to_str().unwrap(), &setting).unwrap();
        sweep.campaign("test").unwrap()
    };
    let out = folder.path().join("out");
    campaign(1).missing(&out).unwrap();
    campaign(1).missing(&out).unwrap();
    let error = campaign(2).missing(&out).unwrap_err().to_string();
    assert!(error.contains("as it was before it changed"), "{error}");
}

#[test]
fn a_picture_has_a_row_for_every_point() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = sweep(folder.path(), few());
    let campaign = sweep.campaign("test").unwrap();
    let out = folder.path().join("out");
    let finished = campaign.run(&out, Some(2), &Silent).unwrap();
    let picture = sweep.evaluate(&finished).unwrap();
    let goodput = &picture.points[0].metrics["goodput"];
    assert!(goodput.mean > 0.1 && goodput.n == 2, "{goodput:?}");
    assert!(picture.points.iter().any(|shown| shown.on_front));
    let csv = std::fs::read_to_string(out.join("sweep.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + sweep.axes.points().len());
    assert!(
        csv.contains(",goodput_high,goodput_within,goodput_n,bulk"),
        "{csv}"
    );
    let commas = |line: &str| {
        line.split('"')
            .step_by(2)
            .map(|of| of.matches(',').count())
            .sum::<usize>()
    };
    let mut lines = csv.lines().map(commas);
    let header = lines.next().unwrap();
    assert!(lines.all(|row| row == header), "{csv}");
}

#[test]
fn what_cannot_be_swept_is_named_with_what_is_allowed() {
    let error = |chosen: Chosen, front: &[&str]| {
        let setting = Setting {
            chosen,
            front: front.iter().map(|name| (*name).to_owned()).collect(),
            ..Setting::default()
        };
        Sweep::plan(SCENARIO, &setting).unwrap_err().to_string()
    };
    let ports = Chosen {
        carrier: vec!["datagram".to_owned()],
        multiplexing: vec!["per-circuit".to_owned()],
        ..Chosen::default()
    };
    assert!(error(ports, &[]).starts_with(
        "none of the chosen points can be run; datagram+per-circuit+none+none+round-robin: "
    ));
    let all = Chosen::default;
    assert!(error(all(), &["ttfb", "los"]).contains("did you mean \"loss\"? allowed: goodput, "));
    assert!(error(all(), &["ttfb"]).contains("only \"ttfb\"; allowed are two or more of goodput"));
    assert!(error(all(), &["ttfb", "ttfb"]).contains("is listed twice"));
}

#[test]
fn all_points_can_have_the_same_refills() {
    let plan = |refill: &str| {
        let setting = Setting {
            refill: Some(refill.to_owned()),
            ..Setting::default()
        };
        Sweep::plan(SCENARIO, &setting)
    };
    let ten = plan("10 ms").unwrap();
    let refilled =
        |(_, choice): &(Point, Choice)| choice.options["refill"].as_str() == Some("10 ms");
    assert!(ten.points.iter().all(refilled));
    let folder = |sweep: &Sweep| sweep.default_folder(Path::new(""));
    assert_ne!(folder(&ten), folder(&plan("100 ms").unwrap()));
    assert!(
        ten.about()
            .ends_with("All buckets are refilled every 10 ms.")
    );
    let error = plan("10").unwrap_err().to_string();
    assert!(error.starts_with("--refill: "), "{error}");
}
