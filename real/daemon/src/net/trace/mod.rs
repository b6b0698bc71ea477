//! Traces of a node: what its workers note, and the thread that writes it into files.
//!
//! Workers hand over what they noted after each turn and never wait: what the writer has no room for is
//! dropped and counted.

mod files;
mod noted;
mod tap;
mod writer;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use hopflow_engine::Observer;
use hopflow_units::{Duration, Rate};

use super::clock::Clock;
use super::shared::Shared;
use crate::config::Trace;
use crate::{InputError, private};
use noted::{Inbox, Zero};
use tap::Tap;
use writer::Writer;

/// The traces of a node, for its workers.
#[derive(Clone, Debug)]
pub(super) struct Tracing {
    inbox: Inbox,
    /// The zero of all times in the files.
    clock: Clock,
}

impl Tracing {
    /// Makes the folder and starts the writer of the node's traces, which ends with the last of its workers.
    ///
    /// # Errors
    /// If the folder holds something, or a file or the thread cannot be made.
    pub(super) fn start(
        config: &Trace,
        node: &str,
        rate: Option<Rate>,
    ) -> Result<(Self, JoinHandle<()>), InputError> {
        private::make_folder(&config.folder).map_err(|cause| {
            let folder = config.folder.display();
            InputError::at("trace.folder", format!("{folder}: cannot be made: {cause}"))
        })?;
        config.check_folder()?;
        let (inbox, notes) = Inbox::new(config);
        let clock = Clock::start();
        let mut writer = Writer::new(config, node, rate, (clock, Zero::now()))?;
        let state = inbox.state.clone();
        let handle = thread::Builder::new()
            .name("traces".to_owned())
            .spawn(move || {
                writer.run(&notes, &state.waiting);
                state.over.store(true, Ordering::Relaxed);
            });
        let failed = |cause| InputError::new(format!("cannot start the writer of traces: {cause}"));
        let handle = handle.map_err(failed)?;
        Ok((Self { inbox, clock }, handle))
    }

    /// What listens at the engine of a worker whose clock began at `epoch`.
    pub(super) fn tap(&self, epoch: std::time::Instant, shared: &Arc<Shared>) -> Box<dyn Observer> {
        let since = epoch.saturating_duration_since(self.clock.epoch());
        let since = Duration::from_nanos(since.as_nanos() as u64);
        Box::new(Tap::new(self.inbox.clone(), since, shared.clone()))
    }
}

#[cfg(test)]
mod tests;
