//! Making runs on all cores.

use std::any::Any;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hopflow_results::{Folder, RunEntry, RunKey, Tables};
use hopflow_units::Duration;
use rayon::ThreadPoolBuilder;

use super::family::{self, Warm};
use super::running::Running;
use super::{Error, Job, memory};

/// Watches runs, and may interrupt them. Called from several threads.
pub trait Monitor: Sync {
    /// Work begins: of `planned` runs, `kept` are finished already; `simulated` time is to pass.
    fn begin(&self, planned: usize, kept: usize, simulated: Duration);

    /// Runs came forward by this much simulated time.
    fn advanced(&self, simulated: Duration);

    /// A run was finished.
    fn finished(&self, run: &RunEntry);

    /// Whether the user wants to stop.
    fn interrupted(&self) -> bool;

    /// Seconds of wall time since some moment, for the record only.
    fn seconds(&self) -> f64;
}

/// A monitor that shows nothing and never interrupts.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Monitor for Silent {
    fn begin(&self, _: usize, _: usize, _: Duration) {}

    fn advanced(&self, _: Duration) {}

    fn finished(&self, _: &RunEntry) {}

    fn interrupted(&self) -> bool {
        false
    }

    fn seconds(&self) -> f64 {
        0.0
    }
}

/// On how many threads runs are made. Results do not depend on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Threads {
    /// All runs together; all cores for `None`. Many runs are made side by side on a thread each,
    /// few on up to several threads each.
    pub all: Option<usize>,
    /// Each run: exactly so many, be there work for them or not.
    pub each: Option<usize>,
}

/// Makes the runs that `folder` does not hold yet.
///
/// Returns the entries of all runs, in the order of `jobs`. Results do not depend on the number
/// of threads.
///
/// # Errors
/// If a run does not fit into memory, the user interrupts, runs fail, or the folder cannot be written;
/// what was finished is kept.
pub fn execute(
    jobs: &[Job],
    folder: &Folder,
    threads: Threads,
    monitor: &dyn Monitor,
) -> Result<Vec<RunEntry>, Error> {
    let mut entries: Vec<_> = jobs.iter().map(|job| folder.finished(&job.key)).collect();
    let missing: Vec<_> = (0..jobs.len()).filter(|n| entries[*n].is_none()).collect();
    let families: Vec<_> = missing
        .chunk_by(|a, b| family::is_one(&jobs[*a], &jobs[*b]))
        .collect();
    let simulated = families
        .iter()
        .map(|family| family::simulated(jobs, family));
    let simulated = simulated.fold(Duration::ZERO, |sum, duration| sum + duration);
    monitor.begin(jobs.len(), jobs.len() - missing.len(), simulated);
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let all = threads.all.unwrap_or_else(cores);
    let fitting = memory::that_fit(missing.iter().map(|n| &jobs[*n]))?.unwrap_or(all);
    let shared = Shared {
        jobs,
        keep: &|key, tables, seconds| folder.write_run(key, tables, seconds),
        monitor,
        all,
        each: threads.each,
        fitting,
        left: AtomicUsize::new(families.len()),
        stop: AtomicBool::new(false),
        made: Mutex::new(Vec::new()),
    };
    shared.make_all(families, all.min(fitting).min(missing.len().max(1)));
    for (n, entry) in shared.into_made()? {
        entries[n] = Some(entry);
    }
    let finished: Vec<_> = entries.into_iter().flatten().collect();
    if finished.len() < jobs.len() {
        let (finished, planned) = (finished.len(), jobs.len());
        return Err(Error::Interrupted { finished, planned });
    }
    Ok(finished)
}

/// Makes one run on so many threads, and hands its tables and its wall time in seconds to `keep`.
///
/// # Errors
/// If the user interrupts, the run fails, or `keep` does.
pub fn execute_one(
    job: &Job,
    threads: usize,
    monitor: &dyn Monitor,
    keep: &Keep<'_>,
) -> Result<RunEntry, Error> {
    let shared = Shared {
        jobs: std::slice::from_ref(job),
        keep,
        monitor,
        all: threads,
        each: None,
        fitting: 1,
        left: AtomicUsize::new(1),
        stop: AtomicBool::new(false),
        made: Mutex::new(Vec::new()),
    };
    shared.make(0, || shared.begin(0));
    let made = shared.into_made()?.pop();
    made.map(|(_, entry)| entry).ok_or(Error::Interrupted {
        finished: 0,
        planned: 1,
    })
}

