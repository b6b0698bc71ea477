//! The delivering edge: what becomes of cells at the end of their circuit.

use hopflow_units::{Bytes, Cells, Instant, StreamId};
use hopflow_wire::{Payload, RelayCommand, RelayHeader};

use super::Node;
use crate::edge::{Offer, Resequencer};
use crate::{
    CircuitHandle, Direction, Event, FlowId, StreamHandle, StreamSpec, Transport, Violation,
};

/// Streams that a client may have on one circuit.
const MAX_STREAMS: usize = 4096;
/// The name that means a circuit as a whole.
const CIRCUIT: StreamId = StreamId::new(0);

const fn is_end(command: RelayCommand) -> bool {
    matches!(command, RelayCommand::End | RelayCommand::NumberedEnd)
}

/// What became of a cell at a sink.
enum Taken {
    /// It was taken.
    Yes,
    /// It must wait in the queue.
    No,
}

impl<T: Transport, P: Payload> Node<T, P> {
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
                Ok(header) if header.command == RelayCommand::Begin => {
                    self.take_begin(now, id, &header)
                }
                Ok(header) if header.command.is_content() => self.take_content(now, id, &header),
                Ok(header) => self.take_command(now, id, &header),
            };
            match taken {
                Ok(Taken::Yes) if self.plan.forward_feedback => self.report_forwarded(now, id),
                Ok(Taken::Yes) if self.plan.connection.is_some() => self.after_sunk(now, id),
                Ok(Taken::Yes) => {}
                Ok(Taken::No) => return,
                Err(violation) => return self.violated(id, violation),
            }
        }
    }

    /// At an exit, the client begins a stream.
    fn take_begin(
        &mut self,
        now: Instant,
        id: FlowId,
        header: &RelayHeader,
    ) -> Result<Taken, Violation> {
        let circuit = CircuitHandle(self.circuits.id(id.circuit()));
        let Some(flow) = self.flow(id) else {
            return Ok(Taken::No);
        };
        let known = flow.streams.iter().any(|(id, _)| *id == header.stream);
        let at_exit = flow.site.direction == Direction::Forward;
        if known || !at_exit || header.stream == CIRCUIT || flow.streams.len() >= MAX_STREAMS {
            return Err(Violation::Unexpected);
        }
        flow.ended.retain(|ended| *ended != header.stream);
        let Some(target) = flow.queue.pop() else {
            return Ok(Taken::No);
        };
        let spec = StreamSpec {
            id: header.stream,
            legs: vec![circuit],
            hold: Cells::ZERO,
        };
        if let Some(stream) = self.add_stream(&spec) {
            if let Some(state) = self.streams.get_mut(stream.0.index) {
                state.reading = false;
            }
            self.events.push_back(Event::Begun {
                stream,
                circuit,
                target,
            });
        }
        self.after_taken(now, id, header.stream);
        self.after_consumed(now, id, header.stream);
        Ok(Taken::Yes)
    }

    /// A cell that is about a stream or the circuit.
    fn take_command(
        &mut self,
        now: Instant,
        id: FlowId,
        header: &RelayHeader,
    ) -> Result<Taken, Violation> {
        let Some(flow) = self.flow(id) else {
            return Ok(Taken::No);
        };
        flow.queue.pop();
        let stream = flow.streams.iter().find(|(id, _)| *id == header.stream);
        let place = stream.map(|&(_, place)| place);
        if place.is_none() && flow.has_ended(header.stream) {
            if header.command == RelayCommand::Reset {
                flow.ended.retain(|ended| *ended != header.stream);
            }
            return Ok(Taken::Yes);
        }
        if place.is_none() && header.stream != CIRCUIT {
            self.on_late_command(now, id, header);
            return Ok(Taken::Yes);
        }
        // A command is about the data that this end sends.
        let source = id.reverse();
        match header.command {
            RelayCommand::Reset => self.on_reset(now, id, place)?,
            RelayCommand::Xoff | RelayCommand::Xon => {
                let place = place.ok_or(Violation::UnknownStream)?;
                if let Some(stream) = self.streams.get_mut(place) {
                    stream.paused = header.command == RelayCommand::Xoff;
                }
                self.refill_stream(now, place);
            }
            _ => {
                let result = self.hook(now, source, |transport, state, cx| {
                    transport.on_far_end(state, cx, header)
                });
                result.unwrap_or(Ok(()))?;
                self.after_gate(now, source);
                self.refill_other_legs(now, source);
            }
        }
        Ok(Taken::Yes)
    }

    /// A command about a stream that is over here: while its last data was under way, the far end
    /// could not know.
    #[cold]
    fn on_late_command(&mut self, now: Instant, id: FlowId, header: &RelayHeader) {
        if header.command == RelayCommand::Reset {
            // The far end waits to hear that nothing follows.
            self.send_command(now, id, RelayCommand::Reset, header.stream);
        }
    }

    /// The far end broke a stream off: answers likewise, so that it knows that nothing follows.
    fn on_reset(&mut self, now: Instant, id: FlowId, place: Option<u32>) -> Result<(), Violation> {
        let place = place.ok_or(Violation::UnknownStream)?;
        let Some(stream) = self.streams.get(place) else {
            return Ok(());
        };
        let name = stream.id;
        self.send_command(now, id, RelayCommand::Reset, name);
        self.remove_stream(place);
        if let Some(flow) = self.flow(id) {
            flow.ended.retain(|ended| *ended != name);
        }
        Ok(())
    }

    /// A cell of a stream's data, or its end.
    #[inline]
    fn take_content(
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
        let Some(&(_, place)) = found else {
            return self.drop_late(now, id, header.stream);
        };
        let stream = self
            .streams
            .get_mut(place)
            .ok_or(Violation::UnknownStream)?;
        if stream.inbox.is_full() {
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
            self.after_taken(now, id, header.stream);
            return Ok(Taken::Yes);
        }
        self.after_taken(now, id, header.stream);
        self.hand_over(now, id, place, header, payload)?;
        if self
            .streams
            .get(place)
            .is_some_and(|stream| stream.resequencer.is_some())
        {
            self.deliver_held(now, place, id)?;
        }
        Ok(Taken::Yes)
    }

    /// Hands the next cell of a stream to the application, or keeps it until that reads.
    #[inline]
    fn hand_over(
        &mut self,
        now: Instant,
        id: FlowId,
        place: u32,
        header: &RelayHeader,
        payload: P,
    ) -> Result<(), Violation> {
        let Some(stream) = self.streams.get_mut(place) else {
            return Ok(());
        };
        if std::mem::replace(&mut stream.far_ended, is_end(header.command)) {
            return Err(Violation::Unexpected);
        }
        if stream.reading && stream.inbox.is_empty() {
            self.consume(now, id, place, header, payload);
        } else if stream.inbox.push(payload) {
            self.send_command(now, id, RelayCommand::Xoff, header.stream);
        }
        Ok(())
    }

    /// The application takes a cell.
    #[inline]
    fn consume(&mut self, now: Instant, id: FlowId, place: u32, header: &RelayHeader, payload: P) {
        let handle = StreamHandle(self.streams.id(place));
        let Some(stream) = self.streams.get_mut(place) else {
            return;
        };
        if is_end(header.command) {
            self.events.push_back(Event::Finished { stream: handle });
        } else {
            stream.delivered += Bytes::new(u64::from(header.len));
            self.events.push_back(Event::Delivered {
                stream: handle,
                payload,
            });
        }
        self.after_consumed(now, id, header.stream);
    }

    /// The application reads again: hands over what waited, and lets the circuits go on that did.
    pub(super) fn read_on(&mut self, now: Instant, place: u32) {
        let Some(&leg) = self
            .streams
            .get(place)
            .and_then(|stream| stream.legs.first())
        else {
            return;
        };
        let id = self.sink_flow(leg);
        while let Some(stream) = self.streams.get_mut(place)
            && stream.reading
            && let Some(payload) = stream.inbox.pop()
        {
            let resumes = stream.inbox.resumes();
            let name = stream.id;
            // What waits was readable when it came.
            if let Ok(header) = payload.header() {
                self.consume(now, id, place, &header, payload);
            }
            if resumes {
                self.send_command(now, id, RelayCommand::Xon, name);
            }
        }
        let legs = self.streams.get(place).map(|stream| stream.legs.clone());
        for leg in legs.into_iter().flatten() {
            self.deliver(now, self.sink_flow(leg));
        }
    }

    /// Sends the far end a command about a stream whose data comes in by `sink`.
    fn send_command(
        &mut self,
        now: Instant,
        sink: FlowId,
        command: RelayCommand,
        stream: StreamId,
    ) {
        self.far_end.push(RelayHeader::control(command, stream));
        self.send_far_end(now, sink);
    }

    /// Closes a stream at this end, and breaks it off if it is not over.
    pub(super) fn end_stream(&mut self, now: Instant, place: u32) {
        let Some(stream) = self.streams.get(place) else {
            return;
        };
        let (name, over, legs) = (stream.id, stream.is_over(), stream.legs.clone());
        let sinks: Vec<FlowId> = legs.iter().map(|&leg| self.sink_flow(leg)).collect();
        self.forget_stream(place);
        for (turn, &sink) in sinks.iter().enumerate() {
            if let Some(flow) = self.flow(sink).filter(|_| over) {
                flow.ended.retain(|ended| *ended != name);
            } else if turn == 0 {
                self.send_command(now, sink, RelayCommand::Reset, name);
            }
        }
        self.deliver_others(now);
    }

    /// Drops the data of a stream that has ended; for the circuit's window it counts as delivered.
    #[cold]
    fn drop_late(
        &mut self,
        now: Instant,
        id: FlowId,
        stream: StreamId,
    ) -> Result<Taken, Violation> {
        let flow = self.flow(id).filter(|flow| flow.has_ended(stream));
        flow.ok_or(Violation::UnknownStream)?.queue.pop();
        self.after_taken(now, id, stream);
        Ok(Taken::Yes)
    }

    #[inline]
    fn after_taken(&mut self, now: Instant, id: FlowId, stream: StreamId) {
        self.hook(now, id, |transport, state, cx| {
            transport.on_taken(state, cx, stream);
        });
    }

    #[inline]
    fn after_consumed(&mut self, now: Instant, id: FlowId, stream: StreamId) {
        self.hook(now, id, |transport, state, cx| {
            transport.on_consumed(state, cx, stream);
        });
    }

    /// Delivers held cells whose turn has come, and marks other legs that may go on now.
    fn deliver_held(&mut self, now: Instant, place: u32, from: FlowId) -> Result<(), Violation> {
        while let Some(stream) = self.streams.get_mut(place)
            && let Some(payload) = stream.resequencer.as_mut().and_then(Resequencer::take_next)
        {
            let header = payload.header().map_err(Violation::Malformed)?;
            self.hand_over(now, from, place, &header, payload)?;
        }
        let legs = self.streams.get(place).map(|stream| stream.legs.clone());
        for leg in legs.into_iter().flatten() {
            let other = self.sink_flow(leg);
            if other != from && self.flow(other).is_some_and(|flow| flow.queue.unsent() > 0) {
                self.deliverable.push(other);
            }
        }
        Ok(())
    }
}
