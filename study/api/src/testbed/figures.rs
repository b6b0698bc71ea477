//! What was measured, as text of tables.

use hopflow_testbed::{Errors, Figure, Measured};

use super::made::Made;

/// What a table of several testbeds shows of each.
pub const SHOWN: [Figure; 4] = [
    Figure::GoodputMedian,
    Figure::TtfbMedian,
    Figure::TtfbMax,
    Figure::BacklogMean,
];

/// The columns that tell testbeds apart.
pub const SETTINGS: [&str; 4] = ["Transport", "Downloads", "Delay", "Middle relay"];

/// What tells a testbed from others.
pub fn names(made: &Made) -> [String; 4] {
    let settings = &made.settings;
    let middle = settings.middle_rate;
    [
        settings.transport.clone(),
        settings.downloads.to_string(),
        settings.delay.to_string(),
        middle.map_or("no limit".to_owned(), |rate| rate.to_string()),
    ]
}

/// A figure's short name, with its unit.
pub fn heading(figure: Figure) -> String {
    let (unit, _) = figure.readable();
    let name = match figure {
        Figure::GoodputMedian => "Goodput",
        Figure::TtfbMedian => "TTFB",
        Figure::TtfbMax => "TTFB, longest",
        Figure::BacklogMean => "Backlog",
        other => other.title(),
    };
    format!("{name} ({unit})")
}

/// One side of a figure.
pub fn value(errors: &Errors, figure: Figure, real: bool, with_unit: bool) -> String {
    let side = if real {
        &errors.real
    } else {
        &errors.simulated
    };
    let (unit, factor) = figure.readable();
    let unit = if with_unit {
        format!(" {unit}")
    } else {
        String::new()
    };
    side.get(figure).map_or("–".to_owned(), |value| {
        format!("{:.1}{unit}", value * factor)
    })
}

/// How far the simulation is off.
pub fn error(errors: &Errors, figure: Figure) -> String {
    let relative = errors.relative(figure);
    relative.map_or("–".to_owned(), |it| format!("{:+.1} %", it * 100.0))
}

/// What to say of downloads that were cut off.
pub fn unfinished(real: &[Measured]) -> Option<String> {
    let cut: u32 = real.iter().map(|measured| measured.unfinished).sum();
    (cut > 0).then(|| {
        format!("{cut} downloads were cut off by --duration; the figures are over the others.")
    })
}