/// What becomes of a run's tables.
pub type Keep<'a> =
    dyn Fn(&RunKey, &Tables, f64) -> Result<RunEntry, hopflow_results::Error> + Sync + 'a;

/// What the threads share.
struct Shared<'a> {
    jobs: &'a [Job],
    keep: &'a Keep<'a>,
    monitor: &'a dyn Monitor,
    /// Threads for all runs together, and for each.
    all: usize,
    each: Option<usize>,
    /// Runs that fit into memory side by side.
    fitting: usize,
    /// Runs that are not finished, of those that can be made now.
    left: AtomicUsize,
    /// Whether nothing more is to be begun.
    stop: AtomicBool,
    made: Mutex<Vec<(usize, Result<RunEntry, Failure>)>>,
}

/// Why a run is missing.
enum Failure {
    Folder(hopflow_results::Error),
    Defect(String),
}

impl Shared<'_> {
    /// The runs that were made, by the numbers of their jobs, unless one failed.
    fn into_made(self) -> Result<Vec<(usize, RunEntry)>, Error> {
        let made = self.made.into_inner();
        let (mut entries, mut failures) = (Vec::new(), Vec::new());
        for (n, made) in made.expect("no thread panics with the lock") {
            match made {
                Ok(entry) => entries.push((n, entry)),
                Err(Failure::Folder(error)) => return Err(error.into()),
                Err(Failure::Defect(text)) => failures.push((n, text)),
            }
        }
        if failures.is_empty() {
            return Ok(entries);
        }
        failures.sort();
        let texts = failures.into_iter().map(|(_, text)| text);
        Err(Error::Failed(texts.collect()))
    }

    /// Makes all runs, family by family, on so many threads.
    fn make_all(&self, families: Vec<&[usize]>, threads: usize) {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads can be started");
        // First in, first out: with few threads as with many, runs are made in the order of the plan.
        pool.scope_fifo(|scope| {
            for family in families {
                scope.spawn_fifo(move |_| self.make_family(family));
            }
        });
    }

    /// Makes runs that have their beginning in common, which is run once. It ends when they are made:
    /// the next family waits, with what it would keep in memory.
    fn make_family(&self, family: &[usize]) {
        let &[first, _, ..] = family else {
            return family.iter().for_each(|&n| self.make(n, || self.begin(n)));
        };
        let begun = self.monitor.seconds();
        let warm = guarded(|| self.warm_up(first));
        let seconds = self.monitor.seconds() - begun;
        let warm = match warm {
            Ok(Some(running)) => running,
            Ok(None) => return,
            Err(failure) => return self.note(first, Err(failure)),
        };
        self.left.fetch_add(family.len() - 1, Ordering::Relaxed);
        let warm = Arc::new(Mutex::new(Warm {
            running: warm,
            seconds,
        }));
        rayon::scope_fifo(move |scope| {
            for &n in family {
                let warm = Arc::clone(&warm);
                scope.spawn_fifo(move |_| self.make(n, || Ok(Warm::take(warm))));
            }
        });
    }

    fn make(&self, n: usize, begin: impl FnOnce() -> Result<Warm, Failure>) {
        if self.stopped() {
            return;
        }
        match guarded(|| self.simulate(&self.jobs[n], begin()?)) {
            Ok(None) => {}
            Ok(Some(entry)) => {
                self.monitor.finished(&entry);
                self.note(n, Ok(entry));
            }
            Err(failure) => self.note(n, Err(failure)),
        }
    }

    /// Notes what became of a run.
    fn note(&self, n: usize, made: Result<RunEntry, Failure>) {
        let key = &self.jobs[n].key;
        let made = made.map_err(|failure| match failure {
            Failure::Defect(text) => {
                let (transport, seed) = (&key.transport, key.seed);
                Failure::Defect(format!("{transport} with seed {seed}: {text}"))
            }
            folder @ Failure::Folder(_) => {
                self.stop.store(true, Ordering::Relaxed);
                folder
            }
        });
        self.left.fetch_sub(1, Ordering::Relaxed);
        self.made
            .lock()
            .expect("no thread panics with the lock")
            .push((n, made));
    }

    /// Threads for a run that begins: when fewer runs are left, or fit into memory, than there are
    /// threads, each has several.
    fn threads_for_one(&self) -> usize {
        let side_by_side = self.left.load(Ordering::Relaxed).clamp(1, self.fitting);
        self.all / side_by_side
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.monitor.interrupted()
    }

    /// The run of a job, which begins.
    fn begin(&self, n: usize) -> Result<Warm, Failure> {
        let running = Running::new(&self.jobs[n]);
        let running = running.map_err(|error| Failure::Defect(error.to_string()))?;
        let seconds = 0.0;
        Ok(Warm { running, seconds })
    }

    /// Runs a job until its variants part; `None` if it was stopped.
    fn warm_up(&self, n: usize) -> Result<Option<Running>, Failure> {
        let Warm { mut running, .. } = self.begin(n)?;
        running.set_threads(self.threads_for_one(), self.each);
        let at = self.jobs[n].scenario.branch_at();
        Ok(running
            .run(at, &|time| self.advanced(time))
            .then_some(running))
    }

    /// Tells that runs came forward, and whether to go on.
    fn advanced(&self, time: Duration) -> ControlFlow<()> {
        self.monitor.advanced(time);
        if self.stopped() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Runs a job to its end; `None` if it was stopped.
    fn simulate(&self, job: &Job, warm: Warm) -> Result<Option<RunEntry>, Failure> {
        let begun = self.monitor.seconds() - warm.seconds;
        let mut running = warm.running;
        running.set_threads(self.threads_for_one(), self.each);
        let advanced = |time| self.advanced(time);
        if let Some(change) = &job.change {
            if !running.run(Some(change.at), &advanced) {
                return Ok(None);
            }
            running.change(job);
        }
        if !running.run(None, &advanced) {
            return Ok(None);
        }
        let tables = running.into_tables(job);
        let seconds = self.monitor.seconds() - begun;
        let entry = (self.keep)(&job.key, &tables, seconds);
        entry.map(Some).map_err(Failure::Folder)
    }
}

