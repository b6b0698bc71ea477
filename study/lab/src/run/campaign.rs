//! All runs of a scenario in one result folder.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hopflow_results::{Fingerprint, Folder, Manifest, RunEntry, RunKey};

use super::job::canonical_world;
use super::{Error, Job, Monitor, Threads, execute};
use crate::scenario::{InputError, Scenario, Source};

/// Runs to be made in one result folder.
#[derive(Debug)]
pub struct Campaign {
    jobs: Vec<Job>,
    manifest: Manifest,
    /// What the manifest's text was read from: the files that it names may lie beside it.
    file: String,
    /// Name of the folder that holds these results and no others.
    folder_name: String,
    /// Threads for each run, if that is not left to the program.
    each: Option<usize>,
}

/// The results of a campaign.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Where the results lie.
    pub folder: PathBuf,
    /// The runs in the order of the plan.
    pub runs: Vec<RunEntry>,
    /// The hash of all results, the same for any number of threads and on any machine.
    pub results: Fingerprint,
}

impl Campaign {
    /// The runs of a scenario.
    ///
    /// `text` is what the scenario was read from, `build` identifies the program beyond its version.
    ///
    /// # Errors
    /// If the scenario cannot be run.
    pub fn new(scenario: Scenario, text: &str, build: &str) -> Result<Self, Error> {
        let transports = serde_json::to_string(&scenario.transports);
        let transports = transports.expect("a scenario is plain data");
        let mut content = vec![canonical_world(&scenario), transports];
        content.extend(
            scenario
                .branch
                .as_ref()
                .map(|branch| serde_json::to_string(branch).expect("a scenario is plain data")),
        );
        let content: Vec<_> = content.iter().map(String::as_str).collect();
        let hash = Fingerprint::of(&content).to_string();
        let folder_name = format!("{}-{}", scenario.name, &hash[..8]);
        let name = scenario.name.clone();
        let about = Some(scenario.about.clone()).filter(|about| !about.is_empty());
        let mut campaign = Self::sweep(&name, text, vec![scenario], build)?;
        campaign.folder_name = folder_name;
        campaign.manifest.about = about;
        Ok(campaign)
    }

    /// The runs of several scenarios, one after the other.
    ///
    /// Together they are called `name`; `text` is what they were made from. Transports and seeds of the
    /// manifest are those of the first scenario; its list of runs has those of all.
    ///
    /// # Errors
    /// If a scenario cannot be run.
    pub fn sweep(
        name: &str,
        text: &str,
        scenarios: Vec<Scenario>,
        build: &str,
    ) -> Result<Self, Error> {
        let mut manifest = Manifest::new(env!("CARGO_PKG_VERSION"), name, text);
        manifest.build = Some(build.to_owned());
        if let Some(scenario) = scenarios.first() {
            manifest.transports = scenario.labels();
            manifest.seeds = scenario.seeds.list();
        }
        let mut jobs = Vec::new();
        for scenario in scenarios {
            jobs.extend(Job::plan(&Arc::new(scenario), build)?);
        }
        manifest.missing = NonZeroUsize::new(jobs.len());
        let folder_name = name.to_owned();
        Ok(Self {
            jobs,
            manifest,
            file: String::new(),
            folder_name,
            each: None,
        })
    }

    /// A result folder for what is computed from seeds without runs.
    ///
    /// It is called `name`; `text` is what it was made from.
    pub fn without_runs(name: &str, text: &str, seeds: &[u64]) -> Self {
        let mut manifest = Manifest::new(env!("CARGO_PKG_VERSION"), name, text);
        manifest.seeds = seeds.to_vec();
        Self {
            jobs: Vec::new(),
            manifest,
            file: String::new(),
            folder_name: name.to_owned(),
            each: None,
        }
    }

    /// Notes the file that the text was read from: files that the text names are looked for beside it
    /// first, else in the current folder, when a folder's results are compared with it.
    pub fn set_file(&mut self, file: &str) {
        file.clone_into(&mut self.file);
    }

    /// Notes the command that makes the results.
    pub fn set_command(&mut self, command: String) {
        self.manifest.command = Some(command);
    }

    /// Notes the commit that the program was built from, where that is known.
    pub fn set_commit(&mut self, commit: Option<&str>) {
        self.manifest.commit = commit.map(str::to_owned);
    }

    /// Makes each run use exactly so many threads, be there work for them or not, in order to show
    /// that results do not depend on it.
    pub fn split_runs(&mut self, threads: usize) {
        self.each = Some(threads);
    }

    /// The folder below `parent` that holds these results, whatever the seeds, and no others.
    pub fn default_folder(&self, parent: &Path) -> PathBuf {
        parent.join(&self.folder_name)
    }

    /// Claims `folder` for these runs, and tells which of them it does not hold yet.
    ///
    /// # Errors
    /// If the folder holds something else or cannot be written.
    pub fn missing(&self, folder: &Path) -> Result<Vec<&RunKey>, Error> {
        let folder = self.claim(folder)?;
        let keys = self.jobs.iter().map(|job| &job.key);
        Ok(keys.filter(|key| folder.finished(key).is_none()).collect())
    }

