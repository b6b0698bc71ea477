//! One TCP connection from a circuit's source to its sink, over hops that repair nothing.
//!
//! A cell is a segment: it counts as [`CELL`] bytes however much data it holds. The source numbers
//! its cells and keeps them until they are acknowledged; relays pass cells on with their tags; the
//! sink restores the order and returns acknowledgements as cells of the reverse flow. These, and a
//! source's questions, are control cells with numbers of their own: no two cells of a direction that
//! differ have the same tag, so that a real circuit can seal each under its own index. There is no
//! handshake, for building the circuit was one, and the two directions of a circuit do not
//! acknowledge each other's data on the way.

mod segment;
mod sink;
mod source;

use std::collections::VecDeque;

use hopflow_units::Instant;
use hopflow_wire::Payload;

use crate::circuit::{Alarm, rest};
use crate::{Role, Violation};
pub use segment::EndToEnd;
pub(crate) use segment::Tag;
pub(crate) use sink::Sink;
pub(crate) use source::Source;

/// What a flow keeps of its circuit's connection.
#[derive(Clone, Debug)]
pub(crate) struct Connected<P> {
    /// The tags of the cells in the flow's queue, in its order.
    tags: VecDeque<Tag>,
    /// Control cells that began here.
    controls: u64,
    /// Those of them that are in the flow's queue.
    waiting: u64,
    pub(crate) part: Part<P>,
    /// The earliest pending timer that serves the connection.
    pub(crate) alarm: Alarm,
}

/// A node's part in a connection.
#[derive(Clone, Debug)]
pub(crate) enum Part<P> {
    Source(Source<P>),
    Relay,
    Sink(Sink<P>),
}

impl<P: Payload> Connected<P> {
    pub(crate) fn new(config: &EndToEnd, role: Role) -> Self {
        let part = match role {
            Role::Source => Part::Source(Source::new(config)),
            Role::Relay => Part::Relay,
            Role::Sink => Part::Sink(Sink::new(config)),
        };
        Self {
            tags: VecDeque::new(),
            controls: 0,
            waiting: 0,
            part,
            alarm: Alarm::default(),
        }
    }

    /// A cell goes to the flow's queue; without a tag it is a control cell that begins here.
    pub(crate) fn queue(&mut self, tag: Option<Tag>) {
        self.tags.push_back(tag.unwrap_or_else(|| {
            self.controls += 1;
            self.waiting += 1;
            Tag::of_control(self.controls - 1)
        }));
    }

    /// The tag of the cell that leaves the flow's queue.
    pub(crate) fn leave(&mut self) -> Option<Tag> {
        let tag = self.tags.pop_front();
        if tag.is_some_and(|tag| tag.flags.is_control()) {
            self.waiting = self.waiting.saturating_sub(1);
        }
        rest(&mut self.tags);
        tag
    }

    /// Control cells that began here and are in the flow's queue.
    pub(crate) const fn waiting(&self) -> u64 {
        self.waiting
    }

    pub(crate) fn source(&mut self) -> Option<&mut Source<P>> {
        match &mut self.part {
            Part::Source(source) => Some(source),
            Part::Relay | Part::Sink(_) => None,
        }
    }

    pub(crate) fn sink(&mut self) -> Option<&mut Sink<P>> {
        match &mut self.part {
            Part::Sink(sink) => Some(sink),
            Part::Relay | Part::Source(_) => None,
        }
    }

    /// The number of the next cell expected at this end, and how many cells arrived beyond a gap.
    pub(crate) fn acknowledgement(&mut self) -> (u64, u8) {
        self.sink().map_or((0, 0), Sink::acknowledgement)
    }

    /// Cells at this end that wait for those before them.
    pub(crate) fn held(&self) -> u64 {
        match &self.part {
            Part::Sink(sink) => sink.held(),
            Part::Source(_) | Part::Relay => 0,
        }
    }

    /// Cells at this end that are not acknowledged, sent or not.
    pub(crate) fn kept(&self) -> u64 {
        match &self.part {
            Part::Source(source) => source.unsent() + source.outstanding(),
            Part::Relay | Part::Sink(_) => 0,
        }
    }

    /// Cells outstanding at a source, and those that departed; a source counts each cell once, the
    /// other nodes each transmission, `departed` so far.
    pub(crate) fn progress(&self, departed: u64) -> (u64, u64) {
        match &self.part {
            Part::Source(source) => (source.outstanding(), source.sent()),
            Part::Relay | Part::Sink(_) => (0, departed),
        }
    }

    /// When the connection wants to be looked after, if ever.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match &self.part {
            Part::Source(source) => source.deadline(),
            Part::Relay => None,
            Part::Sink(sink) => sink.deadline(),
        }
    }

    /// Does what is due by the time.
    ///
    /// # Errors
    /// If this is the source, and the sink counts as gone.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Result<(), Violation> {
        match &mut self.part {
            Part::Source(source) => source.handle_timeout(now)?,
            Part::Relay => {}
            Part::Sink(sink) => sink.handle_timeout(now),
        }
        Ok(())
    }
}
