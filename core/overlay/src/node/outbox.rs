//! Outputs of a node: events for the driver, counters, work for other circuits.

use std::collections::VecDeque;

use hopflow_units::StreamId;
use hopflow_wire::{RelayCommand, RelayHeader};

use crate::{Event, FlowId, NodeCounters};

/// Work that a visit of one circuit leaves for the others of its streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LegWork {
    /// The source of this circuit may package: others of its streams may go first.
    Refill(u32),
    /// The same, and then the flow is scheduled.
    AfterGate(FlowId),
    /// A command about a stream leaves along this circuit.
    Send(u32, RelayCommand, StreamId),
    /// The stream at this place began on the first of several circuits: the others carry it, too.
    Join(u32),
    /// The stream at this place may use circuits that it could not.
    Open(u32),
}

/// Events for the driver, counters, and work that is left.
#[derive(Clone, Debug)]
pub(super) struct Outbox<P> {
    pub(super) events: VecDeque<Event<P>>,
    pub(super) counters: NodeCounters,
    /// Commands that an end control sends; empty between two signals.
    pub(super) commands: Vec<RelayHeader>,
    /// Flows whose sink may deliver something, because another leg of a stream went on or ended.
    pub(super) deliverable: Vec<FlowId>,
    leg_work: VecDeque<LegWork>,
}

impl<P> Default for Outbox<P> {
    fn default() -> Self {
        Self {
            events: VecDeque::new(),
            counters: NodeCounters::default(),
            commands: Vec::new(),
            deliverable: Vec::new(),
            leg_work: VecDeque::new(),
        }
    }
}

impl<P> Outbox<P> {
    /// The next event for the driver.
    #[inline]
    pub(super) fn next_event(&mut self) -> Option<Event<P>> {
        let event = self.events.pop_front()?;
        if self.events.is_empty() {
            // The next one comes to where memory is in the cache.
            self.events.clear();
        }
        Some(event)
    }

    #[inline]
    pub(super) fn has_leg_work(&self) -> bool {
        !self.leg_work.is_empty()
    }

    pub(super) fn leave(&mut self, work: LegWork) {
        self.leg_work.push_back(work);
    }

    pub(super) fn next_leg_work(&mut self) -> Option<LegWork> {
        self.leg_work.pop_front()
    }

    #[inline]
    pub(super) fn has_deliverable(&self) -> bool {
        !self.deliverable.is_empty()
    }
}
