//! Recording what happens at a machine.

mod breakdown;
mod index;
mod legs;
mod outcome;
mod queues;
mod samples;
mod tracer;
mod traces;

use hopflow_overlay::Direction;
use hopflow_units::{Bytes, Instant, LinkId};
use hopflow_wire::Frame;

pub(crate) use self::breakdown::{Arriving, BreakdownRecorder, FlowAt, FlowIndex, StreamAt};
pub(crate) use self::index::{Sender, SenderIndex};
pub(crate) use self::legs::LegRecorder;
pub(crate) use self::outcome::collect;
pub(crate) use self::queues::QueueRecorder;
pub(crate) use self::samples::{Sampler, WatchedHop};
pub(crate) use self::tracer::{Capture, Traced, Tracer};
pub(crate) use self::traces::TraceRecorder;
use super::outbox::Left;
use super::shared::Shared;
use super::users::Journal;
use crate::outcome::NewCircuit;
use crate::payload::Simulated;

/// All that is recorded at a machine while the simulation runs.
///
/// Some of it is recorded only on request: a run without costs one branch for each packet that a
/// node sends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    pub(crate) journal: Journal,
    /// Users with a circuit that was closed here.
    pub(crate) closed: Vec<u32>,
    /// Circuits that users had anew.
    pub(crate) rebuilt: Vec<NewCircuit>,
    pub(crate) sampler: Option<Box<Sampler>>,
    /// Whose cells the machine's nodes send, if a recorder wants to know.
    pub(crate) index: Option<Box<SenderIndex>>,
    pub(crate) latency: bool,
    pub(crate) legs: Option<Box<LegRecorder>>,
    pub(crate) traces: Option<Box<TraceRecorder>>,
    pub(crate) breakdown: Option<Box<BreakdownRecorder>>,
}

impl Records {
    /// Notes that a node sends the frames at hand on a link.
    #[inline]
    pub(crate) fn on_sent(&mut self, position: u16, link: LinkId, shared: &mut Shared) {
        if self.index.is_some() {
            self.on_sent_cells(position, link, shared);
        }
    }

    fn on_sent_cells(&mut self, position: u16, link: LinkId, shared: &mut Shared) {
        let index = self.index.as_ref();
        let Some(sender_of) = index.and_then(|index| index.on_link(position, link)) else {
            return;
        };
        let now = shared.now;
        for frame in &shared.frames {
            let Frame::Cell(cell) = frame else { continue };
            if cell.payload.is_empty() {
                continue;
            }
            let Some(sender) = sender_of(cell.circuit) else {
                continue;
            };
            if self.latency && sender.measured && sender.hop == 0 {
                let offset = cell.payload.offset();
                shared.out.left.push((
                    sender.sink,
                    Left {
                        at: now,
                        offset,
                        turn: sender.turn,
                    },
                ));
            }
            if let Some(legs) = &mut self.legs {
                legs.on_sent(now, sender);
            }
            if let Some(traces) = &mut self.traces {
                traces.on_sent(now, sender, &cell.payload);
            }
        }
    }

    /// Notes that a user's cell was delivered to its server.
    #[inline]
    pub(crate) fn at_server(&mut self, now: Instant, user: u32, cell: &Simulated) {
        if let Some(traces) = &mut self.traces {
            traces.at_exit(now, user, Direction::Forward, cell);
        }
    }

    /// Notes a packet that arrives from the machine's router.
    #[inline]
    pub(crate) fn on_wire(&mut self, at: Instant, direction: Direction, size: Bytes) {
        if let Some(traces) = &mut self.traces {
            traces.on_wire(at, direction, size);
        }
    }

    /// Notes the packets that the machine has sent: when they will be at its router.
    #[inline]
    pub(crate) fn on_departed(&mut self, shared: &Shared) {
        let Some(traces) = &mut self.traces else {
            return;
        };
        let out = &shared.out;
        for arrival in out.arrivals.iter().chain(&out.entries) {
            let (from, to) = (arrival.from, arrival.packet.to.node.machine());
            let delay = Instant::ZERO + shared.routes.delay(from as usize, to);
            let at = Instant::ZERO + arrival.at.saturating_since(delay);
            if at <= shared.end {
                traces.on_wire(at, Direction::Forward, arrival.packet.size());
            }
        }
    }
}
