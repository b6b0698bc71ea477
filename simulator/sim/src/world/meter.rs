//! How much partitions have to do side by side.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

use hopflow_units::Duration;

/// What the partitions of a run did side by side.
///
/// Threads wait for the last of them in every window, so a run on as many threads as there are
/// partitions, each on a core of its own, takes as long as the busiest one of each window together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parallelism {
    /// Events, of all partitions.
    pub events: u64,
    /// Events of the partition that had most in each window.
    pub longest_events: u64,
    /// Time of running windows, of links between routers and of taking mail, of all partitions.
    pub time: Duration,
    /// Time of the partition that took longest in each window.
    pub longest_time: Duration,
}

impl AddAssign for Parallelism {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.longest_events += other.longest_events;
        self.time += other.time;
        self.longest_time += other.longest_time;
    }
}

/// Measures what partitions do between one gate and the next.
#[derive(Debug)]
pub(super) struct Meter {
    /// The time that the thread which asks has run.
    clock: fn() -> Duration,
    events: Stretches,
    /// By [`Phase`].
    times: [Stretches; 3],
}

/// What all partitions do at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Running,
    /// One of them runs the links between routers, which others wait for.
    Trunks,
    TakingMail,
}

/// Stretches between gates in which all partitions do something.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    all: AtomicU64,
    /// The most that a partition did in a stretch, summed over stretches.
    longest: AtomicU64,
    /// The most so far in the present stretch.
    most: AtomicU64,
}

impl Stretches {
    /// Notes what a partition did in the present stretch.
    pub(super) fn note(&self, done: u64) {
        self.all.fetch_add(done, Ordering::Relaxed);
        self.most.fetch_max(done, Ordering::Relaxed);
    }

    /// Ends a stretch: one thread does, when none notes anything.
    pub(super) fn end(&self) {
        let most = self.most.swap(0, Ordering::Relaxed);
        self.longest.fetch_add(most, Ordering::Relaxed);
    }

    /// All that was noted, and what the busiest partitions did of it.
    fn sums(&self) -> [u64; 2] {
        [&self.all, &self.longest].map(|sum| sum.load(Ordering::Relaxed))
    }
}

impl Meter {
    pub(super) fn new(clock: fn() -> Duration) -> Self {
        Self {
            clock,
            events: Stretches::default(),
            times: Default::default(),
        }
    }

    /// Notes that a partition took its time for a phase since `begun`, and had so many events.
    pub(super) fn note(&self, phase: Phase, begun: Duration, events: u64) {
        self.events.note(events);
        self.times[phase as usize].note((self.now() - begun).as_nanos());
    }

    /// Ends the phase before this one, in which no thread notes anything any more.
    pub(super) fn end_before(&self, phase: Phase) {
        match phase {
            Phase::Running => self.times[Phase::TakingMail as usize].end(),
            Phase::Trunks => self.end_running(),
            Phase::TakingMail => {
                self.end_running();
                self.times[Phase::Trunks as usize].end();
            }
        }
    }

    fn end_running(&self) {
        self.events.end();
        self.times[Phase::Running as usize].end();
    }

    pub(super) fn now(&self) -> Duration {
        (self.clock)()
    }

    /// What was measured, when all threads have ended.
    pub(super) fn read(&self) -> Parallelism {
        self.end_before(Phase::Running);
        self.end_before(Phase::TakingMail);
        let [events, longest_events] = self.events.sums();
        let times = self.times.each_ref().map(Stretches::sums);
        let [time, longest_time] =
            [0, 1].map(|sum| Duration::from_nanos(times.iter().map(|sums| sums[sum]).sum()));
        Parallelism {
            events,
            longest_events,
            time,
            longest_time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_of_each_stretch_counts() {
        let stretches = Stretches::default();
        for stretch in [[1, 5], [4, 2]] {
            for done in stretch {
                stretches.note(done);
            }
            stretches.end();
        }
        assert_eq!(stretches.sums(), [12, 9]);
    }
}
