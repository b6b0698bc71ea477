//! Streams over several circuits: what a transport wants with them.

use hopflow_units::{Instant, StreamId};
use hopflow_wire::{Payload, RelayCommand, RelayHeader};

use super::Node;
use crate::transport::LegCall;
use crate::{FlowId, Transport, Violation};

impl<T: Transport, P: Payload> Node<T, P> {
    /// Does what a hook of the flow `id` wants with the legs of its streams.
    #[cold]
    pub(super) fn call_legs(&mut self, now: Instant, id: FlowId) {
        for call in std::mem::take(&mut self.leg_calls) {
            match call {
                LegCall::Send(along, command) => self.send_along(now, along, command),
                LegCall::Pin(leg) => self.pin_streams(now, id, Some(leg)),
                LegCall::Park => self.pin_streams(now, id, None),
            }
        }
    }

    /// Puts a command about the circuit into the queue of a flow that begins here.
    fn send_along(&mut self, now: Instant, id: FlowId, command: RelayCommand) {
        let limit = self.plan.own_limit();
        let Some(flow) = self.flow(id).filter(|flow| flow.inbound.is_none()) else {
            return;
        };
        let header = RelayHeader::control(command, StreamId::new(0));
        flow.queue.push(P::control(header, now));
        if flow.queue.unsent() > limit {
            // Whoever provokes commands lets nobody take them.
            return self.violated(id, Violation::Excess);
        }
        self.schedule(now, id);
    }

    /// Lets one leg, or none, take the cells of those of a flow's streams that have several.
    fn pin_streams(&mut self, now: Instant, id: FlowId, leg: Option<FlowId>) {
        let Some(flow) = self.flow(id) else { return };
        let places: Vec<u32> = flow.streams.iter().map(|(_, place)| *place).collect();
        for place in places {
            let Some(stream) = self.streams.get_mut(place) else {
                continue;
            };
            if stream.legs.len() < 2 {
                continue;
            }
            match leg {
                Some(leg) => stream.pin(Some(leg.circuit())),
                None => stream.park(),
            }
            self.refill_stream(now, place);
        }
    }
}
