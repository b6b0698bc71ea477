//! One circuit in one direction: its queue, its gate, and what repairs and controls it.

use hopflow_units::{Cells, Instant};
use hopflow_wire::{Cell, CellFlags, CellSeq, Payload};

use super::CellQueue;
use super::wake::{Alarm, Wake};
use crate::repair::{Repairing, Tag};
use crate::site::Port;
use crate::{FlowView, Gate, Site};

/// The state of a flow: the node's part and the hop control's.
#[derive(Clone, Debug)]
pub(crate) struct Flow<S, P> {
    pub(crate) site: Site,
    pub(crate) inbound: Option<Port>,
    pub(crate) outbound: Option<Port>,
    pub(crate) queue: CellQueue<P>,
    /// Lets cells out to the successor.
    pub(crate) gate: Gate,
    /// The hop control's.
    pub(crate) state: S,
    pub(crate) repair: Repairing<P>,
    pub(crate) report: Report,
    pub(crate) wakes: Wakes,
    /// Whether the flow waits for its turn in the scheduler.
    pub(crate) scheduled: bool,
}

/// What the predecessor is to hear.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// Whether feedback is pending.
    pub(crate) pending: bool,
    /// Cells that the predecessor knows to be forwarded.
    pub(crate) forwarded: u64,
    /// What the hop control adds to feedback.
    pub(crate) ext: Option<u16>,
}

/// The timers that serve the flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wakes {
    /// The deadline of the hop's repair.
    pub(crate) alarm: Alarm,
    /// When a timer will look at the flow's rates.
    pub(crate) pace: Alarm,
    /// When the hop control wants to be called.
    pub(crate) hop: Wake,
    /// When the choice among circuits wants to be called.
    pub(crate) path: Wake,
}

impl<S, P: Payload> Flow<S, P> {
    /// A flow without cells.
    pub(crate) fn new(
        site: Site,
        [inbound, outbound]: [Option<Port>; 2],
        (gate, state): (Gate, S),
        repair: Repairing<P>,
    ) -> Self {
        Self {
            site,
            inbound,
            outbound,
            queue: CellQueue::default(),
            gate,
            state,
            repair,
            report: Report::default(),
            wakes: Wakes::default(),
            scheduled: false,
        }
    }

    /// Reads a field of each part; the number means nothing.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let alarm = self.wakes.alarm.pending().map_or(0, Instant::as_nanos);
        let part = self.queue.next() ^ self.gate.released().get() ^ self.report.forwarded;
        part ^ alarm ^ self.repair.touch() ^ u64::from(self.scheduled)
    }

    /// Whether there is a cell to send that its gate does not hold back.
    #[inline]
    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        (self.queue.unsent() > 0 && self.gate.is_open(now)) || self.repair.wants_resend(&self.queue)
    }

    /// When the gate opens by itself for a cell that waits, if only its rate holds the cell back.
    #[inline]
    pub(crate) fn waits_until(&self, now: Instant) -> Option<Instant> {
        if self.queue.unsent() == 0 {
            return None;
        }
        self.gate.waits_until(now)
    }

    /// Takes a cell that begins here.
    #[inline]
    pub(crate) fn push_own(&mut self, cell: P) {
        match self.repair.source() {
            Some(source) => source.push(cell),
            None => self.queue.push(cell),
        }
    }

    /// Cells that wait to leave for the first time, without what a connection's ends say to each other.
    #[inline]
    pub(crate) fn waiting(&mut self) -> u64 {
        let (kept, controls) = self.repair.connection().map_or((0, 0), |connected| {
            let unsent = connected.source().map_or(0, |source| source.unsent());
            (unsent, connected.waiting())
        });
        self.queue.unsent() + kept - controls
    }

    /// Whether no more cells may be packaged, whatever waits.
    #[inline]
    pub(crate) fn is_full(&mut self) -> bool {
        self.repair.source().is_some_and(|source| source.is_full())
    }

    /// Puts a cell of the connection into the queue that leaves with this tag; without one, a control
    /// cell.
    pub(crate) fn push_tagged(&mut self, tag: Option<Tag>, cell: P) {
        self.queue.push(cell);
        if let Some(connected) = self.repair.connection() {
            connected.queue(tag);
        }
    }

    /// A cell on its way to the successor.
    #[inline]
    pub(crate) fn cell(&self, seq: CellSeq, flags: CellFlags, payload: P) -> Cell<P> {
        let circuit = self
            .outbound
            .map_or_else(Default::default, |port| port.circuit);
        Cell {
            circuit,
            flags,
            seq,
            payload,
        }
    }

    /// The present state for measurement; `end` is the end-to-end gate at a source, `released` says
    /// whether anything releases a hop's gate without a window.
    pub(crate) fn view(&self, end: Option<&Gate>, released: bool) -> FlowView {
        let mut view = FlowView {
            queued: Cells::new(self.queue.unsent()),
            out_of_order: Cells::new(self.repair.held()),
            held: self.queue.view().held
                + Cells::new(self.repair.held())
                + Cells::new(self.repair.kept()),
            proofs: Cells::ZERO,
            outstanding: Cells::ZERO,
            window: None,
            departed: Cells::new(self.queue.next()),
        };
        if let Repairing::EndToEnd(connected) = &self.repair {
            let (outstanding, departed) = connected.progress(self.queue.next());
            (view.outstanding, view.departed) = (Cells::new(outstanding), Cells::new(departed));
            return view;
        }
        let own = Some(&self.gate).filter(|gate| gate.window().is_some());
        let end = end.filter(|gate| gate.window().is_some());
        if let Some(gate) = own.or(end).or(released.then_some(&self.gate)) {
            (view.outstanding, view.window) = (gate.outstanding(), gate.window());
        }
        view
    }
}
