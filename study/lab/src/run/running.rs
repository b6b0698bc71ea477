//! A run on its way.

use std::ops::ControlFlow;

use hopflow_results::Tables;
use hopflow_sim::spec::WorldSpec;
use hopflow_sim::{Deployment, Progress, SpecError, World};
use hopflow_units::Duration;

use super::change::Change;
use super::{Job, rows, traces};

/// A run on its way; a clone goes on as the original does.
#[derive(Clone, Debug)]
pub(super) struct Running {
    spec: WorldSpec,
    world: World,
    /// Which circuits have the transport that is rolled out, if one is.
    upgraded: Option<Vec<bool>>,
    /// How far it has come.
    reached: Duration,
}

impl Running {
    /// A run that begins.
    pub(super) fn new(job: &Job) -> Result<Self, SpecError> {
        let spec = job.world();
        let upgraded = job.rollout.as_ref().map(|rollout| rollout.upgraded(&spec));
        let mut world = match job.rollout.as_ref().zip(upgraded.as_ref()) {
            None => World::new(&spec, &*job.factory),
            Some((rollout, upgraded)) => {
                let transports = [&*job.factory, &*rollout.factory];
                let upgraded = |circuit: usize| upgraded[circuit];
                World::mixed(&spec, &Deployment::mixed(transports, &spec, upgraded))
            }
        }?;
        let record = &job.scenario.record;
        if record.latency {
            world.record_latency();
        }
        if record.breakdown {
            world.record_breakdown();
        }
        if let Some(interval) = record.queues {
            world.record_queues(interval.0);
        }
        if let Some(interval) = record.traces {
            world.record_traces(interval.0);
        }
        if !record.qlog.is_empty() {
            world.trace_circuits(&record.qlog);
        }
        if !record.packets.is_empty() {
            world.capture_packets(&record.packets);
        }
        Ok(Self {
            spec,
            world,
            upgraded,
            reached: Duration::ZERO,
        })
    }

    /// Makes it one that can be looked at.
    pub(super) fn watch(&mut self) {
        self.world.watch();
    }

    pub(super) const fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    pub(super) const fn world(&self) -> &World {
        &self.world
    }

    /// How far it has come.
    pub(super) const fn reached(&self) -> Duration {
        self.reached
    }

    /// Lets it go on with up to so many threads, or with exactly so many.
    pub(super) fn set_threads(&mut self, up_to: usize, exactly: Option<usize>) {
        match exactly {
            Some(threads) => self.world.split(threads),
            None => self.world.use_threads(up_to),
        }
    }

    /// Runs until a time, or to the end; false if `advanced`, which is told by how much simulated time
    /// it came forward, stopped it.
    pub(super) fn run(
        &mut self,
        until: Option<Duration>,
        advanced: &dyn Fn(Duration) -> ControlFlow<()>,
    ) -> bool {
        let reached = &mut self.reached;
        let mut observer = |progress: Progress| {
            let since = progress.now.saturating_sub(*reached);
            *reached = progress.now.max(*reached);
            advanced(since)
        };
        let finished = match until {
            Some(time) => self.world.run_until(time, &mut observer),
            None => self.world.run(&mut observer),
        };
        let there = until.unwrap_or(self.spec.end);
        if finished {
            // It may be stopped with the next step.
            let _ = advanced(there.saturating_sub(self.reached));
            self.reached = self.reached.max(there);
        }
        finished
    }

    /// Makes it the run of a variant, whose time has come.
    pub(super) fn change(&mut self, job: &Job) {
        if let Some(change) = &job.change {
            change.apply(&job.scenario, job.key.seed, &mut self.world);
        }
    }

    /// What was measured.
    pub(super) fn into_tables(self, job: &Job) -> Tables {
        let Self {
            mut spec,
            world,
            mut upgraded,
            ..
        } = self;
        let mut outcome = world.into_outcome();
        let mut regions = job.scenario.regions(&spec);
        let trace_files = traces::files(&job.key, &spec, &outcome);
        if let Some(part) = Change::part(job.change.as_ref(), &job.scenario, &spec) {
            part.of_world(&mut spec);
            part.of_outcome(&mut outcome, &spec);
            part.of_nodes(&mut regions);
            if let Some(upgraded) = &mut upgraded {
                part.of_circuits(upgraded);
            }
        }
        let mut tables = rows::tables(&spec, &outcome);
        tables.nodes = rows::nodes_at(&spec, regions);
        tables.trace_files = trace_files;
        if let Some((rollout, upgraded)) = job.rollout.as_ref().zip(upgraded) {
            tables.deployments = rollout.rows(&upgraded);
        }
        tables
    }
}
