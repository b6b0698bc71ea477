//! Delivery: what becomes of cells at the end of their circuit.

use hopflow_units::{Bytes, Cells, Instant, StreamId};
use hopflow_wire::{Payload, Proof, RelayCommand, RelayHeader};

use super::Node;
use super::commands::is_circuit_sendme;
use super::outbox::LegWork;
use super::visit::Visit;
use crate::edge::{Offer, Resequencer, Stream};
use crate::{Direction, EndSignal, Event, FlowId, Gate, HopControl, LegUse, Violation};

/// Streams that a client may have on one circuit, with those that ended here and that it has not heard of. Clients of ours
/// begin half as many.
const MAX_STREAMS: usize = 4096;

/// What became of a cell at a sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Taken {
    /// It was taken.
    Yes,
    /// It must wait in the queue.
    No,
}

const fn is_end(command: RelayCommand) -> bool {
    matches!(command, RelayCommand::End | RelayCommand::NumberedEnd)
}

impl<H: HopControl, P: Payload> Node<H, P> {
    /// At a sink, delivers the cells that wait, as far as the application takes them, and does the
    /// same at sinks where something that held it back has gone.
    #[inline]
    pub(super) fn deliver(&mut self, now: Instant, circuit: u32, direction: Direction) {
        self.deliver_flow(now, circuit, direction);
        self.deliver_others(now);
        if self.plan.connection().is_some()
            && let Some(mut visit) = self.visit(now, circuit)
        {
            // Cells that must wait have arrived, too.
            visit.acknowledge(direction);
        }
    }

    #[inline]
    pub(super) fn deliver_others(&mut self, now: Instant) {
        while let Some(other) = self.outbox.deliverable.pop() {
            self.deliver_flow(now, other.circuit(), other.direction());
        }
        if self.outbox.has_leg_work() {
            self.work_on_legs(now);
        }
    }

    #[inline]
    fn deliver_flow(&mut self, now: Instant, circuit: u32, direction: Direction) {
        while let Some(mut visit) = self.visit(now, circuit) {
            let result = match visit.deliver(direction) {
                Ok(None) => return,
                Ok(Some(header)) => self.on_command(now, circuit, direction, &header),
                Err(violation) => Err(violation),
            };
            if let Err(violation) = result {
                return self.violated(now, circuit, violation);
            }
            if let Some(mut visit) = self.visit(now, circuit) {
                visit.after_taken(direction);
            }
        }
    }

    /// The application takes more: delivers what waited, and lets the circuits go on that did.
    pub(super) fn read_on(&mut self, now: Instant, place: u32) {
        let Some(&leg) = self.streams.legs(place).first() else {
            return;
        };
        self.with(now, leg, |visit| visit.read_on(place));
        for leg in self.streams.legs(place) {
            let sink = self.source_flow(leg).reverse();
            self.deliver(now, leg, sink.direction());
        }
    }
}

