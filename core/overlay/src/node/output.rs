//! What leaves for neighbours: choosing cells, filling datagrams, returning feedback.

use hopflow_units::{Bytes, Instant, LinkId};
use hopflow_wire::{Carrier, Cell, CellFlags, CellSeq, Feedback, Frame, Payload};

use super::Node;
use crate::flow::Flow;
use crate::timers::Timer;
use crate::{Charging, FlowId, Scope, TokenBucket, Transport, Turn};

/// What one step of the scheduler did.
enum Step {
    /// A cell went to the outbox of a link.
    Chosen,
    /// Nothing may leave.
    Idle,
}

impl<T: Transport, P: Payload> Node<T, P> {
    /// Fills the next datagram, or the next write on a stream.
    pub(super) fn next_packet(
        &mut self,
        now: Instant,
        out: &mut Vec<Frame<P>>,
    ) -> Option<(LinkId, Bytes)> {
        out.clear();
        loop {
            if let Some(link) = self.complete.pop_front() {
                let len = self.pack(link, out);
                if out.is_empty() {
                    // What it had was dropped with its circuit.
                    continue;
                }
                return Some((link, len));
            }
            // A turn may have ended although no other flow has anything to send.
            if matches!(self.step(now), Step::Idle) && self.complete.is_empty() {
                break;
            }
        }
        while let Some(link) = self.flush.pop_front() {
            let state = self.link(link);
            state.flushing = false;
            if !state.has_output() {
                continue;
            }
            let len = self.pack(link, out);
            let state = self.link(link);
            if state.carrier == Carrier::Stream {
                state.stuck = state.has_output();
            } else if state.has_output() {
                self.flush_link(link);
            }
            if !out.is_empty() {
                return Some((link, len));
            }
        }
        None
    }

    /// Puts a link on the list of those that shall send what they have.
    #[inline]
    pub(super) fn flush_link(&mut self, link: LinkId) {
        let state = self.link(link);
        if !state.flushing {
            state.flushing = true;
            self.flush.push_back(link);
        }
    }

    /// Moves one cell to the outbox of its link, if any may go.
    #[inline]
    fn step(&mut self, now: Instant) -> Step {
        let Some((id, link)) = self.next_flow(now) else {
            return Step::Idle;
        };
        if let (Some(interval), Some(last)) = (self.plan.kist, self.last_run)
            && last != now
            && last + interval > now
        {
            self.resume_at = last + interval;
            return Step::Idle;
        }
        if let Some(bucket) = &mut self.bucket {
            let cell = self.plan.cell_len();
            if bucket.tokens(now) < cell.get() as i64 {
                self.resume_at = bucket.ready_at(cell);
                return Step::Idle;
            }
        }
        self.last_run = self.plan.kist.map(|_| now);
        self.send_cell(now, id, link);
        Step::Chosen
    }

    /// The next flow, in the scheduler's order, that has a cell, an open gate and a link with room.
    #[inline]
    fn next_flow(&mut self, now: Instant) -> Option<(FlowId, LinkId)> {
        let cell = self.plan.cell_len();
        loop {
            let id = self.scheduler.front()?;
            let flow = self.flows.get_mut(id.index()).and_then(Option::as_mut);
            let ready = flow.and_then(|flow| {
                let port = flow.outbound.filter(|_| flow.is_ready(now));
                flow.scheduled = port.is_some();
                Some((port?.link, flow.sender.wants_resend(&flow.queue)))
            });
            let Some((link, again)) = ready else {
                self.retire_front(id);
                self.pace(now, id);
                continue;
            };
            let state = &mut self.links[link.index()];
            let fits = state.fits(cell);
            if fits && (again || state.gate.is_open(now)) {
                return Some((id, link));
            }
            state.starved = true;
            // Behind a closed gate others of the link may have cells to send again.
            if fits || self.scheduler.scope() == Scope::Node {
                state.parked.push(id);
                self.retire_front(id);
                self.pace_link(now, link);
            } else {
                self.scheduler.block_front();
            }
        }
    }

    /// Sets a timer for a link that only its rate holds back.
    fn pace_link(&mut self, now: Instant, link: LinkId) {
        let state = self.link(link);
        if let Some(at) = state.gate.waits_until(now)
            && state.pace.is_none_or(|pace| pace > at)
        {
            state.pace = Some(at);
            self.timers.set(at, Timer::LinkPace(link));
        }
    }

    /// A rate may allow a link's next cell.
    pub(super) fn on_link_pace(&mut self, now: Instant, link: LinkId, at: Instant) {
        let state = self.link(link);
        if state.pace == Some(at) {
            state.pace = None;
            self.reopen(now, link);
        }
    }

    /// Lets the flows of a link go on that it held back, if it takes a cell now.
    #[inline]
    pub(super) fn reopen(&mut self, now: Instant, link: LinkId) {
        let cell = self.plan.cell_len();
        let state = self.link(link);
        if state.starved && state.has_room(now, cell) {
            state.starved = false;
            self.unblock(link);
        }
    }

