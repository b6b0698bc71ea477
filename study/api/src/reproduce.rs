//! Making a paper's figure or table again.

use std::path::{Path, PathBuf};

use hopflow_report::{Axis, Code, FigurePage};
use hopflow_reproductions::{Description, Experiment, Reproduction, Setting, find};
use hopflow_results::{Folder, Manifest, Value};

use crate::failure::Failure;
use crate::order::Order;
use crate::runner::{RESULTS, Runner, check_finished};

/// Makes an experiment again and writes its report.
///
/// # Errors
/// If there is no such experiment, the monitor interrupts, or runs fail; finished runs are kept.
pub fn reproduce(id: &str, runner: &Runner) -> Result<Reproduced, Failure> {
    let folder = runner.order.out.clone();
    make(find(id)?, folder, &setting(runner.order), runner)
}

/// An experiment that was made again.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// What readers must know if a variant has fewer networks than the experiment says.
    pub provisional: Option<String>,
    /// The values next to the paper's.
    pub values: Vec<Value>,
    /// Where the results lie.
    pub folder: PathBuf,
    /// The page of the report.
    pub page: PathBuf,
    /// The hash of the results.
    pub hash: String,
}

pub(crate) fn setting(order: &Order) -> Setting {
    Setting {
        seeds: order.seeds.map(Into::into),
        circuits: order.circuits.clone(),
    }
}

/// Makes an experiment again, in `folder` or where it belongs by default.
pub(crate) fn make(
    experiment: &'static dyn Experiment,
    mut folder: Option<PathBuf>,
    setting: &Setting,
    runner: &Runner,
) -> Result<Reproduced, Failure> {
    let build = runner.caller.build()?;
    let mut planned = Reproduction::plan(experiment, setting, &build)?;
    let (reproduction, finished, values) = loop {
        let (reproduction, campaign) = planned;
        let folder = folder.get_or_insert_with(|| campaign.default_folder(Path::new(RESULTS)));
        let finished = runner.campaign(campaign, folder)?;
        // If what follows fails, nothing is taken for the values of this call.
        Folder::open(&finished.folder).remove_values()?;
        let values = reproduction.evaluate(&finished)?;
        match reproduction
            .networks_wanted(&values)
            .filter(|_| setting.seeds.is_none())
        {
            None => break (reproduction, finished, values),
            seeds => {
                let more = Setting {
                    seeds,
                    ..setting.clone()
                };
                planned = Reproduction::plan(experiment, &more, &build)?;
            }
        }
    };
    let hash = reproduction.fingerprint(&finished, &values).to_string();
    let folder = finished.folder;
    let manifest = Folder::open(&folder).read_manifest()?;
    let page = write_page(&reproduction, &manifest, &values, &folder)?;
    Ok(Reproduced {
        id: experiment.id(),
        title: reproduction.description().title.clone(),
        provisional: reproduction.provisional(),
        values,
        folder,
        page,
        hash,
    })
}

/// Writes the page of an experiment from its files, if the folder is one of an experiment.
///
/// # Errors
/// If these are missing, damaged, or of an earlier command than the manifest.
pub(crate) fn rewrite(manifest: &Manifest, folder: &Path) -> Result<Option<PathBuf>, Failure> {
    let Ok(experiment) = find(&manifest.scenario) else {
        return Ok(None);
    };
    let Some(setting) = Setting::recorded(experiment, manifest) else {
        return Ok(None);
    };
    check_finished(manifest, folder, "values.csv")?;
    let (reproduction, _) = Reproduction::plan(experiment, &setting, "")?;
    let values = Folder::open(folder).read_values()?;
    write_page(&reproduction, manifest, &values, folder).map(Some)
}

fn write_page(
    reproduction: &Reproduction,
    manifest: &Manifest,
    values: &[Value],
    folder: &Path,
) -> Result<PathBuf, Failure> {
    let seeds = format!("{:?}", manifest.seeds_of_runs());
    let command = manifest.command.as_deref().unwrap_or("hopflow reproduce");
    let origin = vec![
        code("Command", command),
        code(
            "Version and seeds",
            &format!("hopflow {}, seeds {seeds}", manifest.hopflow),
        ),
        code("Scenario", &manifest.scenario_toml),
    ];
    let mut page = figure_page(reproduction.description(), origin);
    page.prose.splice(0..0, reproduction.provisional());
    let document = reproduction.page(&page, values);
    Ok(hopflow_report::write(&document, folder)?.page)
}

/// What the page of an experiment says beside its values.
pub(crate) fn figure_page(description: &Description, origin: Vec<Code>) -> FigurePage {
    FigurePage {
        title: description.title.clone(),
        subtitle: description.source.clone(),
        x: Some(Axis::new(&description.x.label, &description.x.unit)),
        prose: description.notes.clone(),
        origin,
    }
}

pub(crate) fn code(caption: &str, text: &str) -> Code {
    Code {
        caption: caption.to_owned(),
        text: text.to_owned(),
        file: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hopflow_results::{Fingerprint, RunEntry, RunKey};

    use super::*;

    fn run(seed: u64) -> RunEntry {
        RunEntry {
            key: RunKey::new("joint", seed as u32, seed, &[]),
            folder: String::new(),
            results: Fingerprint::of(&[]),
            wall_seconds: 0.0,
            files: BTreeMap::new(),
            traces: BTreeMap::new(),
        }
    }

    #[test]
    fn a_page_is_about_the_seeds_of_all_runs_and_not_of_the_first_variant() {
        let folder = tempfile::tempdir().unwrap();
        Folder::open(folder.path()).write_values(&[]).unwrap();
        let experiment = find("joint").unwrap();
        let mut manifest = Manifest::new("0", experiment.id(), experiment.scenario());
        manifest.seeds = (1001..=1005).collect();
        let mut page = |seeds: std::ops::RangeInclusive<u64>| {
            manifest.runs = seeds.map(run).collect();
            let page = rewrite(&manifest, folder.path()).unwrap().unwrap();
            std::fs::read_to_string(page).unwrap()
        };
        let whole = page(1001..=1020);
        assert!(whole.contains("1019, 1020]"));
        assert!(!whole.contains("Provisional"));
        let cut = page(1001..=1002);
        assert!(cut.contains("seeds [1001, 1002]"));
        assert!(cut.contains("Provisional: 2 of the 20 networks"));
    }

    #[test]
    fn values_of_an_earlier_command_are_no_page_of_one_that_did_not_finish() {
        let folder = tempfile::tempdir().unwrap();
        let experiment = find("predictor-fig3").unwrap();
        let mut manifest = Manifest::new("0", experiment.id(), experiment.scenario());
        manifest.seeds = vec![1];
        Folder::open(folder.path()).write_values(&[]).unwrap();
        assert!(rewrite(&manifest, folder.path()).unwrap().is_some());

        manifest.command = Some("hopflow reproduce predictor-fig3 --seeds 2".to_owned());
        manifest.missing = std::num::NonZeroUsize::new(1);
        let failure = rewrite(&manifest, folder.path()).unwrap_err();
        let message = failure.message();
        assert!(message.contains("--seeds 2` did not finish"), "{message}");
        assert!(message.contains("values.csv"), "{message}");
    }
}
