//! Telling a service manager how the node is, as `sd_notify(3)` says. Where there is none, or it does
//! not ask, nothing is told.

use std::time::Duration;

use sd_notify::NotifyState;
use tracing::warn;

/// The node is there, or has reloaded.
pub(super) fn ready(status: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(&line(status))]);
}

/// The node reads its configuration again.
pub(super) fn reloading() {
    let time = NotifyState::monotonic_usec_now();
    notify(
        &[NotifyState::Reloading]
            .into_iter()
            .chain(time)
            .collect::<Vec<_>>(),
    );
}

/// The node ends.
pub(super) fn stopping() {
    let status = NotifyState::Status("ending: no new streams, open streams may end");
    notify(&[NotifyState::Stopping, status]);
}

/// What the node does.
pub(super) fn status(status: &str) {
    notify(&[NotifyState::Status(&line(status))]);
}

/// The service manager's watchdog.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    /// After which silence the node is ended, if it is.
    patience: Option<Duration>,
    /// What workers had done when it was told last that they go on.
    seen: Vec<Option<u64>>,
}

impl Watchdog {
    /// What the environment says of it.
    pub(super) fn new() -> Self {
        Self {
            patience: sd_notify::watchdog_enabled(),
            seen: Vec::new(),
        }
    }

    /// How often [`Watchdog::look`] has to be called: twice in the time that it is patient for.
    pub(super) fn glance(&self) -> Duration {
        self.patience.map_or(Duration::MAX, |time| time / 2)
    }

    /// Keeps it quiet, as long as every worker goes on.
    pub(super) fn look(&mut self, rounds: Vec<Option<u64>>) {
        if self.patience.is_some() && go_on(&mut self.seen, rounds) {
            notify(&[NotifyState::Watchdog]);
        }
    }
}

/// Whether every worker has gone on since it was `seen` last; then it was seen now. One that has
/// ended is not waited for.
fn go_on(seen: &mut Vec<Option<u64>>, rounds: Vec<Option<u64>>) -> bool {
    let stands = |(now, seen): (&Option<u64>, &Option<u64>)| now.is_some() && now == seen;
    if rounds.iter().zip(&*seen).any(stands) {
        return false;
    }
    *seen = rounds;
    true
}

/// A status is one line.
fn line(status: &str) -> String {
    status.replace('\n', " ")
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        warn!("the service manager cannot be told: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_hears_of_workers_only_while_every_one_goes_on() {
        let mut seen = Vec::new();
        assert!(go_on(&mut seen, vec![Some(0), Some(0)]), "it begins");
        assert!(go_on(&mut seen, vec![Some(1), Some(7)]));
        assert!(
            !go_on(&mut seen, vec![Some(2), Some(7)]),
            "one stands still"
        );
        assert!(!go_on(&mut seen, vec![Some(9), Some(7)]));
        assert!(go_on(&mut seen, vec![Some(9), Some(8)]), "it goes on again");
        assert!(go_on(&mut seen, vec![Some(10), None]), "one has ended");
        assert!(go_on(&mut seen, vec![Some(11), None]));
        assert!(!go_on(&mut seen, vec![Some(11), None]));
        assert!(go_on(&mut seen, vec![None, None]));
    }
}
