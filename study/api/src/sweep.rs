//! Sweeping the design space.

mod page;

use std::path::{Path, PathBuf};

use hopflow_lab::run::Finished;
use hopflow_lab::sweep::{FILE, Picture, Setting, Sweep};
use hopflow_results::{Folder, Manifest};

use crate::failure::Failure;
use crate::order::Order;
use crate::runner::{RESULTS, Runner, check_finished};

/// A sweep whose runs are made, with its report.
#[derive(Clone, Debug)]
pub struct Swept {
    /// The runs.
    pub finished: Finished,
    /// What the sweep found.
    pub picture: Picture,
    /// The page of the report.
    pub page: PathBuf,
}

/// Plans the points of a scenario, given by its file or built-in name. What the order says of seeds and
/// circuits goes before the setting.
///
/// # Errors
/// If the scenario cannot be read, a value or metric is unknown, or no point can be run.
pub fn plan(scenario: &str, setting: Setting, order: &Order) -> Result<Sweep, Failure> {
    let setting = Setting {
        seeds: order.seeds.map(Into::into).or(setting.seeds),
        circuits: order.circuits.clone().or(setting.circuits),
        ..setting
    };
    Ok(Sweep::plan(scenario, &setting)?)
}

/// Runs the points of a sweep and writes the report.
///
/// # Errors
/// If the monitor interrupts, or runs fail; finished runs are kept.
pub fn sweep(sweep: &Sweep, runner: &Runner) -> Result<Swept, Failure> {
    let campaign = sweep.campaign(&runner.caller.build()?)?;
    let folder = runner.order.out.clone();
    let folder = folder.unwrap_or_else(|| sweep.default_folder(Path::new(RESULTS)));
    let finished = runner.campaign(campaign, &folder)?;
    let picture = sweep.evaluate(&finished)?;
    let manifest = Folder::open(&finished.folder).read_manifest()?;
    let page = write(&picture, &manifest, &finished.folder)?;
    Ok(Swept {
        finished,
        picture,
        page,
    })
}

/// Writes the page of a sweep from its files, if the folder is one of a sweep.
///
/// # Errors
/// If these are damaged or of an earlier command than the manifest.
pub(crate) fn rewrite(manifest: &Manifest, folder: &Path) -> Result<Option<PathBuf>, Failure> {
    let Some(picture) = Picture::read(&Folder::open(folder))? else {
        return Ok(None);
    };
    check_finished(manifest, folder, FILE)?;
    write(&picture, manifest, folder).map(Some)
}

fn write(picture: &Picture, manifest: &Manifest, folder: &Path) -> Result<PathBuf, Failure> {
    let command = manifest.command.as_deref().unwrap_or("hopflow sweep");
    let document = page::page(picture, command, &manifest.hopflow);
    Ok(hopflow_report::write(&document, folder)?.page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use hopflow_lab::run::Silent;
    use hopflow_lab::sweep::Chosen;

    const TEXT: &str = r#"
name = "tiny"
duration = "3 s"
warm-up = "1 s"
seeds = 1
[transports.vanilla]
[[network.relays]]
name = "relay"
count = 3
[[circuits]]
path = ["relay", "relay"]
workload = { class = "bulk", response = "100 KiB" }
"#;

    #[test]
    fn a_sweep_has_a_page_that_can_be_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("tiny.toml");
        std::fs::write(&scenario, TEXT).unwrap();
        let order = Order {
            out: Some(folder.path().join("out")),
            ..Order::default()
        };
        let setting = Setting {
            chosen: Chosen {
                end_to_end: vec!["window".to_owned()],
                scheduler: vec!["round-robin".to_owned()],
                ..Chosen::default()
            },
            ..Setting::default()
        };
        let planned = plan(scenario.to_str().unwrap(), setting, &order).unwrap();
        let runner = Runner {
            order: &order,
            caller: &Caller::new(
                "hopflow sweep",
                concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            ),
            monitor: &Silent,
        };
        let swept = sweep(&planned, &runner).unwrap();
        let document = page::page(&swept.picture, "hopflow sweep", "0");
        assert_eq!(document.sections.len(), 4);
        let [hopflow_report::Block::Table(table)] = &document.sections[1].blocks[..] else {
            panic!("no table of points");
        };
        assert!(table.caption.contains("the warm-up included"));
        let written = std::fs::read(&swept.page).unwrap();
        let results = &swept.finished.folder;
        let anew = crate::report::write_report(results).unwrap();
        assert_eq!(std::fs::read(anew).unwrap(), written);

        let mut manifest = Folder::open(results).read_manifest().unwrap();
        manifest.command = Some("hopflow sweep --seeds 2".to_owned());
        manifest.missing = std::num::NonZeroUsize::new(1);
        Folder::open(results).write_manifest(&manifest).unwrap();
        let failure = crate::report::write_report(results).unwrap_err();
        let message = failure.message();
        assert!(
            message.contains("`hopflow sweep --seeds 2` did not finish"),
            "{message}"
        );
        assert!(message.contains("sweep.json"), "{message}");
    }
}
