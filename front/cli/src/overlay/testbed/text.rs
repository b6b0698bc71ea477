//! What was measured, for terminals and machines.

use std::fmt::Write as _;
use std::path::Path;

use hopflow_api::testbed::{
    CUT_OFF, Made, SETTINGS, SHOWN, cut_off, cut_off_sides, error, heading, is_cut_off, names,
    unfinished, value,
};
use hopflow_testbed::{Errors, Figure, Measured};
use hopflow_units::Rate;
use serde_json::{Map, Value, json};

use crate::show;

/// What was measured, for readers.
pub(super) fn summary(made: &[Made]) -> String {
    match made {
        [one] => one_table(one),
        several => matrix_table(several),
    }
}

fn one_table(made: &Made) -> String {
    let errors = made.errors();
    let mut text = format!(
        "{}: {}\n\n",
        made.settings.transport,
        made.settings.describe()
    );
    if let Some(note) = unfinished(made) {
        writeln!(text, "{note}\n").expect("a string takes every text");
    }
    let compared = !made.simulated.is_empty();
    let rows = Figure::ALL.map(|figure| {
        let mut row = vec![
            figure.title().to_owned(),
            value(&errors, figure, true, true),
        ];
        if compared {
            row.push(value(&errors, figure, false, true));
            row.push(error(&errors, figure));
        }
        row
    });
    let header: &[&str] = if compared {
        &["", "Real", "Simulated", "Error"]
    } else {
        &["", "Real"]
    };
    text + &show::table(header, rows).to_string() + "\n"
}

fn matrix_table(made: &[Made]) -> String {
    let mut header: Vec<String> = SETTINGS.map(str::to_owned).to_vec();
    header.extend(SHOWN.map(heading));
    let any_cut_off = made.iter().any(is_cut_off);
    header.extend(any_cut_off.then(|| CUT_OFF.to_owned()));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = made.iter().map(|made| {
        let errors = made.errors();
        let mut row = names(made).to_vec();
        row.extend(SHOWN.map(|figure| sides(&errors, figure)));
        row.extend(any_cut_off.then(|| cut_off_sides(made)));
        row
    });
    let compared = made.iter().any(|made| !made.simulated.is_empty());
    let legend = if compared {
        "Real, simulated, and how far the simulation is off."
    } else {
        "Measured on the real overlay."
    };
    format!("{legend}\n\n{}\n", show::table(&header, rows))
}

/// Both sides of a figure and the error, in one cell.
fn sides(errors: &Errors, figure: Figure) -> String {
    let real = value(errors, figure, true, false);
    if errors.simulated.get(figure).is_none() {
        return real;
    }
    let simulated = value(errors, figure, false, false);
    format!("{real}  {simulated}  {}", error(errors, figure))
}

/// What was measured, for machines, in base units.
pub(super) fn json(made: &[Made], folder: &Path, report: &Path) -> Value {
    json!({
        "folder": folder.display().to_string(),
        "report": report.display().to_string(),
        "testbeds": made.iter().map(one_json).collect::<Vec<_>>(),
    })
}

fn one_json(made: &Made) -> Value {
    let errors = made.errors();
    let figures = Figure::ALL.map(|figure| {
        let sides = json!({
            "real": errors.real.get(figure),
            "simulated": errors.simulated.get(figure),
            "error": errors.relative(figure),
        });
        (figure.key().to_owned(), sides)
    });
    let complete = |side: &[Measured]| -> usize { side.iter().map(|it| it.downloads.len()).sum() };
    let simulated = Some(made.simulated.as_slice()).filter(|it| !it.is_empty());
    let settings = &made.settings;
    json!({
        "transport": settings.transport,
        "downloads": settings.downloads,
        "size_bytes": settings.size.get(),
        "delay_s": settings.delay.as_secs_f64(),
        "rate_bytes_per_s": settings.rate.map(Rate::bytes_per_sec),
        "middle_rate_bytes_per_s": settings.middle_rate.map(Rate::bytes_per_sec),
        "shared": settings.shared,
        "repeats": made.real.len(),
        "complete": complete(&made.real),
        "unfinished": cut_off(&made.real),
        "simulated_complete": simulated.map(complete),
        "simulated_unfinished": simulated.map(cut_off),
        "figures": figures.into_iter().collect::<Map<_, _>>(),
    })
}
