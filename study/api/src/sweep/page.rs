//! The report of a sweep.

use std::collections::BTreeMap;

use hopflow_lab::sweep::{Better, Interval, Metric, NAMES, Picture, Shown, Skipped, TITLES};
use hopflow_report::{
    Axis, Block, Cell, Code, Column, Document, Fact, Filter, Mean, Measure, Scatter, Section, Spot,
    Table, significant,
};

/// The axis that colours show at first: end-to-end control.
const COLOURED: usize = 3;

const HOW_TO_READ: &str = "Each point is a transport. Filled points are on the front: no other point \
     that is shown is at least as good on both axes and better on one. Points that lack one of the two \
     on a network on which others have it are not shown. Bars are 95 % intervals of a point’s ratio to \
     the mean of all points on the same network.";

/// The page of a picture.
pub(super) fn page(picture: &Picture, command: &str, version: &str) -> Document {
    Document {
        title: "The design space".to_owned(),
        subtitle: picture.about.clone(),
        facts: vec![
            Fact::new("Points", picture.points.len()),
            Fact::new("On the front", front_of(picture).count()),
            Fact::new("Points not run", picture.skipped.len()),
            Fact::new("Sampled networks", picture.seeds.len()),
        ],
        sections: vec![
            trade_offs(picture),
            points(picture),
            skipped(picture),
            origin(picture, command, version),
        ],
    }
}

fn front_of(picture: &Picture) -> impl Iterator<Item = &Shown> {
    picture.points.iter().filter(|shown| shown.on_front)
}

fn trade_offs(picture: &Picture) -> Section {
    let titles: Vec<_> = picture.front_metrics().into_iter().map(lower).collect();
    let names: Vec<String> = front_of(picture)
        .map(|shown| format!("`{}`", shown.transport))
        .collect();
    let front = format!(
        "The Pareto front in {}: {}.",
        listed(&titles),
        listed(&names)
    );
    let chart = Block::Scatter(Box::new(scatter(picture)));
    Section::new("Trade-offs", vec![chart]).with_prose(front)
}

