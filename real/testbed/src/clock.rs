//! The clock of this machine: the only place of the crate that reads it or waits for it.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "a testbed lives in real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "a testbed lives in real time")]
pub(crate) fn sleep(span: Duration) {
    std::thread::sleep(span);
}

/// A span of real time as one of the simulator's.
pub(crate) fn span(span: Duration) -> hopflow_units::Duration {
    hopflow_units::Duration::from_nanos(span.as_nanos() as u64)
}
