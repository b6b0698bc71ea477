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

/// Downloads of all repetitions that were cut off.
pub fn cut_off(measurements: &[Measured]) -> usize {
    measurements.iter().map(|it| it.unfinished.len()).sum()
}

/// The heading above what [`cut_off_sides`] says.
pub const CUT_OFF: &str = "Cut off";

/// How many downloads were cut off: for real, and simulated where that was done.
pub fn cut_off_sides(made: &Made) -> String {
    let real = cut_off(&made.real).to_string();
    if made.simulated.is_empty() {
        return real;
    }
    format!("{real} real, {} simulated", cut_off(&made.simulated))
}

/// Whether a download of a testbed was cut off, for real or simulated.
pub fn is_cut_off(made: &Made) -> bool {
    cut_off(&made.real) + cut_off(&made.simulated) > 0
}

/// What to say of downloads that were cut off.
pub fn unfinished(made: &Made) -> Option<String> {
    let of = |measurements: &[Measured]| {
        let all = made.settings.downloads as usize * measurements.len();
        format!("{} of {all}", cut_off(measurements))
    };
    let sides = if made.simulated.is_empty() {
        of(&made.real)
    } else {
        format!(
            "{} for real, {} simulated",
            of(&made.real),
            of(&made.simulated)
        )
    };
    is_cut_off(made).then(|| {
        format!(
            "Downloads cut off by --duration: {sides}. What came of them counts for the goodput of \
             all downloads together and for the backlog; the other figures are over the complete ones."
        )
    })
}
