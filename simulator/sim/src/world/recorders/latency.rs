//! How long cells of data are under way, for those who ask.
//!
//! Kept beside the recorder, and made only when asked for: a run that does not ask pays one branch
//! per packet that a node sends.

use std::collections::BTreeMap;

use hopflow_units::{CircuitId, Instant, LinkId};
use hopflow_wire::Frame;

use super::World;
use super::users::User;
use crate::outcome::Latencies;
use crate::payload::Simulated;

/// Latencies of the cells that are delivered from a moment on.
#[derive(Debug)]
pub(super) struct LatencyRecorder {
    from: Instant,
    /// The users whose circuits begin at a node, by the names that the node has for these.
    sources: BTreeMap<(u32, LinkId, CircuitId), u32>,
    circuits: Vec<Course>,
}

/// The cells of one user.
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
    pub(super) fn new(users: &[User], from: Instant) -> Self {
        let sources = |(user, number): (&'_ User, u32)| {
            let ways = user.ways.iter();
            let names = ways.map(|way| (way.source(user.measured), number));
            names.collect::<Vec<_>>()
        };
        Self {
            from,
            sources: users.iter().zip(0..).flat_map(sources).collect(),
            circuits: users.iter().map(|_| Course::default()).collect(),
        }
    }

    /// Notes that `frames` leave a node. What leaves again is known, or delivered already.
    fn leaving(&mut self, now: Instant, (node, link): (u32, LinkId), frames: &[Frame<Simulated>]) {
        for frame in frames {
            let Frame::Cell(cell) = frame else { continue };
            let data = &cell.payload;
            if data.is_empty() {
                continue;
            }
            let Some(number) = self.sources.get(&(node, link, cell.circuit)) else {
                continue;
            };
            let course = &mut self.circuits[*number as usize];
            if data.offset().wrapping_sub(course.delivered) <= u32::MAX / 2 {
                course.left.entry(data.offset()).or_insert(now);
            }
        }
    }

    /// Counts a delivered cell, which are delivered in order.
    fn delivered(&mut self, now: Instant, number: usize, cell: &Simulated) {
        let course = &mut self.circuits[number];
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

    /// The latencies of each circuit.
    pub(super) fn finish(self) -> Vec<Latencies> {
        let courses = self.circuits.into_iter();
        courses.map(|course| course.latencies).collect()
    }
}

impl World {
    /// Makes the world record the latency of every cell of data that is delivered from the time on
    /// at which recording begins ([`Sampling::from`](crate::spec::Sampling::from)).
    ///
    /// Must be called before the world runs.
    pub fn record_latency(&mut self) {
        assert!(self.now == Instant::ZERO, "nothing has been sent");
        let from = Instant::ZERO + self.recorder.from();
        self.latency = Some(LatencyRecorder::new(&self.users, from));
    }

    /// Notes that the frames at hand leave a node on a link.
    #[inline]
    pub(super) fn note_leaving(&mut self, node: usize, link: LinkId) {
        if let Some(latency) = &mut self.latency {
            latency.leaving(self.now, (node as u32, link), &self.frames);
        }
        if let Some(legs) = &mut self.legs {
            legs.leaving(self.now, (node as u32, link), &self.frames);
        }
        self.trace_leaving(node, link);
    }

    /// Notes that a cell of a circuit's data has been delivered.
    #[inline]
    pub(super) fn note_delivered(&mut self, number: usize, cell: &Simulated) {
        if let Some(latency) = &mut self.latency {
            latency.delivered(self.now, number, cell);
        }
    }
}
