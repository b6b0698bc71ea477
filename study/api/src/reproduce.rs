//! Making a paper's figure or table again.

use std::path::{Path, PathBuf};

use hopflow_lab::run::Campaign;
use hopflow_report::{Axis, Code, FigurePage};
use hopflow_reproductions::{Experiment, Reproduction, Setting, experiments, find};
use hopflow_results::{Folder, Manifest, Value};

use crate::failure::Failure;
use crate::order::Order;
use crate::runner::{RESULTS, Runner};

/// Makes an experiment again and writes its report.
///
/// # Errors
/// If there is no such experiment, the monitor interrupts, or runs fail; finished runs are kept.
pub fn reproduce(id: &str, runner: &Runner) -> Result<Reproduced, Failure> {
    let experiment = find(id)?;
    let planned = Reproduction::plan(experiment, &setting(runner.order), &runner.caller.build())?;
    make(experiment, planned, runner.order.out.clone(), runner)
}

/// Makes all experiments again whose data are there; `skipped` hears of the others.
///
/// # Errors
/// If the monitor interrupts, or runs fail; finished runs are kept.
pub fn reproduce_all(runner: &Runner, skipped: &dyn Fn(&str)) -> Result<Vec<Reproduced>, Failure> {
    let order = runner.order;
    let mut made = Vec::new();
    for experiment in experiments() {
        let planned = Reproduction::plan(*experiment, &setting(order), &runner.caller.build());
        let planned = match planned {
            Err(error) => {
                skipped(&format!("{} is skipped: {error}", experiment.id()));
                continue;
            }
            Ok(planned) => planned,
        };
        let folder = order.out.as_ref().map(|out| out.join(experiment.id()));
        made.push(make(*experiment, planned, folder, runner)?);
    }
    let parent = order.out.clone();
    let parent = parent.unwrap_or_else(|| PathBuf::from(RESULTS));
    let values: Vec<_> = made.iter().flat_map(|made| made.values.clone()).collect();
    Folder::open(&parent).write_values(&values)?;
    Ok(made)
}

/// An experiment that was made again.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// What readers must know if there are fewer networks than the experiment has.
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

fn setting(order: &Order) -> Setting {
    Setting {
        seeds: order.seeds.map(Into::into),
        circuits: order.circuits.clone(),
    }
}

fn make(
    experiment: &'static dyn Experiment,
    mut planned: (Reproduction, Campaign),
    mut folder: Option<PathBuf>,
    runner: &Runner,
) -> Result<Reproduced, Failure> {
    let order = runner.order;
    let (reproduction, finished, values) = loop {
        let (reproduction, campaign) = planned;
        let folder = folder.get_or_insert_with(|| campaign.default_folder(Path::new(RESULTS)));
        let finished = runner.campaign(campaign, folder)?;
        let values = reproduction.evaluate(&finished)?;
        match reproduction
            .networks_wanted(&values)
            .filter(|_| order.seeds.is_none())
        {
            None => break (reproduction, finished, values),
            seeds => {
                let more = Setting {
                    seeds,
                    ..setting(order)
                };
                planned = Reproduction::plan(experiment, &more, &runner.caller.build())?;
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
pub(crate) fn rewrite(manifest: &Manifest, folder: &Path) -> Result<Option<PathBuf>, Failure> {
    let Ok(experiment) = find(&manifest.scenario) else {
        return Ok(None);
    };
    if experiment.scenario() != manifest.scenario_toml {
        return Ok(None);
    }
    let setting = Setting {
        seeds: u32::try_from(manifest.seeds.len()).ok(),
        circuits: None,
    };
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
    let description = reproduction.description();
    let code = |caption: &str, text: &str| Code {
        caption: caption.to_owned(),
        text: text.to_owned(),
    };
    let seeds = format!("{:?}", manifest.seeds);
    let command = manifest.command.as_deref().unwrap_or("hopflow reproduce");
    let page = FigurePage {
        title: description.title.clone(),
        subtitle: description.source.clone(),
        x: Some(Axis::new(&description.x.label, &description.x.unit)),
        prose: reproduction
            .provisional()
            .into_iter()
            .chain(description.notes.iter().cloned())
            .collect(),
        origin: vec![
            code("Command", command),
            code(
                "Version and seeds",
                &format!("hopflow {}, seeds {seeds}", manifest.hopflow),
            ),
            code("Scenario", &manifest.scenario_toml),
        ],
    };
    let document = reproduction.page(&page, values);
    Ok(hopflow_report::write(&document, folder)?.page)
}