    /// Takes a flow out of the scheduler that cannot send. If that ends its link's turn,
    /// what the link was given leaves before the cells of the next link.
    #[inline]
    fn retire_front(&mut self, id: FlowId) {
        let ended = self.scheduler.remove_front();
        let outbound = self.flow(id).and_then(|flow| flow.outbound);
        if let Some(port) = outbound.filter(|_| ended)
            && !self.link(port.link).outbox.is_empty()
        {
            self.complete.push_back(port.link);
        }
    }

    /// Lets the flows of a link go on that found it full.
    pub(super) fn unblock(&mut self, link: LinkId) {
        self.scheduler.unblock(link);
        let mut parked = std::mem::take(&mut self.link(link).parked);
        for id in parked.drain(..) {
            self.scheduler.push(id, link);
        }
        self.link(link).parked = parked;
    }

    /// Sends a cell of a flow that may send, again or for the first time.
    #[inline]
    fn send_cell(&mut self, now: Instant, id: FlowId, link: LinkId) {
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let len = self.plan.cell_len();
        if let Some((seq, payload)) = flow.sender.resend(&flow.queue) {
            let cell = flow.cell(seq, payload);
            self.counters.cells_resent += 1;
            if let (Some(bucket), Charging::Everything) = (&mut self.bucket, self.plan.charging) {
                bucket.pay(len);
            }
            return self.enqueue(now, link, cell);
        }
        let sent = if self.plan.reliable {
            flow.sender.on_sent(now, &self.plan.rtt);
            flow.queue.send()
        } else {
            flow.queue
                .pop()
                .map(|payload| (flow.queue.next() - 1, payload))
        };
        let Some((seq, payload)) = sent else { return };
        flow.gates.hop.pass(now);
        self.links[link.index()].gate.pass(now);
        if let Some(bucket) = &mut self.bucket {
            bucket.pay(len);
        }
        self.counters.cells_sent += 1;
        self.hook(now, id, |transport, state, cx| {
            transport.on_departure(state, cx);
        });
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let cell = flow.cell(seq, payload);
        self.enqueue(now, link, cell);
        self.after_departure(now, id);
    }

    /// Puts a chosen cell into its link's outbox and ends the flow's turn.
    #[inline]
    fn enqueue(&mut self, now: Instant, link: LinkId, cell: Cell<P>) {
        let len = self.plan.cell_len();
        let state = &mut self.links[link.index()];
        state.outbox.push(Frame::Cell(cell));
        state.room -= len.get() as i64;
        let full = state.outbox_is_full(len);
        let (plan, bucket) = (&self.plan, &self.bucket);
        let goes_on = self.scheduler.served(now, || match plan.turn {
            Turn::Cells(cells) => cells,
            Turn::EighthOfBucket => {
                let tokens = bucket.as_ref().map_or(i64::MAX, TokenBucket::balance);
                (tokens / 8 / len.get() as i64).clamp(4, 32) as u32
            }
        });
        if full || !goes_on {
            self.complete.push_back(link);
        } else {
            self.flush_link(link);
        }
    }

    #[inline]
    fn after_departure(&mut self, now: Instant, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        if flow.inbound.is_none() {
            self.refill(now, id);
        } else if self.plan.forward_feedback {
            self.report_forwarded(now, id);
        }
        self.set_alarm(id);
    }

    /// Notes that a cell was forwarded, which the predecessor is told of at once or with others.
    #[inline]
    pub(super) fn report_forwarded(&mut self, now: Instant, id: FlowId) {
        let every = self.plan.feedback_every.get();
        if every > 1
            && let Some(flow) = self.flow(id)
            && flow.queue.next() - flow.reported < every
        {
            return;
        }
        self.owe_feedback(now, id);
    }

    /// Notes that the predecessor is to be told how far the flow's cells have come.
    #[inline]
    pub(super) fn owe_feedback(&mut self, now: Instant, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let Some(port) = flow.inbound else { return };
        if std::mem::replace(&mut flow.feedback_pending, true) {
            return;
        }
        let state = &mut self.links[port.link.index()];
        state.owing.push(id);
        if !self.plan.feedback_hold.is_zero() {
            return self.hold_feedback(now, port.link);
        }
        if self.plan.feedback_delay.is_zero() || state.owes_a_datagram() {
            self.flush_link(port.link);
        } else if state.feedback_at.is_none() {
            let at = now + self.plan.feedback_delay;
            state.feedback_at = Some(at);
            self.timers.set_feedback(at, port.link);
        }
    }

    /// Keeps a link's feedback until the next multiple of the plan's time.
    fn hold_feedback(&mut self, now: Instant, link: LinkId) {
        let state = &mut self.links[link.index()];
        if state.feedback_at.is_some() {
            return;
        }
        let (now, hold) = (now.as_nanos(), self.plan.feedback_hold.as_nanos());
        let at = Instant::from_nanos((now / hold + 1).saturating_mul(hold));
        state.feedback_at = Some(at);
        state.holding = true;
        self.timers.set_feedback(at, link);
    }

