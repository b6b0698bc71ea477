//! Measurements in result folders.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::Path;

use hopflow_results::{
    Circuit, Class, Error, Folder, HopSample, Manifest, OpenRequest, Relay, RunKey, Sample, Tables,
};
use hopflow_units::{Bytes, Duration};

use crate::measured::{Download, HopState, Measured, Moment, RelayTotals, Unfinished, last_end};
use crate::settings::{PATH, Settings};

/// The name that the manifests of testbeds' result folders give as their scenario.
pub const SCENARIO: &str = "testbed";

/// A cell, and the data in it, by which the results' format reckons rates.
const CELL: f64 = hopflow_wire::CELL as f64 / hopflow_wire::CELL_DATA as f64;

/// How a measurement was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Over real sockets.
    Real,
    /// In the simulator.
    Simulated,
}

impl Origin {
    /// What results of a transport are called.
    pub fn label(self, transport: &str) -> String {
        match self {
            Self::Real => format!("{transport} for real"),
            Self::Simulated => format!("{transport} simulated"),
        }
    }
}

/// Writes measurements with the same settings to a result folder, and how many of the command are missing. Results of
/// an earlier testbed in it are replaced: the folders of its runs go, and nothing else.
///
/// # Errors
/// If the folder cannot be written, or what is replaced cannot be removed.
pub fn write(
    path: &Path,
    settings: &Settings,
    command: &str,
    measurements: &[(Origin, &[Measured])],
    missing: usize,
) -> Result<(), Error> {
    let folder = Folder::create(path)?;
    let old = folder.read_manifest().map_or(Vec::new(), |old| old.runs);
    let text = settings.to_toml();
    let version = env!("CARGO_PKG_VERSION");
    let mut manifest = Manifest::new(version, SCENARIO, &text);
    manifest.command = Some(command.to_owned());
    manifest.about = Some(settings.describe());
    let repeats = measurements.iter().map(|(_, repeats)| repeats.len());
    manifest.seeds = (1..=repeats.max().unwrap_or(0) as u64).collect();
    manifest.missing = NonZeroUsize::new(missing);
    for (origin, repeats) in measurements {
        let label = origin.label(&settings.transport);
        for (number, measured) in (1u32..).zip(*repeats) {
            let key = RunKey::new(&label, number, number.into(), &[&text, version]);
            let seconds = measured.span.as_secs_f64();
            let entry = folder.write_run(&key, &tables(settings, measured), seconds)?;
            manifest.runs.push(entry);
        }
        manifest.transports.push(label);
    }
    folder.write_manifest(&manifest)?;
    // Last: whatever fails here, what was measured is kept.
    let stays = |key: &RunKey| manifest.runs.iter().any(|run| run.key == *key);
    for run in old.iter().filter(|run| !stays(&run.key)) {
        remove_run(path, &run.key)?;
    }
    Ok(())
}

/// Removes a run where [`Folder::write_run`] puts it, whatever folder the manifest names.
fn remove_run(path: &Path, key: &RunKey) -> Result<(), Error> {
    let run = path.join("runs").join(key.folder());
    match fs::remove_dir_all(&run) {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(Error::Io {
            path: run,
            action: "remove",
            source,
        }),
        _ => Ok(()),
    }
}

