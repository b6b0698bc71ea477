//! Making all papers' figures and tables again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hopflow_reproductions::{Experiment, experiments};
use hopflow_results::Folder;

use crate::atlas::write_atlas;
use crate::failure::{Failure, Kind};
use crate::order::Order;
use crate::reproduce::{Reproduced, make, setting};
use crate::runner::{RESULTS, Runner};

/// All experiments, made again.
#[derive(Debug)]
pub struct AllReproduced {
    /// What was made.
    pub made: Vec<Reproduced>,
    /// What could not be made, by name, and why.
    pub failed: BTreeMap<&'static str, Failure>,
    /// The page that shows all of it.
    pub atlas: PathBuf,
}

impl AllReproduced {
    /// What is wrong, if more than data that nobody named are missing.
    ///
    /// # Errors
    /// If an experiment could not be made for another reason, or a file that `order` names is not there.
    pub fn check(&self, order: &Order) -> Result<(), Failure> {
        let excused =
            |failure: &Failure| failure.kind() == Kind::MissingData && order.circuits.is_none();
        let failed: Vec<_> = (self.failed.iter())
            .filter(|(_, failure)| !excused(failure))
            .collect();
        let Some((_, first)) = failed.first() else {
            return Ok(());
        };
        let mut kinds = failed.iter().map(|(_, failure)| failure.kind());
        let kind = kinds.find(|kind| *kind == Kind::Defect);
        let names: Vec<&str> = failed.iter().map(|(id, _)| **id).collect();
        let what = format!("{} could not be made; see above", names.join(", "));
        Err(Failure::new(kind.unwrap_or(first.kind()), what))
    }
}

/// Makes all experiments again, each in a folder of its own, and an atlas of them.
///
/// Seeds and circuits that an order names are left out where they mean nothing to an experiment.
/// `tell` hears at once of experiments that cannot be made, for want of data or by a defect; they do
/// not end the others. Finished runs are kept, so that after an interruption the same call makes what
/// is missing.
///
/// # Errors
/// If the folder holds results itself, the monitor interrupts, or the atlas cannot be written.
pub fn reproduce_all(runner: &Runner, tell: &dyn Fn(&str)) -> Result<AllReproduced, Failure> {
    reproduce_each(experiments(), runner, tell)
}

