//! Circuits that carry streams together: docs/spec/overlay.md, "Linked circuits".

use bytes::BytesMut;
use hopflow_onion::{LinkAnswer, LinkRequest, OnionPayload};
use hopflow_overlay::CircuitHandle;
use hopflow_units::{Bytes, Cells, Instant};

use super::Engine;
use crate::types::{CircuitKey, Event};

/// Cells of a stream that are held at most because cells of other circuits come before them, where a circuit's queue
/// would hold more: two megabytes.
const MOST_EARLY: Cells = Cells::new(4096);

impl Engine {
    /// Asks the exit to make a circuit that we built a leg of a set; [`Event::Linked`] follows. Once the
    /// same worker of the exit has all legs, [`open_stream`](Self::open_stream) takes them together.
    pub fn link(&mut self, now: Instant, circuit: CircuitKey, link: &LinkRequest) {
        if let Some(open) = self.circuits.opened(circuit) {
            let handle = open.handle;
            self.send_link(now, handle, &link.encode());
        }
    }

    fn send_link(&mut self, now: Instant, circuit: CircuitHandle, message: &[u8]) {
        let len = Bytes::new(message.len() as u64);
        self.host
            .send_link(now, circuit, BytesMut::from(message), len);
    }

    /// The other end of a circuit said something about linking it.
    pub(super) fn on_link(
        &mut self,
        now: Instant,
        circuit: CircuitHandle,
        message: &OnionPayload,
    ) -> Option<Event> {
        let key = self.circuits.of(circuit)?;
        let is_ours = self.circuits.get(key)?.prev.is_none();
        if is_ours {
            let worker = LinkAnswer::decode(message.data()).0;
            return Some(Event::Linked {
                circuit: key,
                worker,
            });
        }
        let link = LinkRequest::decode(message.data());
        let link = link.filter(|link| self.circuits.add_leg(key, *link));
        let legs = link.and_then(|link| self.circuits.linked(&link));
        if let Some(legs) = legs {
            self.host.link_circuits(&legs, self.most_early());
        }
        let answer = LinkAnswer(link.map(|_| self.config.worker));
        self.send_link(now, circuit, &answer.encode());
        None
    }

    /// Cells of a stream that are held because others come first: as many as a circuit's queue holds.
    pub(super) fn most_early(&self) -> Cells {
        self.plan.link.queue_limit.min(MOST_EARLY)
    }
}
