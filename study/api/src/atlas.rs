//! The atlas of reproductions: one page on what all experiments found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hopflow_report::{Atlas, AtlasEntry, AtlasFound};
use hopflow_reproductions::{Expectations, Experiment, experiments, in_python};
use hopflow_results::{Folder, Manifest, Value};

use crate::failure::Failure;
use crate::reproduce::{code, figure_page};

/// The page of an experiment in its folder.
const PAGE: &str = "report.html";
/// How a committed record was made.
const RECORD: &str = "record.json";

/// Writes the atlas of a folder as `OUT/index.html`, with a page for each experiment in `OUT/ID`.
///
/// `folder` holds a folder for each experiment: what `reproduce all` wrote, or records, which have
/// `values.csv` and say in `record.json` how they were made.
///
/// # Errors
/// If values are damaged or a file cannot be written.
pub fn atlas(folder: &Path, out: &Path) -> Result<PathBuf, Failure> {
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(Failure::bad_input(format!(
            "{folder} is no folder; `hopflow reproduce all` makes one with results"
        )));
    }
    let atlas = read_atlas(folder, None, &BTreeMap::new())?;
    if atlas.experiments.iter().all(|entry| entry.found.is_err()) {
        let folder = folder.display();
        return Err(Failure::bad_input(format!(
            "{folder} holds no experiment; `hopflow reproduce all` makes a folder with results"
        )));
    }
    write_atlas(folder, out, &BTreeMap::new())
}

/// The same, where some experiments could not be made: of these the folder may hold earlier values,
/// which are not shown.
pub(crate) fn write_atlas(
    folder: &Path,
    out: &Path,
    failed: &BTreeMap<&'static str, Failure>,
) -> Result<PathBuf, Failure> {
    Ok(read_atlas(folder, Some(out), failed)?.write(out)?)
}

/// What an atlas of `folder` shows; pages of experiments are written to `out`, if given.
fn read_atlas(
    folder: &Path,
    out: Option<&Path>,
    failed: &BTreeMap<&'static str, Failure>,
) -> Result<Atlas, Failure> {
    let mut entries = Vec::new();
    for experiment in experiments() {
        let id = experiment.id();
        let expectations = Expectations::parse(experiment.data(), id)?;
        let description = expectations.description();
        let unmade = || format!("Not made yet: `hopflow reproduce {id}` makes it.");
        let mut found = match failed.get(id) {
            Some(failure) => Err(format!("Not made: {}", failure.message())),
            None => read(&folder.join(id))?.ok_or_else(unmade),
        };
        if let (Ok(found), Some(out)) = (&mut found, out) {
            let write = |folder: &Path| write_page(*experiment, &expectations, found, folder);
            found.page = page(id, folder, out, write)?;
        }
        entries.push(AtlasEntry {
            id: id.to_owned(),
            title: description.title.clone(),
            paper: paper(id).map(str::to_owned),
            percentiles: description.x.unit == "%" && description.x.label == "Percentile",
            found,
        });
    }
    for experiment in in_python() {
        let id = experiment.id;
        let mut found =
            read(&folder.join(id))?.ok_or_else(|| format!("Not made yet: {}.", experiment.how()));
        if let (Ok(found), Some(out)) = (&mut found, out) {
            found.page = page(id, folder, out, |_| Ok(false))?;
        }
        entries.push(AtlasEntry {
            id: id.to_owned(),
            title: experiment.title.to_owned(),
            paper: paper(id).map(str::to_owned),
            percentiles: false,
            found,
        });
    }
    Ok(Atlas {
        subtitle: "Every figure and table of the papers that hopflow makes again: what it found \
                   beside what the paper says, with verdicts that can fail."
            .to_owned(),
        experiments: entries,
    })
}

/// The paper that an experiment is of; `None` of an evaluation of ours against goals.
fn paper(id: &str) -> Option<&'static str> {
    Some(match id.split('-').next().unwrap_or(id) {
        "backtap" => "BackTap",
        "marut" => "Marut",
        "predictor" => "PredicTor",
        "switching" => "Circuit switching",
        "guidelines" => "Overlay transport guidelines",
        "gan" => "Adversarial nets",
        "joint" => return None,
        _ => "hopflow",
    })
}

/// The values in the folder of an experiment, and how they were made; `None` if there are none, or
/// only those of an earlier command than the last, which did not finish.
fn read(folder: &Path) -> Result<Option<AtlasFound>, Failure> {
    let results = Folder::open(folder);
    let values = match results.read_values() {
        Err(hopflow_results::Error::Missing { .. }) => return Ok(None),
        values => values?,
    };
    let mut found = AtlasFound {
        values,
        ..AtlasFound::default()
    };
    if let Some(record) = results.read_extra(RECORD)? {
        let record: serde_json::Value =
            serde_json::from_str(&record).map_err(|error| results.damaged(RECORD, error))?;
        found.made_by = format!("commit {}", record["commit"].as_str().unwrap_or("unknown"));
        found.seconds = record["seconds"].as_f64();
    } else if let Ok(manifest) = results.read_manifest() {
        if manifest.missing.is_some() {
            return Ok(None);
        }
        found.made_by = format!("hopflow {}", manifest.hopflow);
        found.seconds = seconds(&manifest);
    }
    Ok(Some(found))
}