fn reproduce_each(
    experiments: &[&'static dyn Experiment],
    runner: &Runner,
    tell: &dyn Fn(&str),
) -> Result<AllReproduced, Failure> {
    let parent = runner.order.out.clone();
    let parent = parent.unwrap_or_else(|| PathBuf::from(RESULTS));
    check_parent(&parent)?;
    let (mut made, mut failed) = (Vec::new(), BTreeMap::new());
    for experiment in experiments {
        let setting = setting(runner.order).fitting(*experiment);
        let folder = Some(parent.join(experiment.id()));
        match make(*experiment, folder, &setting, runner) {
            Ok(reproduced) => made.push(reproduced),
            Err(failure) if failure.kind() == Kind::Interrupted => {
                failed.insert(experiment.id(), failure.clone());
                write_atlas(&parent, &parent, &failed)?;
                return Err(failure);
            }
            Err(failure) => {
                tell(&format!(
                    "{} is not made: {}",
                    experiment.id(),
                    failure.message()
                ));
                failed.insert(experiment.id(), failure);
            }
        }
    }
    let values: Vec<_> = made.iter().flat_map(|made| made.values.clone()).collect();
    Folder::create(&parent)?.write_values(&values)?;
    let atlas = write_atlas(&parent, &parent, &failed)?;
    Ok(AllReproduced {
        made,
        failed,
        atlas,
    })
}

/// What the folder of an experiment in Python has in place of a manifest.
const OF_PYTHON: &str = "experiment.json";

/// Refuses a folder that holds results itself, whose values and pages would be replaced.
///
/// # Errors
/// If there is such a folder, or it cannot be read.
fn check_parent(parent: &Path) -> Result<(), Failure> {
    let holds = match Folder::open(parent).read_manifest() {
        Ok(found) => format!("results of \"{}\"", found.scenario),
        Err(hopflow_results::Error::Missing { .. }) if parent.join(OF_PYTHON).is_file() => {
            "results of an experiment in Python".to_owned()
        }
        Err(hopflow_results::Error::Missing { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    Err(Failure::bad_input(format_args!(
        "{} holds {holds}, which are left as they are; allowed is a folder that is new, empty, or \
         holds a folder for each experiment: choose another (`out`)",
        parent.display(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Caller;
    use hopflow_lab::run::Silent;
    use hopflow_reproductions::find;
    use std::sync::Mutex;

    /// A file that stands for the program.
    const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

    fn order_in(folder: &Path) -> Order {
        Order {
            out: Some(folder.to_owned()),
            ..Order::default()
        }
    }

    fn make_each(
        ids: &[&str],
        order: &Order,
        tell: &dyn Fn(&str),
    ) -> Result<AllReproduced, Failure> {
        let runner = Runner {
            order,
            caller: &Caller::new("hopflow reproduce all", PROGRAM),
            monitor: &Silent,
        };
        let some: Vec<_> = ids.iter().map(|id| find(id).unwrap()).collect();
        reproduce_each(&some, &runner, tell)
    }

    #[test]
    fn what_cannot_be_made_is_a_line_and_does_not_end_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let order = Order {
            circuits: Some(folder.path().join("none.dat")),
            ..order_in(folder.path())
        };
        let lines = Mutex::new(Vec::new());
        let tell = |line: &str| lines.lock().unwrap().push(line.to_owned());
        let some = ["backtap-fig4", "predictor-fig3"];
        let all = make_each(&some, &order, &tell).unwrap();
        let lines = lines.into_inner().unwrap();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].starts_with("backtap-fig4 is not made: "),
            "{lines:?}"
        );
        assert_eq!(
            all.failed.keys().copied().collect::<Vec<_>>(),
            ["backtap-fig4"]
        );
        assert_eq!(all.made.len(), 1);
        assert_eq!(all.failed["backtap-fig4"].kind(), Kind::MissingData);
        assert_eq!(all.check(&Order::default()), Ok(()), "nobody named them");
        let named = all.check(&order).unwrap_err();
        assert_eq!(named.message(), "backtap-fig4 could not be made; see above");
        assert_eq!(named.kind(), Kind::MissingData);
        let page = std::fs::read_to_string(&all.atlas).unwrap();
        assert!(page.contains("href=\"predictor-fig3/report.html\""));
        assert!(page.contains("Not made: ") && page.contains("none.dat"));
        assert!(folder.path().join("values.csv").is_file());
    }

    #[test]
    fn a_folder_of_one_experiment_is_refused_before_the_first_run() {
        let folder = tempfile::tempdir().unwrap();
        let out = Folder::open(folder.path());
        let manifest = hopflow_results::Manifest::new("0", "predictor-fig3", "");
        out.write_manifest(&manifest).unwrap();
        out.write_extra("values.csv", "mine").unwrap();
        let order = order_in(folder.path());
        let failure = make_each(&["predictor-fig3"], &order, &|_| {}).unwrap_err();
        assert_eq!(failure.kind(), Kind::BadInput);
        let message = failure.message();
        let name = folder.path().display().to_string();
        assert!(message.starts_with(&name), "{message}");
        assert!(
            message.contains("results of \"predictor-fig3\""),
            "{message}"
        );
        assert!(message.contains("choose another (`out`)"), "{message}");
        assert!(!folder.path().join("predictor-fig3").exists());
        let values = out.read_extra("values.csv").unwrap();
        assert_eq!(values.as_deref(), Some("mine"));
    }

    #[test]
    fn a_folder_of_an_experiment_in_python_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        check_parent(folder.path()).unwrap();
        let out = Folder::open(folder.path());
        out.write_extra(OF_PYTHON, "{}").unwrap();
        let message = check_parent(folder.path())
            .unwrap_err()
            .message()
            .to_owned();
        assert!(message.contains("an experiment in Python"), "{message}");
    }

    #[test]
    fn only_missing_data_are_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let occupied = folder.path().join("predictor-fig3");
        std::fs::create_dir_all(&occupied).unwrap();
        std::fs::write(occupied.join("precious.txt"), "mine").unwrap();
        let order = order_in(folder.path());
        let all = make_each(&["predictor-fig3"], &order, &|_| {}).unwrap();
        let failure = all.check(&order).unwrap_err();
        assert_eq!(failure.kind(), Kind::BadInput);
        assert_eq!(
            failure.message(),
            "predictor-fig3 could not be made; see above"
        );
    }
}
