//! `hopflow testbed`.

mod live;
mod options;
mod text;

use std::path::{Path, PathBuf};

use hopflow_api::testbed::{Made, check_folder, claim, list, place, write_matrix, write_one};
use hopflow_api::{Caller, Failure, RESULTS};
use hopflow_testbed::{
    Error, Lateness, Origin, Settings, Testbed, Trace, keep, measure, simulate, write,
};

use super::failure::not_started;
use crate::progress;
use crate::show;
use live::Live;
use options::TRACE;
pub(crate) use options::TestbedOptions;

/// Folder of the results, unless the user chooses another, below that of all results.
const FOLDER: &str = "testbed";

/// Runs a testbed, or several one after the other, and reports what was measured, also where the user interrupts or one
/// of them fails.
pub(crate) fn testbed(options: &TestbedOptions, caller: &Caller) -> Result<(), Failure> {
    let cells = options.cells()?;
    progress::heed_interrupts();
    let folder = options.out.clone();
    let folder = folder.unwrap_or_else(|| Path::new(RESULTS).join(FOLDER));
    let several = cells.len() > 1;
    check_folder(&folder, several)?;
    if several || options.traces() {
        claim(&folder, caller.command(), &cells)?;
    }
    let mut made = Vec::new();
    let outcome = make_all(&cells, options, (&folder, caller), &mut made);
    let kept = match outcome {
        Ok(kept) => kept,
        Err(failure) => {
            if !made.is_empty() {
                let told = match report(&folder, several) {
                    Ok(report) => {
                        format!("What was measured is in the report {}", report.display())
                    }
                    Err(problem) => problem.message().to_owned(),
                };
                progress::tell(&told);
            }
            return Err(failure);
        }
    };
    let report = report(&folder, several)?;
    print(options, (&folder, &report), &made, kept.as_ref())?;
    kept.map_or(Ok(()), |testbed| stay(testbed, options.json))
}

fn report(folder: &Path, several: bool) -> Result<PathBuf, Failure> {
    if several {
        write_matrix(folder)
    } else {
        write_one(folder)
    }
}

/// Makes the measurements of all testbeds and writes them; those that were made are in `made` also if this fails.
/// Returns the last one still running if it is to be kept.
fn make_all(
    cells: &[Settings],
    options: &TestbedOptions,
    (folder, caller): (&Path, &Caller),
    made: &mut Vec<Made>,
) -> Result<Option<Testbed>, Failure> {
    let several = cells.len() > 1;
    let mut kept = None;
    for (number, settings) in cells.iter().enumerate() {
        let live = Live::new(&format!("{} of {}", number + 1, cells.len()));
        if let Some(warning) = options.untraced(settings) {
            live.warn(&warning);
        }
        let place = place(folder, settings, several);
        let (cell, outcome) = make(settings, options, (&place, &live));
        live.clear();
        if !cell.real.is_empty() {
            save(&place, &cell, (options, caller))?;
            made.push(cell);
            if several {
                let complete = number + usize::from(outcome.is_ok());
                let missing = cells.len() - complete;
                list(folder, caller.command(), &cells[..made.len()], missing)?;
            }
        }
        kept = outcome?;
    }
    Ok(kept)
}

/// Prints what was measured, and where it is.
fn print(
    options: &TestbedOptions,
    (folder, report): (&Path, &Path),
    made: &[Made],
    kept: Option<&Testbed>,
) -> Result<(), Failure> {
    if options.json {
        let mut json = text::json(made, folder, report);
        if let Some(testbed) = kept {
            json["socks"] = testbed.socks().to_string().into();
            json["server"] = testbed.server().to_string().into();
        }
        return show::print_json(&json);
    }
    let text = text::summary(made);
    let (results, report) = (folder.display(), report.display());
    show::print(&format!("{text}\nresults  {results}\nreport   {report}\n"))?;
    if options.traces() {
        show::print(&format!("traces   in the folders {TRACE} of the results\n"))?;
    }
    Ok(())
}