/// How long the runs took, one after the other; `None` if there were none.
fn seconds(manifest: &Manifest) -> Option<f64> {
    let seconds = manifest.runs.iter().map(|run| run.wall_seconds).sum();
    (!manifest.runs.is_empty()).then_some(seconds)
}

/// Sees to the page of an experiment in `out`, and says where it is, relative to `out`: the one that
/// came with the results, or what `write` makes of the values.
fn page(
    id: &str,
    folder: &Path,
    out: &Path,
    write: impl FnOnce(&Path) -> Result<bool, Failure>,
) -> Result<Option<String>, Failure> {
    let (made, wanted) = (folder.join(id).join(PAGE), out.join(id).join(PAGE));
    let there = if made.is_file() {
        if made != wanted {
            copy(&made, &wanted)?;
        }
        true
    } else {
        write(&out.join(id))?
    };
    Ok(there.then(|| format!("{id}/{PAGE}")))
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::bad_input(format!("{} cannot be written: {error}", to.display()));
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).map_err(failed)?;
    let text = fs::read_to_string(from).map_err(failed)?;
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    Ok(Folder::open(folder).write_extra(&name, &text)?)
}

/// Writes the page of an experiment from its values alone.
fn write_page(
    experiment: &dyn Experiment,
    expectations: &Expectations,
    found: &AtlasFound,
    folder: &Path,
) -> Result<bool, Failure> {
    let origin = vec![
        code("Command", &format!("hopflow reproduce {}", experiment.id())),
        code("Version", &found.made_by),
        code("Scenario", experiment.scenario()),
    ];
    let page = figure_page(expectations.description(), origin);
    let values: &[Value] = &found.values;
    hopflow_report::write(&experiment.page(&page, values), folder)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts of the README are made by another program, from the same records.
    #[test]
    fn the_atlas_of_the_committed_records_has_the_counts_of_the_readme() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let records = root.join("study/reproductions/records");
        let atlas = read_atlas(&records, None, &BTreeMap::new()).unwrap();
        let made = atlas.made();
        let [values, claims] = atlas.counts();
        let readme = fs::read_to_string(root.join("README.md")).unwrap();
        let rows = [
            format!(
                "| values | {} | {} | {} |",
                values.reproduced, values.not_reproduced, values.undecided
            ),
            format!(
                "| claims | {} | {} | {} |",
                claims.reproduced, claims.not_reproduced, claims.undecided
            ),
            format!(
                "These are {made} of {} experiments",
                atlas.of_papers().count()
            ),
        ];
        for row in rows {
            assert!(readme.contains(&row), "the README lacks \"{row}\"");
        }
    }

    #[test]
    fn an_atlas_of_records_is_one_page_and_a_page_for_each_experiment() {
        let record = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../study/reproductions/records/marut-fig8");
        let temporary = tempfile::tempdir().unwrap();
        let (folder, out) = (temporary.path().join("in"), temporary.path().join("out"));
        for file in ["values.csv", RECORD] {
            copy(&record.join(file), &folder.join("marut-fig8").join(file)).unwrap();
        }
        let page = fs::read_to_string(atlas(&folder, &out).unwrap()).unwrap();
        assert_eq!(
            page.matches("<tr data-order=").count(),
            experiments().len() + in_python().len()
        );
        assert!(page.contains("href=\"marut-fig8/report.html\""));
        assert!(out.join("marut-fig8/report.html").is_file());
        let message = atlas(&folder.join("none"), &out).unwrap_err();
        assert!(message.message().contains("is no folder"), "{message:?}");
    }

    #[test]
    fn values_of_an_earlier_command_are_not_shown_for_one_that_failed() {
        let record = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../study/reproductions/records/marut-fig8");
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("marut-fig8");
        copy(&record.join("values.csv"), &folder.join("values.csv")).unwrap();
        let found = |failed: &BTreeMap<&'static str, Failure>| {
            let atlas = read_atlas(temporary.path(), None, failed).unwrap();
            let mut entries = atlas.experiments.into_iter();
            entries
                .find(|entry| entry.id == "marut-fig8")
                .unwrap()
                .found
        };
        assert!(found(&BTreeMap::new()).is_ok());
        let failed = BTreeMap::from([("marut-fig8", Failure::defect("a run failed"))]);
        assert_eq!(found(&failed).unwrap_err(), "Not made: a run failed");

        let mut manifest = Manifest::new("0", "marut-fig8", "");
        manifest.missing = std::num::NonZeroUsize::new(2);
        Folder::open(&folder).write_manifest(&manifest).unwrap();
        let unmade = found(&BTreeMap::new()).unwrap_err();
        assert!(unmade.starts_with("Not made yet"), "{unmade}");
    }
}
