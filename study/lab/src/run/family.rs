//! Jobs that have the beginning of their runs in common: those of a transport and its variants with
//! the same seed.

use std::sync::{Arc, Mutex};

use hopflow_units::Duration;

use super::Job;
use super::running::Running;

/// Whether two jobs have the beginning of their runs in common.
pub(super) fn is_one(one: &Job, other: &Job) -> bool {
    Arc::ptr_eq(&one.scenario, &other.scenario) && one.warm_up == other.warm_up
}

/// Simulated time of some jobs that have the beginning of their runs in common.
pub(super) fn simulated(jobs: &[Job], family: &[usize]) -> Duration {
    let scenario = &jobs[family[0]].scenario;
    let (all, runs) = (scenario.duration.0, family.len() as u64);
    let common = scenario.branch_at().unwrap_or_default();
    common + all.saturating_sub(common) * runs
}

/// A run on its way, with the seconds that it took so far.
#[derive(Clone, Debug)]
pub(super) struct Warm {
    pub(super) running: Running,
    pub(super) seconds: f64,
}

impl Warm {
    /// Takes a run on its way that others may take, too; the first has the seconds that it took.
    pub(super) fn take(warm: Arc<Mutex<Self>>) -> Self {
        match Arc::try_unwrap(warm) {
            Ok(last) => last.into_inner().expect("no thread panics with the lock"),
            Err(shared) => {
                let mut warm = shared.lock().expect("no thread panics with the lock");
                let taken = warm.clone();
                warm.seconds = 0.0;
                taken
            }
        }
    }
}
