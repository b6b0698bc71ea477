//! The edges: cutting application data into cells, and delivering it.

use hopflow_units::{Bytes, Instant, StreamId};
use hopflow_wire::{Payload, RelayCommand, RelayHeader};

use super::Node;
use crate::edge::{Offer, Resequencer};
use crate::{Event, FlowId, StreamHandle, Transport, Violation};

/// What became of a cell at a sink.
enum Taken {
    /// It was taken.
    Yes,
    /// It must wait in the queue.
    No,
}

impl<T: Transport, P: Payload> Node<T, P> {
    /// Lets all legs of a stream take what it offers.
    pub(super) fn refill_stream(&mut self, now: Instant, place: u32) {
        let mut leg = 0;
        while let Some(stream) = self.streams.get(place)
            && let Some(&circuit) = stream.legs.get(leg)
        {
            let source = self.source_flow(circuit);
            self.refill(now, source);
            self.schedule(now, source);
            leg += 1;
        }
    }

    /// At a source, cuts cells from the flow's streams in turn, as long as the end-to-end gates
    /// are open and no more than the planned number of cells waits.
    #[inline]
    pub(super) fn refill(&mut self, now: Instant, id: FlowId) {
        let ahead = self.plan.ahead.get();
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        if flow.inbound.is_some() {
            return;
        }
        while flow.queue.unsent() < ahead {
            if !flow.gates.end.is_open(now) {
                let opens = flow.gates.end.waits_until(now);
                return opens.map_or((), |at| self.wake_for_pace(id, at));
            }
            let count = flow.streams.len();
            let offer = (0..count)
                .map(|step| (flow.turn + step) % count)
                .find(|&place| {
                    let index = flow.streams[place].1 as usize;
                    self.stream_gates[index].is_open(now)
                        && self
                            .streams
                            .get(index as u32)
                            .is_some_and(|stream| stream.offers(id.circuit()))
                });
            let Some(place) = offer else {
                return self.await_streams(now, id);
            };
            let index = flow.streams[place].1 as usize;
            let Some(stream) = self.streams.get_mut(index as u32) else {
                return;
            };
            flow.queue.push(stream.cut(now));
            flow.gates.end.pass(now);
            self.stream_gates[index].pass(now);
            flow.turn = place + 1;
        }
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

    /// At a sink, hands over the cells that wait, as far as the application takes them.
    #[inline]
    pub(super) fn deliver(&mut self, now: Instant, id: FlowId) {
        self.deliver_flow(now, id);
        self.deliver_others(now);
    }

    /// Does the same at sinks where something that held it back has gone.
    #[inline]
    pub(super) fn deliver_others(&mut self, now: Instant) {
        while let Some(other) = self.deliverable.pop() {
            self.deliver_flow(now, other);
        }
    }

    #[inline]
    fn deliver_flow(&mut self, now: Instant, id: FlowId) {
        loop {
            let Some(flow) = self.flows.get(id.index()).and_then(Option::as_ref) else {
                return;
            };
            let Some(cell) = flow.queue.peek() else {
                return;
            };
            let taken = match cell.header() {
                Err(error) => Err(Violation::Malformed(error)),
                Ok(header) => match header.command {
                    RelayCommand::Data | RelayCommand::NumberedData => {
                        self.take_data(now, id, &header)
                    }
                    RelayCommand::End | RelayCommand::Sendme => self.take_command(now, id, &header),
                },
            };
            match taken {
                Ok(Taken::Yes) if self.plan.forward_feedback => self.report_forwarded(now, id),
                Ok(Taken::Yes) => {}
                Ok(Taken::No) => return,
                Err(violation) => return self.violated(id, violation),
            }
        }
    }

    fn take_command(
        &mut self,
        now: Instant,
        id: FlowId,
        header: &RelayHeader,
    ) -> Result<Taken, Violation> {
        if let Some(flow) = self.flow(id) {
            flow.queue.pop();
            if flow.has_ended(header.stream) {
                return Ok(Taken::Yes);
            }
        }
        // A command is about the data that this end sends.
        let source = id.reverse();
        let result = self.hook(now, source, |transport, state, cx| {
            transport.on_far_end(state, cx, header)
        });
        result.unwrap_or(Ok(()))?;
        self.after_gate(now, source);
        self.refill_other_legs(now, source);
        Ok(Taken::Yes)
    }

    /// What one circuit of a stream heard may let the others go on, for they share its window.
    fn refill_other_legs(&mut self, now: Instant, source: FlowId) {
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

    #[inline]
    fn take_data(
        &mut self,
        now: Instant,
        id: FlowId,
        header: &RelayHeader,
    ) -> Result<Taken, Violation> {
        let Some(flow) = self.flows.get_mut(id.index()).and_then(Option::as_mut) else {
            return Ok(Taken::No);
        };
        let found = flow
            .streams
            .iter()
            .find(|(stream, _)| *stream == header.stream);
        let Some(&(_, index)) = found else {
            return self.drop_late(now, id, header.stream);
        };
        let handle = StreamHandle(self.streams.id(index));
        let stream = self
            .streams
            .get_mut(index)
            .ok_or(Violation::UnknownStream)?;
        if !stream.reading {
            return Ok(Taken::No);
        }
        let offer = stream.offer(header)?;
        if offer == Offer::TooEarly {
            return Ok(Taken::No);
        }
        let Some(payload) = flow.queue.pop() else {
            return Ok(Taken::No);
        };
        if offer == Offer::Early {
            stream.hold(header.number, payload);
        } else {
            stream.delivered += Bytes::new(u64::from(header.len));
            self.events.push_back(Event::Delivered {
                stream: handle,
                payload,
            });
            if stream.resequencer.is_some() {
                self.deliver_held(handle, id)?;
            }
        }
        let stream = header.stream;
        self.hook(now, id, |transport, state, cx| {
            transport.on_delivered(state, cx, stream);
        });
        Ok(Taken::Yes)
    }

    /// Drops the data of a stream that has ended; for windows it counts as delivered.
    #[cold]
    fn drop_late(
        &mut self,
        now: Instant,
        id: FlowId,
        stream: StreamId,
    ) -> Result<Taken, Violation> {
        let flow = self.flow(id).filter(|flow| flow.has_ended(stream));
        flow.ok_or(Violation::UnknownStream)?.queue.pop();
        self.hook(now, id, |transport, state, cx| {
            transport.on_delivered(state, cx, stream);
        });
        Ok(Taken::Yes)
    }

    /// Delivers held cells whose turn has come, and marks other legs that may go on now.
    fn deliver_held(&mut self, handle: StreamHandle, from: FlowId) -> Result<(), Violation> {
        let Some(stream) = self.streams.get_mut(handle.0.index) else {
            return Ok(());
        };
        while let Some(payload) = stream.resequencer.as_mut().and_then(Resequencer::take_next) {
            let header = payload.header().map_err(Violation::Malformed)?;
            stream.delivered += Bytes::new(u64::from(header.len));
            self.events.push_back(Event::Delivered {
                stream: handle,
                payload,
            });
        }
        for leg in stream.legs.clone() {
            let other = self.sink_flow(leg);
            if other != from && self.flow(other).is_some_and(|flow| flow.queue.unsent() > 0) {
                self.deliverable.push(other);
            }
        }
        Ok(())
    }
}
