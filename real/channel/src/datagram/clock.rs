//! The driver's time in the terms of the DTLS library.

use hopflow_units::{Duration, Instant};

/// How much time may pass before an idle library hears of it; each call costs as much as a quarter
/// of a record.
const RESOLUTION: Duration = Duration::from_millis(1);

/// The library's timers say "never" by a time ten years ahead.
const NEVER: std::time::Duration = std::time::Duration::from_secs(365 * 24 * 60 * 60);

/// A clock that never runs backwards.
pub(super) struct Clock {
    epoch: std::time::Instant,
    now: Option<Instant>,
    time: std::time::Instant,
}

impl Clock {
    pub(super) fn new(epoch: std::time::Instant) -> Self {
        Self {
            epoch,
            now: None,
            time: epoch,
        }
    }

    /// Whether the library must hear that it is `now`; always, if it waits for that.
    pub(super) fn advance(&mut self, now: Instant, waiting: bool) -> bool {
        let due = self.now.is_none_or(|last| {
            let passed = now.saturating_since(last);
            passed >= RESOLUTION || waiting && !passed.is_zero()
        });
        if due {
            self.now = Some(now);
            self.time = self.absolute(now);
        }
        due
    }

    /// The library's present time.
    pub(super) fn time(&self) -> std::time::Instant {
        self.time
    }

    /// The library's time in the driver's terms.
    pub(super) fn instant(&self, time: std::time::Instant) -> Instant {
        if time.saturating_duration_since(self.time) > NEVER {
            return Instant::FAR_FUTURE;
        }
        let nanos = time.saturating_duration_since(self.epoch).as_nanos();
        Instant::from_nanos(nanos.try_into().unwrap_or(u64::MAX))
    }

    /// An instant beyond what the platform can express leaves the clock where it is.
    fn absolute(&self, now: Instant) -> std::time::Instant {
        let since = std::time::Duration::from_nanos(now.as_nanos());
        self.epoch.checked_add(since).unwrap_or(self.time)
    }
}
