//! A run that is looked at while it goes on.

use std::ops::ControlFlow;

use hopflow_results::Tables;
use hopflow_sim::spec::WorldSpec;
use hopflow_sim::{Download, SpecError, WorldView};
use hopflow_units::Duration;

use super::Job;
use super::running::Running;

/// A run that is looked at while it goes on. Its results are those of a run without a break.
#[derive(Clone, Debug)]
pub struct Watched {
    job: Job,
    running: Running,
    /// When the run becomes that of its variant, if that is still to come.
    change: Option<Duration>,
}

impl Watched {
    /// The run of a job at its beginning.
    ///
    /// # Errors
    /// If the job's world makes no sense.
    pub fn new(job: &Job) -> Result<Self, SpecError> {
        let mut running = Running::new(job)?;
        running.watch();
        Ok(Self {
            job: job.clone(),
            running,
            change: job.change.as_ref().map(|change| change.at),
        })
    }

    /// The world that is simulated.
    pub fn spec(&self) -> &WorldSpec {
        self.running.spec()
    }

    /// Goes on until everything before `time` has happened, or to the end.
    pub fn advance(&mut self, time: Duration) {
        if let Some(at) = self.change.take_if(|at| *at <= time) {
            self.go_on(at);
            self.running.change(&self.job);
        }
        self.go_on(time);
    }

    fn go_on(&mut self, time: Duration) {
        self.running.run(Some(time), &|_| ControlFlow::Continue(()));
    }

    /// How far it has come.
    pub fn now(&self) -> Duration {
        self.running.reached()
    }

    /// What can be seen now.
    pub fn view(&self) -> WorldView {
        self.running.world().view()
    }

    /// Downloads that were completed at `since` or later, in no order.
    pub fn completed(&self, since: Duration) -> Vec<Download> {
        self.running.world().completed(since)
    }

    /// Goes on to the end, and returns what was measured.
    pub fn finish(mut self) -> Tables {
        self.advance(self.spec().end);
        self.running.run(None, &|_| ControlFlow::Continue(()));
        self.running.into_tables(&self.job)
    }
}