    /// Makes one run, unless `folder` holds it: that whose folder has this [name](RunKey::folder).
    ///
    /// Others may make other runs in the folder meanwhile; whoever claimed it lists them.
    ///
    /// # Errors
    /// If these runs have none of this name, the folder cannot be written, the user interrupts, or
    /// the run fails.
    pub fn make_one(
        &self,
        name: &str,
        folder: &Path,
        threads: usize,
        monitor: &dyn Monitor,
    ) -> Result<RunEntry, Error> {
        let Some(job) = self.jobs.iter().find(|job| job.key.folder() == name) else {
            return Err(Error::Input(InputError::new(format!(
                "there is no run {name} here; allowed is the same program on all machines, and the \
                 same files that scenarios name"
            ))));
        };
        let threads = Threads {
            all: Some(threads),
            each: self.each,
        };
        let folder = Folder::create(folder)?;
        let mut made = execute(std::slice::from_ref(job), &folder, threads, monitor)?;
        Ok(made.remove(0))
    }

    /// Makes the runs that `folder` does not hold yet.
    ///
    /// # Errors
    /// If the folder holds something else or cannot be written, the user interrupts, or runs fail;
    /// what was finished is kept and recognised.
    pub fn run(
        mut self,
        folder: &Path,
        threads: Option<usize>,
        monitor: &dyn Monitor,
    ) -> Result<Finished, Error> {
        let folder = self.claim(folder)?;
        let threads = Threads {
            all: threads,
            each: self.each,
        };
        let made = execute(&self.jobs, &folder, threads, monitor);
        if let Err(error) = made {
            self.list(&folder)?;
            return Err(error);
        }
        let runs = made?;
        self.manifest.runs.clone_from(&runs);
        self.manifest.missing = None;
        folder.write_manifest(&self.manifest)?;
        let hashes: Vec<_> = runs.iter().map(|run| run.results.to_string()).collect();
        let hashes: Vec<_> = hashes.iter().map(String::as_str).collect();
        Ok(Finished {
            folder: folder.path().to_owned(),
            results: Fingerprint::of(&hashes),
            runs,
        })
    }

    /// Writes a manifest of the runs that are finished.
    fn list(&mut self, folder: &Folder) -> Result<(), Error> {
        let finished = self.jobs.iter().filter_map(|job| folder.finished(&job.key));
        self.manifest.runs = finished.collect();
        let missing = self.jobs.len() - self.manifest.runs.len();
        self.manifest.missing = NonZeroUsize::new(missing);
        Ok(folder.write_manifest(&self.manifest)?)
    }

    /// The folder, made if needed, so that no other scenario mixes its runs with these.
    fn claim(&self, folder: &Path) -> Result<Folder, Error> {
        let is_new = self.check_folder(folder)?;
        let folder = Folder::create(folder)?;
        if is_new {
            folder.write_manifest(&self.manifest)?;
        }
        Ok(folder)
    }

    /// Whether the folder has no manifest yet.
    ///
    /// # Errors
    /// If it holds anything but results of the same scenario.
    fn check_folder(&self, folder: &Path) -> Result<bool, Error> {
        let occupied = |contents: String| Error::Occupied {
            folder: folder.to_owned(),
            contents,
        };
        if folder.is_file() {
            return Err(occupied("a file's content and is no folder".to_owned()));
        }
        let folder = Folder::open(folder);
        // Looked at before the manifest, which others may write meanwhile.
        let is_new = folder.is_new();
        match folder.read_manifest() {
            Ok(found) if self.is_same(&found) => Ok(false),
            Ok(found) => {
                let name = &found.scenario;
                Err(occupied(if *name == self.manifest.scenario {
                    format!("results of \"{name}\" as it was before it changed")
                } else {
                    format!("results of another scenario, \"{name}\"")
                }))
            }
            Err(hopflow_results::Error::Missing { .. }) if is_new => Ok(true),
            Err(hopflow_results::Error::Missing { .. }) => {
                Err(occupied("files but no results of hopflow".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the manifest is that of the same network, users and times.
    fn is_same(&self, found: &Manifest) -> bool {
        let world = |text: &str| {
            Scenario::parse(text, &self.file)
                .ok()
                .map(|scenario| canonical_world(&scenario))
        };
        let (text, other) = (&self.manifest.scenario_toml, &found.scenario_toml);
        found.scenario == self.manifest.scenario
            && (text == other || world(text).is_some_and(|text| Some(text) == world(other)))
    }
}

/// The text by which results are recorded whose circuits are from another file than `text` names.
///
/// It is `text`, which messages call `file`, with the circuit file of `scenario` in its place.
///
/// # Errors
/// If the text is no TOML.
pub fn text_with_circuits(
    text: &str,
    file: &str,
    scenario: &Scenario,
) -> Result<String, InputError> {
    let Some(Source::Circuits(circuits)) = &scenario.network.source else {
        return Ok(text.to_owned());
    };
    let circuits = ("network.source.circuits".to_owned(), circuits.clone());
    Scenario::with_values(text, file, &[circuits])
}
