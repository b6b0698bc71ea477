//! Long work beside a Python interpreter that stays alive.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use hopflow_api::Failure;
use hopflow_lab::run::Monitor;
use hopflow_results::RunEntry;
use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(hopflow._errors, HopflowError);

/// How often Python is told how far the work is, and asked for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(100);

/// A failure as Python's exception.
pub(crate) fn failed(failure: &Failure) -> PyErr {
    HopflowError::new_err(failure.message().to_owned())
}

/// How far the work is, written by its threads.
#[derive(Debug)]
struct Reached {
    planned: AtomicU64,
    finished: AtomicU64,
    /// Simulated time in nanoseconds.
    simulated: AtomicU64,
    /// All of the simulated time.
    whole: AtomicU64,
    stop: AtomicBool,
    begun: Instant,
}

impl Reached {
    #[expect(
        clippy::disallowed_methods,
        reason = "the wall time of runs is recorded"
    )]
    fn nothing() -> Self {
        Self {
            planned: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            simulated: AtomicU64::new(0),
            whole: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            begun: Instant::now(),
        }
    }

    /// Tells `watch` finished runs, planned runs, and simulated seconds: passed and in all; nothing
    /// before it is known which runs are planned.
    fn tell(&self, watch: &Bound<'_, PyAny>) -> PyResult<()> {
        let planned = self.planned.load(Ordering::Acquire);
        if planned == 0 {
            return Ok(());
        }
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        watch.call1((
            self.finished.load(Ordering::Relaxed),
            planned,
            seconds(self.simulated.load(Ordering::Relaxed)),
            seconds(self.whole.load(Ordering::Relaxed)),
        ))?;
        Ok(())
    }
}

impl Monitor for Reached {
    fn begin(&self, planned: usize, kept: usize, simulated: hopflow_units::Duration) {
        self.finished.store(kept as u64, Ordering::Relaxed);
        self.simulated.store(0, Ordering::Relaxed);
        self.whole.store(simulated.as_nanos(), Ordering::Relaxed);
        // Last: until then nothing is told.
        self.planned.store(planned as u64, Ordering::Release);
    }

    fn advanced(&self, simulated: hopflow_units::Duration) {
        self.simulated
            .fetch_add(simulated.as_nanos(), Ordering::Relaxed);
    }

    fn finished(&self, _: &RunEntry) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// Does `work` in a thread of its own, so that Ctrl-C and whatever `watch` raises end it.
///
/// Other threads of Python run meanwhile.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    watch: &Bound<'_, PyAny>,
    work: impl FnOnce(&dyn Monitor) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let reached = Reached::nothing();
    let watch = watch.clone().unbind();
    let glance = || {
        Python::attach(|py| {
            py.check_signals()?;
            reached.tell(watch.bind(py))
        })
    };
    let (made, raised) = py.detach(|| {
        let (done, is_done) = channel::<()>();
        let reached = &reached;
        thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let _done = done;
                work(reached)
            });
            let mut raised = None;
            while is_done.recv_timeout(GLANCE) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none()
                    && let Err(error) = glance()
                {
                    reached.stop.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
            (worker.join(), raised)
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let made = made.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let made = made.map_err(|failure| failed(&failure))?;
    glance()?;
    Ok(made)
}