/// Makes the measurements of one testbed: those that were made, and it still running if it is to be kept, or why some
/// are missing.
fn make(
    settings: &Settings,
    options: &TestbedOptions,
    place: (&Path, &Live),
) -> (Made, Result<Option<Testbed>, Failure>) {
    let mut made = Made {
        settings: settings.clone(),
        real: Vec::new(),
        simulated: Vec::new(),
    };
    let mut kept = None;
    for number in 1..=options.repeats.get() {
        match repeat(&mut made, options, place, number) {
            Ok(testbed) => kept = testbed,
            Err(failure) => return (made, Err(failure)),
        }
    }
    (made, Ok(kept))
}

/// Makes the measurement of this number, and its simulation; returns the testbed if it is to be kept.
fn repeat(
    made: &mut Made,
    options: &TestbedOptions,
    (folder, live): (&Path, &Live),
    number: u32,
) -> Result<Option<Testbed>, Failure> {
    // Each has keys, links and round trips of its own.
    let trace = options.trace(&made.settings, folder, number);
    let testbed = start(&made.settings, options, trace.as_ref())?;
    let measured = match measure(&testbed, live) {
        Ok(measured) => measured,
        Err(error) => {
            let ended = end(testbed, live);
            if matches!(error, Error::Network) {
                ended?;
            }
            return Err(error.into());
        }
    };
    let kept = if options.keep {
        Some(testbed)
    } else {
        end(testbed, live)?;
        None
    };
    made.real.push(measured);
    if options.compare {
        let outcome = simulate(&made.settings, number.into(), live);
        let outcome = outcome.map_err(Failure::bad_input)?;
        made.simulated.push(outcome.ok_or(Error::Interrupted)?);
    }
    Ok(kept)
}

fn start(
    settings: &Settings,
    options: &TestbedOptions,
    trace: Option<&Trace>,
) -> Result<Testbed, Failure> {
    let testbed = Testbed::start_with(settings, options.metrics, trace);
    let testbed = testbed.map_err(|error| not_started(&error))?;
    if options.metrics {
        let nodes = testbed.metrics().iter();
        let nodes: Vec<_> = nodes.map(|(name, at)| format!("{name}={at}")).collect();
        progress::tell(&format!("hopflow live --metrics {}", nodes.join(",")));
    }
    Ok(testbed)
}

fn save(
    folder: &Path,
    made: &Made,
    (options, caller): (&TestbedOptions, &Caller),
) -> Result<(), Failure> {
    let planned = options.repeats.get() as usize * (1 + usize::from(options.compare));
    let mut measurements = vec![(Origin::Real, made.real.as_slice())];
    if !made.simulated.is_empty() {
        measurements.push((Origin::Simulated, &made.simulated));
    }
    Ok(write(
        folder,
        &made.settings,
        caller.command(),
        &measurements,
        planned - made.real.len() - made.simulated.len(),
    )?)
}

/// Leaves a testbed running until the user interrupts. With JSON, the standard output has nothing else.
fn stay(testbed: Testbed, as_json: bool) -> Result<(), Failure> {
    let (socks, server) = (testbed.socks(), testbed.server());
    let hint = format!(
        "\nThe overlay is running; Ctrl-C ends it. SOCKS 5 at {socks}, for instance:\n  \
         curl --socks5-hostname {socks} http://{server}/50000000 --output /dev/null\n"
    );
    if as_json {
        progress::tell(hint.trim_end());
    } else {
        show::print(&hint)?;
    }
    let live = Live::new("kept");
    keep(&testbed, &live);
    let ended = end(testbed, &live);
    live.clear();
    ended
}

/// Ends a testbed, and says whether this machine was too slow for its links.
fn end(testbed: Testbed, live: &Live) -> Result<(), Failure> {
    let (transport, downloads) = (&testbed.settings().transport, testbed.settings().downloads);
    let measured = format!("{transport}, {downloads} downloads");
    let late = testbed.end().map_err(Failure::defect)?;
    if let Some(late) = late.filter(Lateness::matters) {
        live.warn(&format!(
            "{measured}: {late}: this machine is too slow or too busy for them"
        ));
    }
    Ok(())
}
