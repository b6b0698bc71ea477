//! `hopflow reproduce`.

use std::path::{Path, PathBuf};

use hopflow_lab::run::Campaign;
use hopflow_report::{Axis, Code, FigurePage};
use hopflow_reproductions::{Experiment, Reproduction, Setting, experiments, find};
use hopflow_results::{Folder, Manifest, Value, Verdict};
use serde_json::json;

use crate::args::RunOptions;
use crate::caller::Caller;
use crate::fail::Failure;
use crate::making::{Making, Order};
use crate::progress::Progress;
use crate::{run, show};

/// Makes an experiment, or all of them, again.
pub(crate) fn reproduce(id: &str, options: &RunOptions, caller: &Caller) -> Result<(), Failure> {
    let progress = Progress::new();
    let making = Making {
        order: &options.order,
        caller,
        monitor: &progress,
    };
    let made = match id {
        "all" => make_all(&making, &progress),
        id => make_named(id, &making).map(|made| vec![made]),
    };
    progress.clear();
    let made = made?;
    if options.json {
        return show::print_json(&made.iter().map(Made::json).collect());
    }
    for made in made {
        show::print(&made.text())?;
    }
    Ok(())
}

/// Makes an experiment again; returns the folder.
pub(crate) fn make_one(id: &str, making: &Making) -> Result<PathBuf, Failure> {
    Ok(make_named(id, making)?.folder)
}

fn make_named(id: &str, making: &Making) -> Result<Made, Failure> {
    let experiment = find(id)?;
    let planned = Reproduction::plan(experiment, &setting(making.order), &making.caller.build())?;
    make(experiment, planned, making.order.out.clone(), making)
}

/// Makes all experiments whose data are there.
fn make_all(making: &Making, progress: &Progress) -> Result<Vec<Made>, Failure> {
    let order = making.order;
    let mut made = Vec::new();
    for experiment in experiments() {
        let planned = Reproduction::plan(*experiment, &setting(order), &making.caller.build());
        let planned = match planned {
            Err(error) => {
                progress.say(&format!("{} is skipped: {error}", experiment.id()));
                continue;
            }
            Ok(planned) => planned,
        };
        let folder = order.out.as_ref().map(|out| out.join(experiment.id()));
        made.push(make(*experiment, planned, folder, making)?);
    }
    let parent = order.out.clone();
    let parent = parent.unwrap_or_else(|| PathBuf::from(run::RESULTS));
    let values: Vec<_> = made.iter().flat_map(|made| made.values.clone()).collect();
    Folder::open(&parent).write_values(&values)?;
    Ok(made)
}

/// An experiment that was made again.
struct Made {
    id: &'static str,
    title: String,
    provisional: Option<String>,
    values: Vec<Value>,
    folder: PathBuf,
    page: PathBuf,
    hash: String,
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
    making: &Making,
) -> Result<Made, Failure> {
    let order = making.order;
    let (reproduction, finished, values) = loop {
        let (reproduction, campaign) = planned;
        let folder = folder.get_or_insert_with(|| campaign.default_folder(Path::new(run::RESULTS)));
        let finished = making.campaign(campaign, folder)?;
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
                planned = Reproduction::plan(experiment, &more, &making.caller.build())?;
            }
        }
    };
    let hash = reproduction.fingerprint(&finished, &values).to_string();
    let folder = finished.folder;
    let manifest = Folder::open(&folder).read_manifest()?;
    let page = write_page(&reproduction, &manifest, &values, &folder)?;
    Ok(Made {
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

impl Made {
    /// How many values of each curve have which verdict, for curves that the paper tells about.
    fn verdicts(&self) -> Vec<(String, [usize; 3])> {
        let mut rows: Vec<(String, [usize; 3])> = Vec::new();
        for value in &self.values {
            let column = match value.verdict {
                Verdict::Reproduced => 0,
                Verdict::SameShape => 1,
                Verdict::NotReproduced => 2,
                Verdict::NotJudged => continue,
            };
            let name = format!("{}, {}", value.quantity, value.transport);
            if rows.last().is_none_or(|(last, _)| *last != name) {
                rows.push((name, [0; 3]));
            }
            let (_, counts) = rows.last_mut().expect("a row was added if there was none");
            counts[column] += 1;
        }
        rows
    }

    fn text(&self) -> String {
        let header = [
            "values by verdict",
            "reproduced",
            "same shape",
            "not reproduced",
        ];
        let rows = self.verdicts().into_iter().map(|(name, counts)| {
            let counts = counts.iter().map(|count| match count {
                0 => String::new(),
                count => count.to_string(),
            });
            std::iter::once(name).chain(counts).collect()
        });
        let not_judged = self
            .values
            .iter()
            .filter(|value| value.verdict == Verdict::NotJudged);
        format!(
            "{}{}\n\n{}\n{} more values have nothing to be compared with.\n\nvalues   {}\nreport   {}\nhash     {}\n",
            self.title,
            self.provisional
                .as_ref()
                .map_or(String::new(), |text| format!("\n{text}")),
            show::table(&header, rows),
            not_judged.count(),
            self.folder.join("values.csv").display(),
            self.page.display(),
            self.hash,
        )
    }

    fn json(&self) -> serde_json::Value {
        let values = self.values.iter().map(|value| {
            json!({
                "figure": value.figure,
                "quantity": value.quantity,
                "unit": value.unit,
                "transport": value.transport,
                "x": value.x,
                "n": value.n,
                "mean": value.mean,
                "ci_low": value.ci_low,
                "ci_high": value.ci_high,
                "paper": value.paper,
                "band_low": value.band_low,
                "band_high": value.band_high,
                "verdict": value.verdict.to_string(),
            })
        });
        json!({
            "experiment": self.id,
            "folder": self.folder.display().to_string(),
            "report": self.page.display().to_string(),
            "results": self.hash,
            "values": values.collect::<Vec<_>>(),
        })
    }
}
