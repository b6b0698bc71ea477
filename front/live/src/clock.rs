//! The time of the machine, which shows and connections follow.

use std::thread;
use std::time::{Duration, Instant};

/// The time now.
#[expect(
    clippy::disallowed_methods,
    reason = "shows are paced, and connections have deadlines"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits for a while.
#[expect(clippy::disallowed_methods, reason = "shows are paced")]
pub(crate) fn wait(time: Duration) {
    thread::sleep(time);
}
