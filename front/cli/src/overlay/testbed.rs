//! `hopflow testbed`.

mod live;
mod options;
mod text;

use std::path::Path;

use hopflow_api::testbed::{Made, check_folder, place, write_matrix, write_one};
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

/// Runs a testbed, or several one after the other, and reports what was measured.
pub(crate) fn testbed(options: &TestbedOptions, caller: &Caller) -> Result<(), Failure> {
    let cells = options.cells()?;
    progress::heed_interrupts();
    let folder = options.out.clone();
    let folder = folder.unwrap_or_else(|| Path::new(RESULTS).join(FOLDER));
    let several = cells.len() > 1;
    check_folder(&folder, several)?;
    let mut made = Vec::new();
    let mut kept = None;
    for (number, settings) in cells.iter().enumerate() {
        let live = Live::new(&format!("{} of {}", number + 1, cells.len()));
        let place = place(&folder, settings, several);
        let outcome = make(settings, options, (&place, &live));
        live.clear();
        let (cell, running) = outcome?;
        save(&place, &cell, caller)?;
        made.push(cell);
        kept = running;
    }
    let report = if let [_] = made.as_slice() {
        write_one(&folder)?
    } else {
        write_matrix(&folder, caller.command(), &cells)?
    };
    if options.json {
        let mut json = text::json(&made, &folder, &report);
        if let Some(testbed) = &kept {
            json["socks"] = testbed.socks().to_string().into();
            json["server"] = testbed.server().to_string().into();
        }
        show::print_json(&json)?;
    } else {
        let text = text::summary(&made);
        let (results, report) = (folder.display(), report.display());
        show::print(&format!("{text}\nresults  {results}\nreport   {report}\n"))?;
        if options.traces() {
            show::print(&format!("traces   in the folders {TRACE} of the results\n"))?;
        }
    }
    kept.map_or(Ok(()), |testbed| stay(testbed, options.json))
}

/// Makes the measurements of one testbed; returns it still running if it is to be kept.
fn make(
    settings: &Settings,
    options: &TestbedOptions,
    (folder, live): (&Path, &Live),
) -> Result<(Made, Option<Testbed>), Failure> {
    let (mut real, mut simulated, mut kept) = (Vec::new(), Vec::new(), None);
    for number in 1..=options.repeats.get() {
        // Each has keys, links and round trips of its own.
        let trace = options.trace(settings, folder, number);
        let testbed = start(settings, options, trace.as_ref())?;
        match measure(&testbed, live) {
            Ok(measured) => real.push(measured),
            Err(error) => {
                let ended = end(testbed, live);
                if matches!(error, Error::Network) {
                    ended?;
                }
                return Err(error.into());
            }
        }
        if options.keep {
            kept = Some(testbed);
        } else {
            end(testbed, live)?;
        }
        if options.compare {
            let outcome = simulate(settings, number.into(), live);
            let outcome = outcome.map_err(Failure::bad_input)?;
            simulated.push(outcome.ok_or(Error::Interrupted)?);
        }
    }
    let settings = settings.clone();
    let made = Made {
        settings,
        real,
        simulated,
    };
    Ok((made, kept))
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

fn save(folder: &Path, made: &Made, caller: &Caller) -> Result<(), Failure> {
    let mut measurements = vec![(Origin::Real, made.real.as_slice())];
    if !made.simulated.is_empty() {
        measurements.push((Origin::Simulated, &made.simulated));
    }
    Ok(write(
        folder,
        &made.settings,
        caller.command(),
        &measurements,
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