/// Reads what [`write()`] wrote: the settings, and the measurements for real and simulated.
///
/// # Errors
/// If the folder holds something else.
pub fn read(path: &Path) -> Result<(Settings, [Vec<Measured>; 2]), Error> {
    let folder = Folder::open(path);
    let manifest = folder.read_manifest()?;
    let settings =
        Settings::from_toml(&manifest.scenario_toml).map_err(|error| Error::Damaged {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
    let of = |origin: Origin| {
        let label = origin.label(&settings.transport);
        let runs = manifest.runs.iter();
        runs.filter(|run| run.key.transport == label)
            .map(|run| Ok(measured(&settings, &folder.read_run(run)?)))
            .collect::<Result<_, Error>>()
    };
    let both = [of(Origin::Real)?, of(Origin::Simulated)?];
    Ok((settings, both))
}

/// A measurement as the tables of a run. What is not known of a real overlay stays empty: the
/// latencies of single cells, what links carried, and rates that would be fair.
fn tables(settings: &Settings, measured: &Measured) -> Tables {
    let downloads = measured.downloads.iter().map(|it| {
        let (circuit, request) = place(settings, it.number);
        hopflow_results::Download {
            circuit,
            class: Class::Bulk,
            request,
            start_s: it.start.as_secs_f64(),
            ttfb_s: it.ttfb.as_secs_f64(),
            ttlb_s: it.ttlb.as_secs_f64(),
            bytes: it.bytes.get(),
        }
    });
    let samples = measured.moments.iter().map(|it| Sample {
        circuit: it.circuit,
        t_s: it.at.as_secs_f64(),
        packaged_bytes: it.packaged.get(),
        delivered_bytes: it.delivered.get(),
    });
    let hops = measured.hops.iter().map(|it| HopSample {
        circuit: it.circuit,
        hop: it.hop,
        t_s: it.at.as_secs_f64(),
        queue_cells: it.queue.get(),
        outstanding_cells: it.outstanding.get(),
        window_cells: it.window.map(hopflow_units::Cells::get),
    });
    let relays = measured.relays.iter().map(|it| Relay {
        name: it.name.clone(),
        cells_sent: it.sent,
        cells_retransmitted: it.resent,
        cells_dropped: it.dropped,
        largest_queue_cells: it.largest_queue,
        utilisation: None,
    });
    Tables {
        downloads: downloads.collect(),
        open_requests: open_requests(settings, measured),
        circuits: (0..settings.circuits())
            .map(|circuit| self::circuit(circuit, settings, measured))
            .collect(),
        samples: samples.collect(),
        hops: hops.collect(),
        relays: relays.collect(),
        ..Tables::default()
    }
}

/// The circuit of the download of a number, and its place there.
const fn place(settings: &Settings, number: u32) -> (u32, u32) {
    if settings.shared {
        (0, number)
    } else {
        (number, 0)
    }
}

/// The number of the download at this place.
const fn number(settings: &Settings, (circuit, request): (u32, u32)) -> u32 {
    if settings.shared { request } else { circuit }
}

/// Downloads that were cut off.
fn open_requests(settings: &Settings, measured: &Measured) -> Vec<OpenRequest> {
    let unfinished = measured.unfinished.iter();
    let open = unfinished.map(|it| {
        let (circuit, request) = place(settings, it.number);
        OpenRequest {
            circuit,
            class: Class::Bulk,
            request,
            start_s: it.start.as_secs_f64(),
            waited_s: it.waited.as_secs_f64(),
            ttfb_s: it.ttfb.map(Duration::as_secs_f64),
            bytes: it.bytes.get(),
        }
    });
    open.collect()
}

/// What a circuit did until its last download was complete or cut off.
fn circuit(circuit: u32, settings: &Settings, measured: &Measured) -> Circuit {
    let is_its = |number: u32| place(settings, number).0 == circuit;
    let downloads = || measured.downloads.iter().filter(|it| is_its(it.number));
    let unfinished = || measured.unfinished.iter().filter(|it| is_its(it.number));
    let moments = || measured.moments.iter().filter(|it| it.circuit == circuit);
    let delivered: u64 = downloads().map(|it| it.bytes.get()).sum::<u64>()
        + unfinished().map(|it| it.bytes.get()).sum::<u64>();
    let span = last_end(downloads(), unfinished()).unwrap_or(measured.span);
    let span = span.as_secs_f64();
    let waiting = moments().map(|it| it.packaged.saturating_sub(it.delivered).as_f64());
    let (samples, waiting) = (moments().count(), waiting.sum::<f64>());
    let last = moments().next_back();
    let goodput = delivered as f64 / span;
    let goodput = if goodput.is_finite() { goodput } else { 0.0 };
    Circuit {
        circuit,
        hops: PATH as u32,
        class: Class::Bulk,
        packaged_bytes: last.map_or(0, |it| it.packaged.get()).max(delivered),
        delivered_bytes: last.map_or(0, |it| it.delivered.get()).max(delivered),
        rate_bytes_per_s: goodput * CELL,
        goodput_bytes_per_s: goodput,
        fair_bytes_per_s: None,
        bottleneck: None,
        backlog_mean_bytes: (samples > 0).then(|| waiting / samples as f64),
        latency_mean_s: None,
        latency_p50_s: None,
        latency_p95_s: None,
        closed: false,
    }
}

/// The downloads that were cut off. Folders of older programs do not list them: what came of them is not
/// known there, and they waited as long as was allowed.
fn unfinished(settings: &Settings, tables: &Tables) -> Vec<Unfinished> {
    let span = Duration::from_secs_f64;
    let open = tables.open_requests.iter();
    let open = open.map(|it| Unfinished {
        number: number(settings, (it.circuit, it.request)),
        start: span(it.start_s),
        waited: span(it.waited_s),
        ttfb: it.ttfb_s.map(span),
        bytes: Bytes::new(it.bytes),
    });
    let mut found: Vec<_> = open.collect();
    let complete = tables.downloads.iter();
    let complete = complete.map(|it| number(settings, (it.circuit, it.request)));
    let listed: BTreeSet<_> = complete.chain(found.iter().map(|it| it.number)).collect();
    let missing = (0..settings.downloads).filter(|number| !listed.contains(number));
    found.extend(missing.map(|number| Unfinished {
        number,
        start: Duration::ZERO,
        waited: settings.duration.unwrap_or_default(),
        ttfb: None,
        bytes: Bytes::ZERO,
    }));
    found
}

/// The measurement that tables were made from.
fn measured(settings: &Settings, tables: &Tables) -> Measured {
    let span = Duration::from_secs_f64;
    let cells = hopflow_units::Cells::new;
    let downloads: Vec<_> = tables
        .downloads
        .iter()
        .map(|it| Download {
            number: number(settings, (it.circuit, it.request)),
            start: span(it.start_s),
            ttfb: span(it.ttfb_s),
            ttlb: span(it.ttlb_s),
            bytes: Bytes::new(it.bytes),
        })
        .collect();
    let unfinished = unfinished(settings, tables);
    let moments = tables.samples.iter().map(|it| Moment {
        at: span(it.t_s),
        circuit: it.circuit,
        packaged: Bytes::new(it.packaged_bytes),
        delivered: Bytes::new(it.delivered_bytes),
    });
    let hops = tables.hops.iter().map(|it| HopState {
        at: span(it.t_s),
        circuit: it.circuit,
        hop: it.hop,
        queue: cells(it.queue_cells),
        outstanding: cells(it.outstanding_cells),
        window: it.window_cells.map(cells),
    });
    let relays = tables.relays.iter().map(|it| RelayTotals {
        name: it.name.clone(),
        sent: it.cells_sent,
        resent: it.cells_retransmitted,
        dropped: it.cells_dropped,
        largest_queue: it.largest_queue_cells,
    });
    Measured {
        span: last_end(downloads.iter(), unfinished.iter()).unwrap_or(Duration::ZERO),
        unfinished,
        moments: moments.collect(),
        hops: hops.collect(),
        relays: relays.collect(),
        downloads,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unwatched;

    #[test]
    fn measurements_are_read_as_they_were_written() {
        let settings = Settings {
            downloads: 2,
            size: Bytes::new(100_000),
            ..Settings::default()
        };
        let simulated = crate::simulate(&settings, 1, &Unwatched).unwrap().unwrap();
        assert_eq!(simulated.downloads.len(), 2);
        let folder = tempfile::tempdir().unwrap();
        let twice = vec![simulated.clone(), simulated.clone()];
        let both = [
            (Origin::Real, twice.as_slice()),
            (Origin::Simulated, &twice[..1]),
        ];
        for _ in 0..2 {
            write(folder.path(), &settings, "hopflow testbed", &both, 0).unwrap();
        }
        let (read_settings, [real, again]) = read(folder.path()).unwrap();
        assert_eq!(read_settings, settings);
        assert_eq!((real.len(), again.len()), (2, 1));
        assert_eq!(again[0], simulated);
    }

    #[test]
    fn only_folders_of_runs_are_removed_whatever_a_manifest_says() {
        let outside = tempfile::tempdir().unwrap();
        let path = outside.path().join("results");
        let precious = outside.path().join("precious");
        fs::create_dir(&precious).unwrap();
        let absolute = precious.to_str().unwrap();
        let once = [Measured::default()];
        let measurements = [(Origin::Real, once.as_slice())];
        let save =
            |settings: &Settings| write(&path, settings, "hopflow testbed", &measurements, 0);
        for (downloads, named) in (1..).zip([absolute, "../precious", ""]) {
            let settings = Settings {
                downloads,
                ..Settings::default()
            };
            save(&settings).unwrap();
            let folder = Folder::open(&path);
            let mut manifest = folder.read_manifest().unwrap();
            let old = path.join(&manifest.runs[0].folder);
            named.clone_into(&mut manifest.runs[0].folder);
            folder.write_manifest(&manifest).unwrap();
            save(&Settings::default()).unwrap();
            assert!(precious.is_dir(), "{named:?}");
            assert!(!old.exists(), "{named:?}");
            assert!(read(&path).is_ok(), "{named:?}");
        }
    }

    #[test]
    fn downloads_that_were_cut_off_are_written_and_read() {
        for shared in [false, true] {
            let settings = Settings {
                downloads: 2,
                shared,
                ..Settings::default()
            };
            let second = Duration::from_secs(1);
            let measured = Measured {
                downloads: vec![Download {
                    number: 0,
                    start: Duration::ZERO,
                    ttfb: second,
                    ttlb: second,
                    bytes: Bytes::new(1000),
                }],
                unfinished: vec![Unfinished {
                    number: 1,
                    start: Duration::ZERO,
                    waited: second * 2,
                    ttfb: None,
                    bytes: Bytes::new(500),
                }],
                span: second * 2,
                ..Measured::default()
            };
            let tables = tables(&settings, &measured);
            assert_eq!(tables.open_requests.len(), 1);
            let goodput = tables.circuits.last().unwrap().goodput_bytes_per_s;
            assert_eq!(goodput, if shared { 750.0 } else { 250.0 });
            assert_eq!(super::measured(&settings, &tables), measured);
        }
    }
}
