//! Relay commands: about streams, and of the layers at the ends of circuits.

use hopflow_units::{Bytes, Instant, StreamId};
use hopflow_wire::{Payload, RelayCommand, RelayHeader};

use super::Node;
use super::visit::Visit;
use crate::{Direction, EndSignal, HopControl, PathSignal, Violation};

/// Whether a command is a SENDME about a circuit as a whole.
pub(super) fn is_circuit_sendme(header: &RelayHeader) -> bool {
    header.command == RelayCommand::Sendme && header.stream == StreamId::CIRCUIT
}

impl<H: HopControl, P: Payload> Node<H, P> {
    /// A sink took a command off the queue of a flow.
    pub(super) fn on_command(
        &mut self,
        now: Instant,
        circuit: u32,
        direction: Direction,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        let Some(mut visit) = self.visit(now, circuit) else {
            return Ok(());
        };
        let place = visit.stream_of(header.stream);
        if place.is_none() && header.stream != StreamId::CIRCUIT {
            return visit.on_late_command(header);
        }
        match header.command {
            RelayCommand::Reset => {
                let place = place.ok_or(Violation::UnknownStream)?;
                self.on_reset(now, circuit, place)
            }
            RelayCommand::Xoff | RelayCommand::Xon => {
                let place = place.ok_or(Violation::UnknownStream)?;
                if let Some(stream) = self.streams.get_mut(place) {
                    stream.paused = header.command == RelayCommand::Xoff;
                }
                self.refill_stream(now, place);
                Ok(())
            }
            _ => self.on_layer_command(now, circuit, direction.reverse(), header),
        }
    }

    /// A command for the end control, or for the choice among circuits, about the data that this
    /// end sends.
    fn on_layer_command(
        &mut self,
        now: Instant,
        circuit: u32,
        source: Direction,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        let path = self.layers.path.as_ref();
        if path.is_some_and(|path| path.takes(header.command)) {
            let id = crate::FlowId::new(circuit, source);
            self.signal_path(now, id, PathSignal::Command(header))?;
        } else if let Some(mut visit) = self.visit(now, circuit) {
            visit.on_end(EndSignal::Command(header))?;
        }
        self.with(now, circuit, |visit| visit.after_gate(source));
        self.refill_legs(now, circuit);
        Ok(())
    }

    /// The other end broke a stream off: answers likewise, so that it knows that nothing follows.
    fn on_reset(&mut self, now: Instant, circuit: u32, place: u32) -> Result<(), Violation> {
        let Some(name) = self.streams.get(place).map(|stream| stream.id) else {
            return Ok(());
        };
        if let Some(mut visit) = self.visit(now, circuit) {
            visit.send_command(RelayCommand::Reset, name)?;
        }
        self.remove_stream(now, place);
        if let Some(visit) = self.visit(now, circuit)
            && let Some(edge) = &mut visit.circuit.edge
        {
            edge.forget_ended(name);
        }
        Ok(())
    }
}

impl<H: HopControl, P: Payload> Visit<'_, H, P> {
    /// The place of a stream that begins or ends here.
    fn stream_of(&self, name: StreamId) -> Option<u32> {
        self.circuit.edge.as_ref()?.stream(name)
    }

    /// A command about a stream that is over here: while its last data was under way, the other end
    /// could not know.
    #[cold]
    fn on_late_command(&mut self, header: &RelayHeader) -> Result<(), Violation> {
        let Some(edge) = &mut self.circuit.edge else {
            return Ok(());
        };
        let ended = edge.has_ended(header.stream);
        if header.command != RelayCommand::Reset {
            return Ok(());
        }
        if ended {
            edge.forget_ended(header.stream);
            return Ok(());
        }
        // The other end waits to hear that nothing follows.
        self.send_command(RelayCommand::Reset, header.stream)
    }

    /// Sends the other end a command about a stream.
    pub(super) fn send_command(
        &mut self,
        command: RelayCommand,
        stream: StreamId,
    ) -> Result<(), Violation> {
        let Some(source) = self.circuit.source() else {
            return Ok(());
        };
        let header = RelayHeader::control(command, stream);
        self.outbox.commands.push(header);
        self.send_commands(source)
    }

    /// Puts the commands that wait into the queue of the flow that begins here.
    pub(super) fn send_commands(&mut self, source: Direction) -> Result<(), Violation> {
        let (flows, edge) = self.circuit.parts_mut();
        let flow = &mut flows[source as usize];
        let mut proofs = edge.map(|edge| &mut edge.proofs);
        for header in self.outbox.commands.drain(..) {
            let proof = match &mut proofs {
                Some(proofs) if is_circuit_sendme(&header) => {
                    debug_assert!(
                        self.plan.end.sendme_every.is_some(),
                        "a control whose sinks send SENDMEs about circuits plans for them"
                    );
                    proofs.next_shown()
                }
                _ => None,
            };
            flow.push_own(match proof {
                Some(proof) => P::proving(header, &proof, self.now),
                None => P::control(header, self.now),
            });
        }
        self.after_command(source)
    }

    /// Sends the other end a message about linking the circuit.
    pub(super) fn send_link(&mut self, mut message: P::Data, len: Bytes) -> Result<(), Violation> {
        let Some(source) = self.circuit.source() else {
            return Ok(());
        };
        let command = match source {
            Direction::Forward => RelayCommand::Link,
            Direction::Backward => RelayCommand::Linked,
        };
        let fits = len.get() <= P::capacity(command) as u64;
        assert!(fits, "the message fits a cell");
        let header = RelayHeader {
            len: len.get() as u16,
            ..RelayHeader::control(command, StreamId::CIRCUIT)
        };
        let cell = P::cut(header, &mut message, self.now);
        self.circuit[source].push_own(cell);
        self.after_command(source)
    }

    /// Something other than a stream's data waits at the source.
    fn after_command(&mut self, source: Direction) -> Result<(), Violation> {
        if self.circuit[source].waiting() > self.plan.own_limit() {
            // The peer triggers commands but never drains them.
            return Err(Violation::Excess);
        }
        if self.plan.connection().is_some() {
            self.pump(source);
        }
        self.schedule(source);
        Ok(())
    }
}