/// Does something that may fail by a defect of the program.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Failure::Defect(message(&*panic).to_owned())))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked")
}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::sync::Arc;

    use hopflow_overlay::{Factory, Features, Host, NodeEnv, Plan};
    use hopflow_sim::Simulated;

    use super::*;
    use crate::scenario::Scenario;

    /// A transport that fails where it is to make a node.
    #[derive(Debug)]
    struct Defective(Arc<dyn Factory<Simulated>>);

    impl Factory<Simulated> for Defective {
        fn name(&self) -> &'static str {
            "defective"
        }

        fn plan(&self) -> Plan {
            self.0.plan()
        }

        fn driver(&self) -> Features {
            self.0.driver()
        }

        fn describe(&self) -> String {
            self.0.describe()
        }

        fn stack(&self) -> Arc<dyn Any + Send + Sync> {
            self.0.stack()
        }

        fn node(&self, _: &NodeEnv) -> Box<dyn Host<Simulated>> {
            panic!("no node today")
        }
    }

    #[test]
    fn a_run_that_fails_is_named_and_the_others_are_finished() {
        let (mut scenario, _) = Scenario::load("single-circuit").unwrap();
        scenario.duration.0 = Duration::from_secs(2);
        scenario.warm_up.0 = Duration::ZERO;
        let mut jobs = Job::plan(&Arc::new(scenario), "test").unwrap();
        jobs[1].factory = Arc::new(Defective(Arc::clone(&jobs[1].factory)));
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::create(folder.path()).unwrap();
        let threads = Threads {
            all: Some(2),
            ..Threads::default()
        };
        let error = execute(&jobs, &folder, threads, &Silent).unwrap_err();
        let message = "1 run failed: backtap with seed 1: no node today";
        assert_eq!(error.to_string(), message);
        let finished = jobs
            .iter()
            .filter(|job| folder.finished(&job.key).is_some());
        assert_eq!(finished.count(), jobs.len() - 1);
    }
}