    /// Fills `out` with a link's cells, control frames and feedback; returns their length.
    #[inline]
    fn pack(&mut self, link: LinkId, out: &mut Vec<Frame<P>>) -> Bytes {
        let state = &mut self.links[link.index()];
        std::mem::swap(out, &mut state.outbox);
        let cells = self.plan.cell_len() * out.len() as u64;
        let most = state.capacity(cells);
        let used = state.take_control(out, cells, most);
        let used = self.pack_feedback(link, out, (used, most));
        if let (Some(bucket), Charging::Everything) = (&mut self.bucket, self.plan.charging) {
            bucket.pay(used - cells);
        }
        let state = &mut self.links[link.index()];
        if state.carrier == Carrier::Stream {
            state.room -= (used - cells).get() as i64;
        }
        used
    }

    #[inline]
    fn pack_feedback(
        &mut self,
        link: LinkId,
        out: &mut Vec<Frame<P>>,
        (mut used, most): (Bytes, Bytes),
    ) -> Bytes {
        let state = &mut self.links[link.index()];
        if !state.reports() {
            return used;
        }
        let mut told = 0;
        for &id in &state.owing {
            if used + self.plan.feedback_len() > most {
                break;
            }
            told += 1;
            let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
                continue;
            };
            let mut feedback = flow.take_feedback();
            feedback.padded = self.plan.feedback_padded;
            let frame = Frame::Feedback(feedback);
            used += frame.wire_len(state.carrier);
            out.push(frame);
        }
        if told == state.owing.len() {
            state.owing.clear();
            state.feedback_at = None;
        } else {
            state.owing.drain(..told);
        }
        used
    }

    /// Puts a flow into the scheduler if it may send.
    #[inline]
    pub(super) fn schedule(&mut self, now: Instant, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        if flow.scheduled {
            return;
        }
        let Some(port) = flow.outbound else { return };
        if flow.is_ready(now) {
            flow.scheduled = true;
            self.scheduler.push(id, port.link);
        } else {
            self.pace(now, id);
        }
    }

    /// Sets a timer for a flow that only its rate holds back.
    #[inline]
    fn pace(&mut self, now: Instant, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        if flow.queue.unsent() > 0
            && let Some(at) = flow.gates.hop.waits_until(now)
        {
            self.wake_for_pace(id, at);
        }
    }

    /// Sets a timer for a flow that a rate holds back until `at`.
    pub(super) fn wake_for_pace(&mut self, id: FlowId, at: Instant) {
        let Some(flow) = self.flow(id) else { return };
        if flow.pace.is_none_or(|pace| pace > at) {
            flow.pace = Some(at);
            self.timers.set(at, Timer::Pace(id));
        }
    }

    /// A rate may allow a flow's next cell.
    pub(super) fn on_pace(&mut self, now: Instant, id: FlowId, at: Instant) {
        let Some(flow) = self.flow(id) else { return };
        if flow.pace == Some(at) {
            flow.pace = None;
            self.after_gate(now, id);
        }
    }

    /// Does what follows from a change of a flow's gates.
    #[inline]
    pub(super) fn after_gate(&mut self, now: Instant, id: FlowId) {
        self.refill(now, id);
        self.schedule(now, id);
        self.set_alarm(id);
    }

    /// Makes sure that a timer serves the sender's deadline.
    #[inline]
    fn set_alarm(&mut self, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let Some(deadline) = flow.sender.deadline() else {
            return;
        };
        if flow.alarm.is_none_or(|alarm| alarm > deadline) {
            flow.alarm = Some(deadline);
            self.timers.set(deadline, Timer::Deadline(id));
        }
    }
}

impl<S, P: Clone> Flow<S, P> {
    #[inline]
    fn cell(&mut self, seq: u64, payload: P) -> Cell<P> {
        let circuit = self
            .outbound
            .map_or_else(Default::default, |port| port.circuit);
        let mut cell = Cell {
            circuit,
            flags: CellFlags::default(),
            seq: CellSeq::of(seq),
            payload,
        };
        if let Some(connected) = &mut self.connected
            && let Some(tag) = connected.tags.pop_front()
        {
            (cell.seq, cell.flags) = (tag.number, tag.flags());
        }
        cell
    }

    /// What the predecessor is told.
    #[inline]
    fn take_feedback(&mut self) -> Feedback {
        self.feedback_pending = false;
        self.reported = self.queue.next();
        Feedback {
            circuit: self
                .inbound
                .map_or_else(Default::default, |port| port.circuit),
            ack: CellSeq::of(self.receiver.expected()),
            fwd: CellSeq::of(self.reported),
            out_of_order: self.receiver.take_out_of_order(),
            word: self.word,
            padded: false,
        }
    }
}
