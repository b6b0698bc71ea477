//! The clocks of this machine: the only place of the crate that reads them.

use hopflow_units::{Duration, Instant};

use crate::UnixTime;

/// A monotonic clock that begins with the node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: std::time::Instant,
}

impl Clock {
    /// A clock that begins now.
    #[expect(clippy::disallowed_methods, reason = "sockets live in real time")]
    pub(crate) fn start() -> Self {
        Self {
            epoch: std::time::Instant::now(),
        }
    }

    /// A clock that began at this moment.
    pub(crate) const fn beginning_at(epoch: std::time::Instant) -> Self {
        Self { epoch }
    }

    /// The time since the clock began.
    pub(crate) fn now(self) -> Instant {
        Instant::ZERO + Duration::from_nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    /// The moment at which the clock began.
    pub(crate) const fn epoch(self) -> std::time::Instant {
        self.epoch
    }
}

/// The time for which processors have worked for this process, in user and system mode.
pub(super) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The time of the calendar.
pub fn calendar_time() -> UnixTime {
    UnixTime::from_secs(since_1970().as_secs())
}

/// The time since the beginning of 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "directories are valid for a time, and traces say when they were made"
)]
pub(crate) fn since_1970() -> std::time::Duration {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default()
}
