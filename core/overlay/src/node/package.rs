//! The packaging edge: cutting application data into cells, circuit by circuit of a stream.

use hopflow_units::Instant;
use hopflow_wire::Payload;

use super::Node;
use crate::edge::Stream;
use crate::flow::Flow;
use crate::{Event, FlowId, StreamHandle, Transport};

impl<T: Transport, P: Payload> Node<T, P> {
    /// Lets all legs of a stream take what it offers, the preferred ones first.
    pub(super) fn refill_stream(&mut self, now: Instant, place: u32) {
        let mut refilled = None;
        while let Some(leg) = self.next_leg(place, refilled) {
            refilled = Some(leg);
            let source = self.source_flow(leg.1);
            self.refill_flow(now, source);
            self.schedule(now, source);
        }
    }

    /// The leg of a stream behind `after`, by preference: its rank and number.
    fn next_leg(&self, place: u32, after: Option<(u64, u32)>) -> Option<(u64, u32)> {
        let legs = self.streams.get(place)?.legs.iter();
        let ranked = legs.map(|&leg| (self.rank(leg), leg));
        ranked
            .filter(|leg| after.is_none_or(|after| *leg > after))
            .min()
    }

    fn rank(&self, circuit: u32) -> u64 {
        let source = self.source_flow(circuit).index();
        let flow = self.flows.get(source).and_then(Option::as_ref);
        flow.map_or(0, |flow| flow.gates.rank)
    }

    /// At a source, cuts cells from the flow's streams in turn, as long as the end-to-end gates
    /// are open and no more than the planned number of cells waits. What it leaves of a stream
    /// with other legs may be theirs then.
    #[inline]
    pub(super) fn refill(&mut self, now: Instant, id: FlowId) {
        if !self.refill_flow(now, id) {
            return;
        }
        let mut turn = 0;
        while let Some(flow) = self.flow(id)
            && let Some(&(_, place)) = flow.streams.get(turn)
        {
            let several = |stream: &Stream<P>| stream.legs.len() > 1;
            if self.streams.get(place).is_some_and(several) {
                self.refill_stream(now, place);
            }
            turn += 1;
        }
    }

    /// Cuts what may be cut of one flow. Where the circuit's ends keep a connection, what that lets
    /// go makes room for more.
    #[inline]
    fn refill_flow(&mut self, now: Instant, id: FlowId) -> bool {
        let mut cut = self.cut(now, id);
        if self.plan.connection.is_some() {
            while self.pump(now, id) {
                cut |= self.cut(now, id);
            }
        }
        cut
    }

    /// Whether it cut something of a flow that prefers among legs, and can cut no more.
    #[inline]
    fn cut(&mut self, now: Instant, id: FlowId) -> bool {
        let (ahead, resume) = (self.plan.ahead.get(), self.plan.resume.get());
        let mut cut = false;
        while let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) {
            let waiting = flow.waiting();
            flow.filled &= waiting > resume;
            if flow.inbound.is_some() || flow.filled || waiting >= ahead || flow.is_full() {
                return cut;
            }
            if !flow.gates.end.is_open(now) {
                let opens = flow.gates.end.waits_until(now);
                if let Some(at) = opens {
                    self.wake_for_pace(id, at);
                }
                return cut;
            }
            let Some(place) = self.offered(now, id) else {
                self.await_streams(now, id);
                return false;
            };
            let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
                return false;
            };
            let index = flow.streams[place].1 as usize;
            let Some(stream) = self.streams.get_mut(index as u32) else {
                return false;
            };
            flow.push_own(stream.cut(now));
            if stream.ran_low() {
                let stream = StreamHandle(self.streams.id(index as u32));
                self.events.push_back(Event::Drained { stream });
            }
            flow.gates.end.pass(now);
            flow.filled = resume < ahead && flow.waiting() >= ahead;
            flow.turn = place + 1;
            cut = flow.gates.rank > 0;
            self.stream_gates[index].pass(now);
            self.hook(now, id, T::on_cut);
        }
        cut
    }

    /// Which of a source's streams the next cell is cut from: the first in turn that offers one.
    #[inline]
    fn offered(&self, now: Instant, id: FlowId) -> Option<usize> {
        let flow = self.flows.get(id.index())?.as_ref()?;
        let count = flow.streams.len();
        let mut places = (0..count).map(|step| (flow.turn + step) % count);
        places.find(|&place| {
            let index = flow.streams[place].1;
            let stream = self.streams.get(index);
            self.stream_gates[index as usize].is_open(now)
                && stream.is_some_and(|stream| {
                    stream.offers(id.circuit()) && !self.yields(now, flow, stream)
                })
        })
    }

    /// Whether a flow leaves a stream's next cell to another leg that is preferred.
    #[inline]
    fn yields(&self, now: Instant, flow: &Flow<T::Flow, P>, stream: &Stream<P>) -> bool {
        let own = flow.gates.rank;
        if own == 0 || stream.legs.len() < 2 {
            return false;
        }
        let others = stream.legs.iter().filter(|&&leg| stream.offers(leg));
        others.copied().any(|leg| {
            let source = self.source_flow(leg).index();
            let other = self.flows.get(source).and_then(Option::as_ref);
            other.is_some_and(|other| {
                let ready = !other.filled
                    && other.queue.unsent() < self.plan.ahead.get()
                    && other.gates.end.is_open(now);
                other.gates.rank < own && (ready || flow.gates.faithful)
            })
        })
    }

    /// Sets a timer for the first stream that only its own rate holds back.
    fn await_streams(&mut self, now: Instant, id: FlowId) {
        let Some(flow) = self.flows.get(id.index()).and_then(Option::as_ref) else {
            return;
        };
        let gates = &self.stream_gates;
        let streams = flow.streams.iter().map(|(_, index)| *index as usize);
        let opens = streams.filter_map(|index| gates[index].waits_until(now));
        if let Some(at) = opens.min() {
            self.wake_for_pace(id, at);
        }
    }

    /// What one circuit of a stream heard may let the others go on, for they share its window.
    pub(super) fn refill_other_legs(&mut self, now: Instant, source: FlowId) {
        let mut turn = 0;
        while let Some(flow) = self.flow(source)
            && let Some(&(_, place)) = flow.streams.get(turn)
        {
            if self
                .streams
                .get(place)
                .is_some_and(|stream| stream.legs.len() > 1)
            {
                self.refill_stream(now, place);
            }
            turn += 1;
        }
    }
}