fn lower(metric: Metric) -> String {
    let title = metric.title();
    if title.starts_with("Jain") {
        return title.to_owned();
    }
    let mut letters = title.chars();
    let first = letters.next().map(|c| c.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// "a", "a and b", "a, b and c".
fn listed(items: &[String]) -> String {
    match items {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn scatter(picture: &Picture) -> Scatter {
    let measures = Metric::ALL.map(|metric| Measure {
        axis: Axis::new(metric.title(), metric.unit()),
        higher_is_better: metric.better() == Better::Higher,
    });
    let filters: Vec<Filter> = NAMES
        .into_iter()
        .zip(TITLES)
        .map(|(axis, title)| filter(picture, axis, title))
        .collect();
    let means = Metric::ALL.map(|metric| picture.comparable(metric));
    let spot = |(number, shown): (usize, &Shown)| Spot {
        label: shown.transport.clone(),
        categories: NAMES
            .iter()
            .zip(&filters)
            .map(|(axis, filter)| {
                let value = filter.values.iter().position(|v| *v == shown.values[*axis]);
                value.expect("the filter lists the values of all points")
            })
            .collect(),
        values: means
            .iter()
            .map(|of_metric| of_metric[number].map(Mean::from))
            .collect(),
    };
    let spots = picture.points.iter().enumerate().map(spot).collect();
    let place = |metric: Metric| {
        let mut all = Metric::ALL.into_iter();
        all.position(|other| other == metric).unwrap_or(0)
    };
    let axes = match picture.front_metrics().as_slice() {
        [x, y, ..] => (place(*x), place(*y)),
        _ => (0, 1),
    };
    Scatter::new(
        ["front", "Trade-offs of the transports", HOW_TO_READ],
        measures.to_vec(),
        filters,
        spots,
        (axes, COLOURED),
    )
}

/// The values of an axis at which there is a point, in the order of the axis.
fn filter(picture: &Picture, axis: &str, title: &str) -> Filter {
    let occurs = |value: &&String| {
        let mut points = picture.points.iter();
        points.any(|shown| shown.values[axis] == **value)
    };
    let values = picture.axes.get(axis).into_iter().flatten();
    Filter {
        name: title.to_owned(),
        values: values.filter(occurs).cloned().collect(),
    }
}

fn points(picture: &Picture) -> Section {
    let mut columns = vec![Column::new("Transport"), Column::new("Front")];
    columns.extend(TITLES.map(Column::new));
    columns.extend(Metric::ALL.map(|metric| Column::with_unit(metric.title(), metric.unit())));
    let row = |shown: &Shown| {
        let mut cells = vec![
            Cell::Text(shown.transport.clone()),
            Cell::Text(if shown.on_front { "\u{25cf}" } else { "" }.to_owned()),
        ];
        cells.extend(NAMES.map(|axis| Cell::Text(shown.values[axis].clone())));
        cells.extend(Metric::ALL.map(|metric| measured(shown.metrics.get(metric.name()))));
        cells
    };
    let table = Table {
        caption:
            "Means over networks, or over fewer where (n of N) says so; a point that lacks a measure \
                  on a network on which others have it is not on a front of that measure. \
                  ± bounds the 95 % interval of the point’s ratio to the mean \
                  of all points on the same network. Loss counts packets that links dropped and \
                  cells that relays dropped; friendliness is the goodput of another application's \
                  TCP connection relative to its max-min fair share. Latency and loss are of the \
                  whole run, the warm-up included; all else is of what follows the warm-up."
                .to_owned(),
        columns,
        rows: picture.points.iter().map(row).collect(),
    };
    Section::new("All points", vec![Block::Table(table)])
}

/// A mean, with of how many networks it is unless it is of all.
fn measured(found: Option<&Interval>) -> Cell {
    match found.and_then(|found| Some((found.mean, found.part()?))) {
        Some((mean, part)) => Cell::Figures {
            text: format!("{} ({part})", significant(mean)),
            faint: false,
        },
        None => Cell::mean(found.map(Mean::from), 1.0),
    }
}

fn skipped(picture: &Picture) -> Section {
    let mut reasons: Vec<(&str, Vec<&Skipped>)> = Vec::new();
    for skipped in &picture.skipped {
        match reasons
            .iter_mut()
            .find(|(reason, _)| *reason == skipped.reason)
        {
            Some((_, points)) => points.push(skipped),
            None => reasons.push((&skipped.reason, vec![skipped])),
        }
    }
    if reasons.is_empty() {
        return Section::new("Not run", Vec::new()).with_prose("Every point was run.");
    }
    let row = |(reason, points): (&str, Vec<&Skipped>)| {
        vec![
            Cell::Count(points.len() as u64),
            Cell::Text(place(picture, &points)),
            Cell::Text(reason.to_owned()),
        ]
    };
    let table = Table {
        caption: "Points of the cross product that were not run. Axes of which all values are \
                  concerned are omitted."
            .to_owned(),
        columns: ["Points", "Where", "Why"].map(Column::new).to_vec(),
        rows: reasons.into_iter().map(row).collect(),
    };
    Section::new("Not run", vec![Block::Table(table)])
}

/// The values that points have on the axes on which they do not have all.
fn place(picture: &Picture, points: &[&Skipped]) -> String {
    let mut parts = Vec::new();
    for (axis, all) in NAMES.map(|axis| (axis, &picture.axes[axis])) {
        let occurs = |value: &&String| points.iter().any(|point| point.values[axis] == **value);
        let values: Vec<&str> = all.iter().filter(occurs).map(String::as_str).collect();
        if values.len() < all.len() {
            parts.push(format!("{axis} {}", values.join(", ")));
        }
    }
    parts.join("; ")
}

fn origin(picture: &Picture, command: &str, version: &str) -> Section {
    let code = |caption: &str, text: String| {
        Block::Code(Code {
            caption: caption.to_owned(),
            text,
            file: None,
        })
    };
    let labels: BTreeMap<&str, &str> = picture
        .points
        .iter()
        .map(|shown| (shown.transport.as_str(), shown.label.as_str()))
        .collect();
    let labels: Vec<String> = labels
        .into_iter()
        .map(|(transport, label)| format!("{transport}: {label}"))
        .collect();
    let seeds = format!("hopflow {version}, seeds {:?}", picture.seeds);
    let blocks = vec![
        code("Command", command.to_owned()),
        code("Version and seeds", seeds),
        code("Hash of all results", picture.results.to_string()),
        code("Labels of the runs of each transport", labels.join("\n")),
        code("Scenario", picture.scenario.clone()),
    ];
    Section::new("Origin", blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_over_some_of_the_networks_says_of_how_many() {
        let interval = |values: [Option<f64>; 2]| Interval {
            mean: 1.5,
            ci: None,
            within: None,
            n: values.iter().flatten().count(),
            values: values.to_vec(),
        };
        let part = measured(Some(&interval([None, Some(1.5)])));
        let text = "1.50 (1 of 2)".to_owned();
        assert_eq!(part, Cell::Figures { text, faint: false });
        let whole = measured(Some(&interval([Some(1.5); 2])));
        assert_eq!(whole, Cell::number(Some(1.5)));
        assert_eq!(measured(None), Cell::Empty);
    }
}
