//! A result folder on disk.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fingerprint::Fingerprint;
use crate::key::RunKey;
use crate::manifest::{FORMAT, Manifest};
use crate::run::{RunEntry, TableFile, Tables};
use crate::table::{self, Row};
use crate::values::{self, Value};
use crate::{
    Circuit, CrossFlow, Deployment, Download, Error, Failure, Fault, HopSample, Latency,
    LatencyClass, Link, Metric, MetricUnit, NewCircuit, Node, OpenRequest, Part, PathNode, Queue,
    Relay, Sample, Trace, Visit,
};

const MANIFEST: &str = "manifest.json";
const VALUES: &str = "values.csv";
const RUNS: &str = "runs";
const ENTRY: &str = "run.json";

/// How the names of files in the making end; they begin with a dot.
const PARTIAL: &str = ".partial";

/// A result folder.
///
/// Everything is written under another name first and then renamed, so that what stands under its
/// name is complete. Different runs may be written at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The result folder at `path`, made if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let runs = path.join(RUNS);
        fs::create_dir_all(&runs).map_err(Error::io("create", &runs))?;
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// The result folder at `path`, to read from; nothing is made or checked.
    pub fn open(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Whether nobody has written results here: the folder is not there, or it holds nothing but an
    /// empty folder `runs` and files in the making, as while somebody claims it or after that failed.
    pub fn is_new(&self) -> bool {
        match fs::read_dir(&self.path) {
            Ok(entries) => entries.flatten().all(|entry| is_of_a_claim(&entry)),
            Err(_) => true,
        }
    }

    /// Where the folder lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The entry of the run with this key, if it finished before.
    ///
    /// A run whose files are missing or damaged counts as not finished: writing it again repairs it.
    pub fn finished(&self, key: &RunKey) -> Option<RunEntry> {
        let text = fs::read(self.run_path(key).join(ENTRY)).ok()?;
        let entry: RunEntry = serde_json::from_slice(&text).ok()?;
        let intact =
            |(table, file): (&String, &TableFile)| self.read_file(&entry, table, file).is_ok();
        let folder = self.run_path(key);
        let traced = |(name, checksum): (&String, &Fingerprint)| {
            fs::read(folder.join(name)).is_ok_and(|it| Fingerprint::of_bytes(&it) == *checksum)
        };
        let all = entry.files.iter().all(intact) && entry.traces.iter().all(traced);
        (entry.key == *key && all).then_some(entry)
    }

    /// Writes a finished run: all of it or, if interrupted, nothing.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_run(
        &self,
        key: &RunKey,
        tables: &Tables,
        wall_seconds: f64,
    ) -> Result<RunEntry, Error> {
        let path = self.run_path(key);
        let partial = path.with_file_name(format!(".{}{PARTIAL}", key.folder()));
        remove_folder(&partial)?;
        fs::create_dir_all(&partial).map_err(Error::io("create", &partial))?;
        let files = write_tables(key, tables, &partial)?;
        let mut traces = BTreeMap::new();
        for file in &tables.trace_files {
            write_file(&partial.join(&file.name), &file.bytes)?;
            traces.insert(file.name.clone(), Fingerprint::of_bytes(&file.bytes));
        }
        let entry = RunEntry {
            key: key.clone(),
            folder: format!("{RUNS}/{}", key.folder()),
            results: tables.fingerprint(),
            wall_seconds,
            files,
            traces,
        };
        write_file(&partial.join(ENTRY), &json(&entry))?;
        remove_folder(&path)?;
        fs::rename(&partial, &path).map_err(Error::io("rename to", &path))?;
        Ok(entry)
    }

    /// Reads all tables of a run, and no traces.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn read_run(&self, entry: &RunEntry) -> Result<Tables, Error> {
        Ok(Tables {
            downloads: self.read_table::<Download>(entry)?,
            open_requests: self.read_optional::<OpenRequest>(entry)?,
            breakdown: self.read_optional::<Part>(entry)?,
            circuits: self.read_table::<Circuit>(entry)?,
            samples: self.read_table::<Sample>(entry)?,
            hops: self.read_table::<HopSample>(entry)?,
            metrics: self.read_optional::<Metric>(entry)?,
            metric_units: self.read_optional::<MetricUnit>(entry)?,
            relays: self.read_table::<Relay>(entry)?,
            links: self.read_table::<Link>(entry)?,
            cross: self.read_table::<CrossFlow>(entry)?,
            latencies: self.read_optional::<Latency>(entry)?,
            latency_classes: self.read_optional::<LatencyClass>(entry)?,
            queues: self.read_optional::<Queue>(entry)?,
            deployments: self.read_optional::<Deployment>(entry)?,
            traces: self.read_optional::<Trace>(entry)?,
            visits: self.read_optional::<Visit>(entry)?,
            failures: self.read_optional::<Failure>(entry)?,
            rebuilt: self.read_optional::<NewCircuit>(entry)?,
            faults: self.read_optional::<Fault>(entry)?,
            nodes: self.read_optional::<Node>(entry)?,
            paths: self.read_optional::<PathNode>(entry)?,
            trace_files: Vec::new(),
        })
    }

    /// Reads one table of a run, chosen by its row type.
    ///
    /// # Errors
    /// If the file is missing or damaged.
    pub fn read_table<R: Row>(&self, entry: &RunEntry) -> Result<Vec<R>, Error> {
        let Some(file) = entry.files.get(R::TABLE) else {
            let reason = format!("the run {} lists no table `{}`", entry.folder, R::TABLE);
            return Err(Error::damaged(&self.path.join(MANIFEST), reason));
        };
        let (path, bytes) = self.read_file(entry, R::TABLE, file)?;
        let rows = table::decode(bytes).map_err(|reason| Error::damaged(&path, reason))?;
        if rows.len() as u64 != file.rows {
            let reason = format!("it holds {} rows instead of {}", rows.len(), file.rows);
            return Err(Error::damaged(&path, reason));
        }
        Ok(rows)
    }

    /// Reads a table that only some runs have; empty for others.
    ///
    /// # Errors
    /// If the file is missing or damaged.
    pub fn read_optional<R: Row>(&self, entry: &RunEntry) -> Result<Vec<R>, Error> {
        match entry.files.get(R::TABLE) {
            Some(_) => self.read_table(entry),
            None => Ok(Vec::new()),
        }
    }

    /// Where a table's file lies, and its bytes if they are those that were written.
    fn read_file(
        &self,
        entry: &RunEntry,
        table: &str,
        file: &TableFile,
    ) -> Result<(PathBuf, Vec<u8>), Error> {
        let folder = entry
            .folder
            .split('/')
            .fold(self.path.clone(), |path, name| path.join(name));
        let path = folder.join(&file.name);
        let expected = format!("the table `{table}` of a run");
        let bytes = fs::read(&path).map_err(Error::reading(&path, &expected))?;
        let found = Fingerprint::of_bytes(&bytes);
        // Checked before anything else, because a decoder may trust what a damaged file claims.
        if found != file.checksum {
            let reason = format!(
                "its checksum is {found}, it was written with {}",
                file.checksum
            );
            return Err(Error::damaged(&path, reason));
        }
        Ok((path, bytes))
    }

    /// Writes the manifest.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), Error> {
        replace_file(&self.path.join(MANIFEST), &json(manifest))
    }

    /// Reads the manifest.
    ///
    /// # Errors
    /// If the file is missing, damaged, or of another format.
    pub fn read_manifest(&self) -> Result<Manifest, Error> {
        let path = self.path.join(MANIFEST);
        let expected = "what the folder holds, and is written by `hopflow run`";
        let text = fs::read(&path).map_err(Error::reading(&path, expected))?;
        // Other formats may lack what this one needs, so the number comes first.
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|e| Error::damaged(&path, e))?;
        let found = value.get("format").and_then(serde_json::Value::as_u64);
        match found.and_then(|format| u32::try_from(format).ok()) {
            Some(FORMAT) => serde_json::from_value(value).map_err(|e| Error::damaged(&path, e)),
            Some(found) => Err(Error::Format {
                path,
                found,
                supported: FORMAT,
            }),
            None => Err(Error::damaged(&path, "`format` must be a whole number")),
        }
    }

    /// Writes `values.csv`.
    ///
    /// # Errors
    /// If a number is not finite or the file cannot be written.
    pub fn write_values(&self, values: &[Value]) -> Result<(), Error> {
        let path = self.path.join(VALUES);
        let text = values::encode(&path, values)?;
        fs::create_dir_all(&self.path).map_err(Error::io("create", &self.path))?;
        replace_file(&path, &text)
    }

    /// Takes `values.csv` away, if there is one: what it says is of earlier runs.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove_values(&self) -> Result<(), Error> {
        let path = self.path.join(VALUES);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Reads `values.csv`.
    ///
    /// # Errors
    /// If the file is missing or damaged.
    pub fn read_values(&self) -> Result<Vec<Value>, Error> {
        let path = self.path.join(VALUES);
        let expected = "a figure's values, and is written by `hopflow reproduce`";
        let text = fs::read(&path).map_err(Error::reading(&path, expected))?;
        values::decode(&path, &text)
    }

    /// Writes a text file that belongs to the results, beside the manifest.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_extra(&self, name: &str, text: &str) -> Result<(), Error> {
        replace_file(&self.path.join(name), text.as_bytes())
    }

    /// Reads such a file, if there is one.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn read_extra(&self, name: &str) -> Result<Option<String>, Error> {
        let path = self.path.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    /// The error that such a file does not hold what it should.
    pub fn damaged(&self, name: &str, reason: impl std::fmt::Display) -> Error {
        Error::damaged(&self.path.join(name), reason)
    }

    fn run_path(&self, key: &RunKey) -> PathBuf {
        self.path.join(RUNS).join(key.folder())
    }
}

