//! `hopflow sweep`.

use std::path::Path;

use hopflow_api::{Caller, Failure, Runner, Swept};
use hopflow_lab::scenario::Choice;
use hopflow_lab::sweep::{Interval, Metric, NAMES, Picture, Point, Shown, Sweep};
use hopflow_report::significant;
use serde_json::{Value, json};

use crate::args::{RunOptions, SpaceOptions};
use crate::progress::Progress;
use crate::show;

/// The metrics that the terminal shows; the files have all.
const BRIEF: [Metric; 7] = [
    Metric::Goodput,
    Metric::Ttfb,
    Metric::Ttlb,
    Metric::Latency,
    Metric::Fairness,
    Metric::Loss,
    Metric::Friendliness,
];

/// Runs the points of the design space over a scenario.
pub(crate) fn sweep(
    scenario: &str,
    space: &SpaceOptions,
    options: &RunOptions,
    caller: &Caller,
) -> Result<(), Failure> {
    let order = options.order.order();
    let sweep = hopflow_api::plan(scenario, space.setting(), &order)?;
    if space.dry_run {
        return show_plan(&sweep, options.json);
    }
    let progress = Progress::new();
    let runner = Runner {
        order: &order,
        caller,
        monitor: &progress,
    };
    let swept = hopflow_api::sweep(&sweep, &runner);
    progress.clear();
    show_results(&swept?, options.json)
}

fn show_results(swept: &Swept, json: bool) -> Result<(), Failure> {
    let Swept {
        finished,
        picture,
        page,
    } = swept;
    if json {
        return show::print_json(&picture_json(picture, &finished.folder, page));
    }
    show::print(&format!(
        "{}\n\n{}\n{}\n\nresults  {}\nreport   {}\nhash     {}\n",
        picture.about,
        table(picture),
        legend(picture),
        finished.folder.display(),
        page.display(),
        finished.results,
    ))
}

fn table(picture: &Picture) -> String {
    let header: Vec<String> = ["transport".to_owned(), "front".to_owned()]
        .into_iter()
        .chain(BRIEF.map(|metric| match metric.unit() {
            "" => metric.name().to_owned(),
            unit => format!("{}\n{unit}", metric.name()),
        }))
        .collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    show::table(&header, picture.points.iter().map(row)).to_string()
}

fn row(shown: &Shown) -> Vec<String> {
    let mut cells = vec![
        shown.transport.clone(),
        if shown.on_front { "*" } else { "" }.to_owned(),
    ];
    cells.extend(BRIEF.map(|metric| {
        let found = shown.metrics.get(metric.name());
        found.map_or("-".to_owned(), measured)
    }));
    cells
}

/// A mean, with of how many networks it is unless it is of all.
fn measured(found: &Interval) -> String {
    let mean = significant(found.mean);
    match found.part() {
        Some(part) => format!("{mean} ({part})"),
        None => mean,
    }
}

fn legend(picture: &Picture) -> String {
    let networks = match picture.seeds.len() {
        1 => "one sampled network".to_owned(),
        n => format!("means over {n} sampled networks"),
    };
    let is_part = |(name, found): (&String, &Interval)| {
        let shown = BRIEF.iter().any(|metric| metric.name() == name);
        (shown || picture.front.contains(name)) && found.part().is_some()
    };
    let mut points = picture.points.iter();
    let fewer = if points.any(|shown| shown.metrics.iter().any(is_part)) {
        "Means are over fewer networks where (n of N) says so. A point that lacks a metric of the front\n\
         on a network on which others have it is not on the front.\n"
    } else {
        ""
    };
    format!(
        "* on the Pareto front in {}; {networks}.\n{fewer}\
         Latency and loss are of the whole run, the warm-up included; the others are not.\n\
         {} more points are not run; the report says why, and has intervals and more metrics.",
        picture.front.join(" and "),
        picture.skipped.len(),
    )
}

fn picture_json(picture: &Picture, folder: &Path, report: &Path) -> Value {
    let mut value = serde_json::to_value(picture).expect("plain data has a JSON form");
    value["folder"] = json!(folder.display().to_string());
    value["report"] = json!(report.display().to_string());
    value
}

fn show_plan(sweep: &Sweep, json: bool) -> Result<(), Failure> {
    let (points, skipped) = (sweep.points(), sweep.skipped());
    if json {
        return show::print_json(&plan_json(points, skipped));
    }
    let header: Vec<&str> = NAMES.into_iter().chain(["transport"]).collect();
    let row = |(point, choice): &(Point, Choice)| {
        let values = point.values().map(str::to_owned).into_iter();
        let options = choice.options.to_string().trim().replace('\n', ", ");
        let preset = choice.preset.clone().unwrap_or_default();
        let transport = format!("{preset} {options}").trim_end().to_owned();
        values.chain([transport]).collect()
    };
    let text = format!(
        "{}\n{} points are run; {} are not\n{}",
        show::table(&header, points.iter().map(row)),
        points.len(),
        skipped.len(),
        reasons(sweep),
    );
    show::print(&text)
}

/// Points with the same values, but for those of which each axis lists several.
type Block = [Vec<&'static str>; NAMES.len()];

/// Each reason why points are not run, with how many there are and which.
fn reasons(sweep: &Sweep) -> String {
    let mut reasons: Vec<(&str, Vec<Point>)> = Vec::new();
    for &(point, reason) in sweep.skipped() {
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, points)) => points.push(point),
            None => reasons.push((reason, vec![point])),
        }
    }
    let all = sweep.values();
    let line = |block: &Block| format!("    {}\n", block_label(block, &all));
    let shown = reasons.iter().map(|(reason, points)| {
        let lines: String = blocks(points).iter().map(line).collect();
        format!("\n{}: {reason}\n{lines}", points.len())
    });
    shown.collect()
}

/// The points, those as one block that differ in the values of an axis alone.
fn blocks(points: &[Point]) -> Vec<Block> {
    let single = |point: &Point| point.values().map(|value| vec![value]);
    let mut blocks: Vec<Block> = points.iter().map(single).collect();
    for axis in (0..NAMES.len()).rev() {
        let mut merged: Vec<Block> = Vec::new();
        for block in blocks {
            let alike = |other: &&mut Block| {
                (0..NAMES.len()).all(|place| place == axis || other[place] == block[place])
            };
            match merged.iter_mut().find(alike) {
                Some(other) => other[axis].extend(&block[axis]),
                None => merged.push(block),
            }
        }
        blocks = merged;
    }
    blocks
}

/// The label of a block's points; `*` stands for several values, if they are all of their axis.
fn block_label(block: &Block, all: &Block) -> String {
    let value = |(values, all): (&Vec<&str>, &Vec<&str>)| match values.len() {
        count if count > 1 && count == all.len() => "*".to_owned(),
        _ => values.join(","),
    };
    let values: Vec<_> = block.iter().zip(all).map(value).collect();
    values.join("+")
}

fn plan_json(points: &[(Point, Choice)], skipped: &[(Point, &str)]) -> Value {
    let point = |(point, choice): &(Point, Choice)| {
        json!({
            "label": point.label(),
            "preset": choice.preset,
            "options": choice.options,
        })
    };
    let reason =
        |(point, reason): &(Point, &str)| json!({ "label": point.label(), "reason": reason });
    json!({
        "points": points.iter().map(point).collect::<Vec<_>>(),
        "skipped": skipped.iter().map(reason).collect::<Vec<_>>(),
    })
}
