//! Making all papers' figures and tables again.

use std::collections::BTreeMap;
use std::path::PathBuf;

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
/// If the monitor interrupts, or the atlas cannot be written.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Caller;
    use hopflow_lab::run::Silent;
    use hopflow_reproductions::find;
    use std::sync::Mutex;

    /// A file that stands for the program.
    const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

    #[test]
    fn what_cannot_be_made_is_a_line_and_does_not_end_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let order = Order {
            out: Some(folder.path().to_owned()),
            circuits: Some(folder.path().join("none.dat")),
            ..Order::default()
        };
        let runner = Runner {
            order: &order,
            caller: &Caller::new("hopflow reproduce all", PROGRAM),
            monitor: &Silent,
        };
        let lines = Mutex::new(Vec::new());
        let tell = |line: &str| lines.lock().unwrap().push(line.to_owned());
        let some = ["backtap-fig4", "predictor-fig3"].map(|id| find(id).unwrap());
        let all = reproduce_each(&some, &runner, &tell).unwrap();
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
    fn only_missing_data_are_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let occupied = folder.path().join("predictor-fig3");
        std::fs::create_dir_all(&occupied).unwrap();
        std::fs::write(occupied.join("precious.txt"), "mine").unwrap();
        let order = Order {
            out: Some(folder.path().to_owned()),
            ..Order::default()
        };
        let runner = Runner {
            order: &order,
            caller: &Caller::new("hopflow reproduce all", PROGRAM),
            monitor: &Silent,
        };
        let some = [find("predictor-fig3").unwrap()];
        let all = reproduce_each(&some, &runner, &|_| {}).unwrap();
        let failure = all.check(&order).unwrap_err();
        assert_eq!(failure.kind(), Kind::BadInput);
        assert_eq!(
            failure.message(),
            "predictor-fig3 could not be made; see above"
        );
    }
}
