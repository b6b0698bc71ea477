//! The schema of a result folder, its writers and readers.
//!
//! # A result folder
//! ```text
//! DIR/manifest.json                       what the folder holds: [`Manifest`]
//! DIR/runs/TRANSPORT-nNET-sSEED-HASH/     one folder per finished run: [`RunEntry`]
//!     run.json                            the run's entry, as in the manifest
//!     downloads.parquet                   [`Download`]
//!     open_requests.parquet               [`OpenRequest`], where downloads were not complete
//!     circuits.parquet                    [`Circuit`]
//!     samples.parquet                     [`Sample`]
//!     hops.parquet                        [`HopSample`]
//!     metrics.parquet                     [`Metric`], where layers of the transport measure some
//!     metric_units.parquet                [`MetricUnit`], likewise
//!     relays.parquet                      [`Relay`]
//!     links.parquet                       [`Link`]
//!     cross.parquet                       [`CrossFlow`]
//!     breakdown.parquet                   [`Part`], where it was recorded
//!     latencies.parquet                   [`Latency`], where it was recorded
//!     latency_classes.parquet             [`LatencyClass`], likewise
//!     nodes.parquet                       [`Node`], where the network is known
//!     paths.parquet                       [`PathNode`], likewise
//!     queues.parquet                      [`Queue`], where they were recorded
//!     deployments.parquet                 [`Deployment`], where a transport was rolled out
//!     traces.parquet                      [`Trace`], where it was recorded
//!     visits.parquet                      [`Visit`], where users visit pages
//!     failures.parquet                    [`Failure`], where downloads were broken off
//!     rebuilt.parquet                     [`NewCircuit`], where users had circuits anew
//!     faults.parquet                      [`Fault`], where relays had some
//!     circuit-N.qlog, NODE.pcapng         traces, where they were recorded: `docs/traces.md`
//! DIR/values.csv                          values of a reproduced figure: [`Value`]
//! DIR/sections/*.json                     sections that other programs add to the report
//! DIR/page.json                           what the page of another program was made from
//! ```
//! Parquet files are compressed with Snappy, and begin with the columns `transport`, `network` and
//! `seed`, so that one query spans all runs. Runs of earlier commands stay in the folder, with other
//! transports, seeds or programs: take those that the manifest lists, here in `DuckDB`:
//! ```sql
//! select transport, median(ttlb_s)
//! from read_parquet('DIR/runs/*/downloads.parquet', filename = true)
//! where filename in (
//!     select concat('DIR/', run.folder, '/downloads.parquet')
//!     from (select unnest(runs) as run from 'DIR/manifest.json'))
//! group by transport
//! ```
//! Columns that may be empty are optional in Parquet, NaN or null elsewhere. Units end the names of
//! columns: `_s` seconds, `_bytes`, `_cells`, `_bytes_per_s`.
//!
//! # Runs are kept and recognised
//! A [`RunKey`] holds all that decides a run's results. A run appears under its name only when it
//! is complete, so an interrupted campaign goes on where it stopped:
//! ```
//! # fn main() -> Result<(), hopflow_results::Error> {
//! # let temporary = tempfile::tempdir().unwrap();
//! # let path = temporary.path();
//! # let simulate = || hopflow_results::Tables::default();
//! use hopflow_results::{Folder, Manifest, RunKey};
//!
//! let (version, toml) = ("0.1.0", "name = \"star\"");
//! let folder = Folder::create(path)?;
//! let key = RunKey::new("backtap", 0, 1, &[toml, version]);
//! let entry = match folder.finished(&key) {
//!     Some(entry) => entry,
//!     None => folder.write_run(&key, &simulate(), 0.8)?,
//! };
//! let mut manifest = Manifest::new(version, "star", toml);
//! manifest.transports = vec!["backtap".to_owned()];
//! manifest.seeds = vec![1];
//! manifest.runs = vec![entry];
//! folder.write_manifest(&manifest)?;
//!
//! let manifest = Folder::open(path).read_manifest()?;
//! let tables = folder.read_run(&manifest.runs[0])?;
//! assert_eq!(tables.fingerprint(), manifest.runs[0].results);
//! # Ok(())
//! # }
//! ```
//! [`Tables::fingerprint`] hashes the rows and not the files, so two runs that should agree can be
//! compared by their hashes.

mod dictionary;
mod encode;
mod error;
mod fair;
mod field;
mod fingerprint;
mod folder;
mod key;
mod manifest;
mod requests;
mod rows;
mod run;
mod table;
mod values;

pub use dictionary::{ColumnEntry, TableEntry, dictionary};
pub use encode::EncodedTable;
pub use error::Error;
pub use fair::{jain_at_bottlenecks, max_min_index};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use folder::Folder;
pub use key::RunKey;
pub use manifest::{FORMAT, Manifest};
pub use requests::Requests;
pub use rows::{
    Cause, Circuit, Class, CrossFlow, Deployment, Direction, Download, FailCause, Failure, Fault,
    FaultKind, HopSample, Latency, LatencyClass, Link, Metric, MetricUnit, NewCircuit, Node,
    OpenRequest, Part, PathNode, Queue, Relay, Sample, Since, Stage, Trace, Transfer, Vantage,
    Visit,
};
pub use run::{RunEntry, TableFile, Tables, TraceFile};
pub use table::Row;
pub use values::{VALUE_COLUMNS, Value, Verdict};