/// Writes the tables of a run into its folder; returns their files.
fn write_tables(
    key: &RunKey,
    tables: &Tables,
    folder: &Path,
) -> Result<BTreeMap<String, TableFile>, Error> {
    let mut files = BTreeMap::new();
    for (table, encoded) in tables.encode(key, |_| true, folder)? {
        let name = format!("{table}.parquet");
        write_file(&folder.join(&name), &encoded.bytes)?;
        let file = TableFile {
            name,
            rows: encoded.rows,
            checksum: Fingerprint::of_bytes(&encoded.bytes),
        };
        files.insert(table.to_owned(), file);
    }
    Ok(files)
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain data has a JSON form");
    text.push(b'\n');
    text
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::write(path, bytes).map_err(Error::io("write", path))
}

/// Whether this is in a folder of which the manifest is not written yet.
fn is_of_a_claim(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    if name == RUNS {
        return fs::read_dir(entry.path()).is_ok_and(|mut runs| runs.next().is_none());
    }
    let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
    is_file && name.starts_with('.') && name.ends_with(PARTIAL)
}

/// Puts a file in the place of another in one step; on failure, that one stays as it is.
fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let (partial, mut file) = new_partial(path)?;
    let written = file.write_all(bytes).map_err(Error::io("write", path));
    drop(file);
    let replaced =
        written.and_then(|()| fs::rename(&partial, path).map_err(Error::io("rename to", path)));
    if replaced.is_err() {
        // Why it failed is told already.
        let _ = fs::remove_file(&partial);
    }
    replaced
}

/// A new file beside `path`, which only its maker writes: others may write `path` at the same time,
/// also on other machines.
fn new_partial(path: &Path) -> Result<(PathBuf, File), Error> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().expect("a file has a name");
    let name = name.to_string_lossy();
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let partial = format!(".{name}.{}-{number}{PARTIAL}", process::id());
        let partial = path.with_file_name(partial);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&partial)
        {
            Ok(file) => return Ok((partial, file)),
            // It is of a process with the same number on another machine, or was left behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io("write", path)(error)),
        }
    }
}

fn remove_folder(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path)(e)),
        _ => Ok(()),
    }
}