impl<H: HopControl, P: Payload> Visit<'_, H, P> {
    /// Delivers cells until one must wait, or a relay command comes, which it takes and returns.
    #[inline]
    fn deliver(&mut self, direction: Direction) -> Result<Option<RelayHeader>, Violation> {
        while let Some(cell) = self.circuit[direction].queue.peek() {
            let header = cell.header().map_err(Violation::Malformed)?;
            let taken = match header.command {
                RelayCommand::Begin => self.take_begin(direction, &header)?,
                RelayCommand::Link | RelayCommand::Linked => self.take_link(direction, &header)?,
                command if command.is_content() => self.take_content(direction, &header)?,
                _ => {
                    let cell = self.circuit[direction].queue.pop();
                    if is_circuit_sendme(&header) {
                        self.check_proof(cell)?;
                    }
                    return Ok(Some(header));
                }
            };
            if taken == Taken::No {
                break;
            }
            self.after_taken(direction);
        }
        Ok(None)
    }

    /// A cell of content left the sink's queue.
    #[inline]
    fn on_dequeued(&mut self, stream: StreamId, proof: Option<Proof>) -> Result<(), Violation> {
        if let (Some(proof), Some(every)) = (proof, self.plan.end.sendme_every)
            && let Some(edge) = &mut self.circuit.edge
        {
            edge.proofs.on_read(every, proof);
        }
        self.on_end(EndSignal::Dequeued(stream))
    }

    /// A SENDME about the circuit came: where cells are sealed it proves what it acknowledges.
    fn check_proof(&mut self, cell: Option<P>) -> Result<(), Violation> {
        let sealed = cell.filter(|cell| cell.proof().is_some());
        if let (Some(cell), Some(_)) = (sealed, self.plan.end.sendme_every)
            && let Some(edge) = &mut self.circuit.edge
        {
            edge.proofs.check(cell.shown())?;
        }
        Ok(())
    }

    /// Reports a cell that left the sink's queue.
    #[inline]
    fn after_taken(&mut self, direction: Direction) {
        if self.plan.hop.feedback.forwarded {
            return self.report_forwarded(direction);
        }
        let flow = &mut self.circuit[direction];
        let taken = flow.queue.next();
        if let Some(sink) = flow.repair.sink() {
            sink.on_taken(taken);
            self.acknowledge(direction);
        }
    }

    /// At an exit, the client begins a stream.
    fn take_begin(
        &mut self,
        direction: Direction,
        header: &RelayHeader,
    ) -> Result<Taken, Violation> {
        let (flows, edge) = self.circuit.parts_mut();
        let Some(edge) = edge else {
            return Ok(Taken::No);
        };
        let known = edge.stream(header.stream).is_some();
        // Its name is used again: nothing of the one that ended can follow.
        edge.forget_ended(header.stream);
        let at_exit = direction == Direction::Forward;
        if known
            || !at_exit
            || header.stream == StreamId::CIRCUIT
            || edge.streams().len() + edge.ended() >= MAX_STREAMS
        {
            return Err(Violation::Unexpected(header.command));
        }
        let set = edge.legs.of_stream_on(self.place);
        let set = set.ok_or(Violation::Unexpected(header.command))?;
        let Some(target) = flows[direction as usize].queue.pop() else {
            return Ok(Taken::No);
        };
        let proof = target.proof();
        let has_others = set.circuits.len() > 1;
        let mut state = Stream::new(header.stream, set.circuits, set.hold);
        if self.plan.path.legs == LegUse::First {
            state.pin(Some(self.place));
        }
        state.credit = Cells::ZERO;
        let mut gate = Gate::default();
        self.end.open_stream(&mut gate);
        let stream = self.streams.insert(state, gate);
        edge.add_stream(header.stream, stream.0.index);
        if has_others {
            self.outbox.leave(LegWork::Join(stream.0.index));
        }
        self.outbox.events.push_back(Event::Begun {
            stream,
            circuit: self.handle,
            target,
        });
        self.on_dequeued(header.stream, proof)?;
        self.on_end(EndSignal::Delivered(header.stream))?;
        Ok(Taken::Yes)
    }

    /// A client asks an exit to link a circuit, or the exit answers: the drivers' matter.
    #[cold]
    fn take_link(
        &mut self,
        direction: Direction,
        header: &RelayHeader,
    ) -> Result<Taken, Violation> {
        let of_client = header.command == RelayCommand::Link;
        if of_client != (direction == Direction::Forward) {
            return Err(Violation::Unexpected(header.command));
        }
        let Some(message) = self.circuit[direction].queue.pop() else {
            return Ok(Taken::No);
        };
        let circuit = self.handle;
        self.outbox
            .events
            .push_back(Event::Link { circuit, message });
        Ok(Taken::Yes)
    }

    /// A cell of a stream's data, or its end.
    #[inline]
    fn take_content(
        &mut self,
        direction: Direction,
        header: &RelayHeader,
    ) -> Result<Taken, Violation> {
        let (flows, edge) = self.circuit.parts_mut();
        let queue = &mut flows[direction as usize].queue;
        let Some(edge) = edge else {
            return Ok(Taken::No);
        };
        let Some(place) = edge.stream(header.stream) else {
            // Data of a stream that has ended is dropped; for the circuit's window it counts as
            // delivered.
            if !edge.has_ended(header.stream) {
                return Err(Violation::UnknownStream);
            }
            let proof = queue.pop().and_then(|cell| cell.proof());
            self.on_dequeued(header.stream, proof)?;
            return Ok(Taken::Yes);
        };
        let stream = self.streams.get_mut(place);
        let stream = stream.ok_or(Violation::UnknownStream)?;
        if stream.inbox.is_full() {
            return Ok(Taken::No);
        }
        let offer = stream.offer(header)?;
        if offer == Offer::TooEarly {
            return Ok(Taken::No);
        }
        let Some(payload) = queue.pop() else {
            return Ok(Taken::No);
        };
        if stream.on_heard() {
            self.outbox.leave(LegWork::Open(place));
        }
        let proof = payload.proof();
        if offer == Offer::Early {
            stream.hold(header.number, payload);
            self.on_dequeued(header.stream, proof)?;
            return Ok(Taken::Yes);
        }
        self.on_dequeued(header.stream, proof)?;
        self.hand_over(place, header, payload)?;
        if header.command.is_numbered() {
            self.deliver_held(direction, place)?;
        }
        Ok(Taken::Yes)
    }

    /// Delivers the next cell of a stream, or keeps it until the application reads.
    #[inline]
    fn hand_over(&mut self, place: u32, header: &RelayHeader, payload: P) -> Result<(), Violation> {
        let Some(stream) = self.streams.get_mut(place) else {
            return Ok(());
        };
        if std::mem::replace(&mut stream.far_ended, is_end(header.command)) {
            return Err(Violation::Unexpected(header.command));
        }
        if stream.credit > Cells::ZERO && stream.inbox.is_empty() {
            return self.consume(place, header, payload);
        }
        if stream.inbox.push(payload) {
            return self.tell_source(place, RelayCommand::Xoff);
        }
        Ok(())
    }

    /// The application takes a cell, for which it has credit.
    #[inline]
    fn consume(&mut self, place: u32, header: &RelayHeader, payload: P) -> Result<(), Violation> {
        let handle = self.streams.handle(place);
        let Some(stream) = self.streams.get_mut(place) else {
            return Ok(());
        };
        if stream.credit != Cells::MAX {
            stream.credit -= Cells::new(1);
        }
        let event = if is_end(header.command) {
            Event::Finished { stream: handle }
        } else {
            stream.delivered += Bytes::new(u64::from(header.len));
            Event::Delivered {
                stream: handle,
                payload,
            }
        };
        self.outbox.events.push_back(event);
        self.on_end(EndSignal::Delivered(header.stream))
    }

    /// Delivers held cells whose turn has come, and marks other legs that may go on now.
    fn deliver_held(&mut self, direction: Direction, place: u32) -> Result<(), Violation> {
        while let Some(stream) = self.streams.get_mut(place)
            && let Some(payload) = stream.resequencer.as_mut().and_then(Resequencer::take_next)
        {
            let header = payload.header().map_err(Violation::Malformed)?;
            self.hand_over(place, &header, payload)?;
        }
        if let Some(stream) = self.streams.get(place) {
            let others = stream.legs.iter().filter(|leg| **leg != self.place);
            let others = others.map(|leg| FlowId::new(*leg, direction));
            self.outbox.deliverable.extend(others);
        }
        Ok(())
    }

    /// Asks the other end of a stream to pause or to go on: along the stream's first circuit, so that
    /// neither overtakes the other.
    fn tell_source(&mut self, place: u32, command: RelayCommand) -> Result<(), Violation> {
        let Some(stream) = self.streams.get(place) else {
            return Ok(());
        };
        match stream.legs.first() {
            Some(&first) if first != self.place => {
                let work = LegWork::Send(first, command, stream.id);
                self.outbox.leave(work);
                Ok(())
            }
            _ => self.send_command(command, stream.id),
        }
    }

    /// Delivers what waited for the application of a stream, as far as it takes that.
    fn read_on(&mut self, place: u32) -> Result<(), Violation> {
        while let Some(stream) = self.streams.get_mut(place)
            && stream.credit > Cells::ZERO
            && let Some(payload) = stream.inbox.pop()
        {
            let resumes = stream.inbox.resumes();
            // What waits was readable when it came.
            if let Ok(header) = payload.header() {
                self.consume(place, &header, payload)?;
            }
            if resumes {
                self.tell_source(place, RelayCommand::Xon)?;
            }
        }
        Ok(())
    }
}
