//! Waking at a moment that is named in nanoseconds: polls count in milliseconds.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use hopflow_units::Instant;
use mio::unix::SourceFd;
use mio::{Interest, Registry};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::tokens::Source;

/// A timer that makes a poll return.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    set: Instant,
}

impl Alarm {
    pub(super) fn register(registry: &Registry) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let source = &mut SourceFd(&timer.as_raw_fd());
        registry.register(source, Source::Timer.token(), Interest::READABLE)?;
        Ok(Self {
            timer,
            set: Instant::FAR_FUTURE,
        })
    }

    /// Makes the poll return at `at`, which lies in the future, or once before: moments move back
    /// with nearly every packet, and to wake once for many of them costs less.
    pub(super) fn set(&mut self, now: Instant, at: Instant) -> io::Result<()> {
        if self.set > now && self.set <= at {
            return Ok(());
        }
        self.set = at;
        let nanos = if at == Instant::FAR_FUTURE {
            // Zero takes the alarm back.
            0
        } else {
            at.saturating_since(now).as_nanos().clamp(1, MOST)
        };
        let value = Timespec {
            tv_sec: (nanos / 1_000_000_000) as i64,
            tv_nsec: (nanos % 1_000_000_000) as i64,
        };
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: value,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    /// The alarm rang.
    pub(super) const fn rang(&mut self) {
        self.set = Instant::ZERO;
    }
}

/// The longest time to sleep, a day: a worker that wakes too early sleeps again.
const MOST: u64 = 86_400_000_000_000;
