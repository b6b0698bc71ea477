//! How long cells of data are under way.

use std::collections::BTreeMap;

use hopflow_units::Instant;

use super::index::Sender;
use crate::outcome::Latencies;
use crate::payload::Simulated;

/// Latencies of the cells that are delivered from a time on.
#[derive(Debug)]
pub(super) struct LatencyRecorder {
    from: Instant,
    users: Vec<Course>,
}

/// The measured cells of one user.
#[derive(Debug, Default)]
struct Course {
    /// The offset behind the last cell that was delivered.
    delivered: u32,
    /// When cells that are under way first left their source, by their offset. With several
    /// circuits they leave in any order.
    left: BTreeMap<u32, Instant>,
    latencies: Latencies,
}

impl LatencyRecorder {
    pub(super) fn new(users: usize, from: Instant) -> Self {
        Self {
            from,
            users: (0..users).map(|_| Course::default()).collect(),
        }
    }

    /// Notes that a node sends a cell. A cell that the source sends again has its time already, or
    /// was delivered.
    pub(super) fn on_sent(&mut self, now: Instant, sender: &Sender, cell: &Simulated) {
        if !sender.measured || sender.hop > 0 {
            return;
        }
        let course = &mut self.users[sender.user as usize];
        if cell.offset().wrapping_sub(course.delivered) <= u32::MAX / 2 {
            course.left.entry(cell.offset()).or_insert(now);
        }
    }

    /// Counts a delivered cell; they are delivered in order.
    pub(super) fn on_delivered(&mut self, now: Instant, user: u32, cell: &Simulated) {
        let course = &mut self.users[user as usize];
        course.delivered = cell.offset().wrapping_add(u32::from(cell.len()));
        let left = course.left.remove(&cell.offset());
        let left = left.expect("what is delivered has left its source");
        if now < self.from {
            return;
        }
        let Latencies { packaged, sent } = &mut course.latencies;
        packaged.record(now.saturating_since(cell.packaged()));
        sent.record(now.saturating_since(left));
    }

    /// The latencies of each user.
    pub(super) fn finish(self) -> Vec<Latencies> {
        let courses = self.users.into_iter();
        courses.map(|course| course.latencies).collect()
    }
}
