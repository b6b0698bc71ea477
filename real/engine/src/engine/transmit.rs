//! What leaves: the node's frames are encoded, encrypted and sealed.

use hopflow_onion::OnionPayload;
use hopflow_overlay::Direction;
use hopflow_units::{Instant, LinkId};
use hopflow_wire::{Carrier, Frame};
use slotmap::SlotMap;

use super::{ConnId, Engine, Transmit};
use crate::circuit::{Circuit, CircuitKey, Phase};
use crate::link::{Link, Peer};

impl Engine {
    /// Appends datagrams for one neighbour to `out`, all of one length but the last, which may be
    /// shorter. The node gives out frames of `most` bytes for that, roughly; a driver whose uplink
    /// is slow asks for little at a time, so that what waits does so in the node.
    pub fn poll_datagrams(
        &mut self,
        now: Instant,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        if let Some((transmit, bytes)) = self.farewells.pop_front() {
            out.extend_from_slice(&bytes);
            return Some(transmit);
        }
        if self.plan.carrier == Carrier::Stream {
            return None;
        }
        loop {
            while let Some(&id) = self.sending.front() {
                let link = self.links.get_mut(id.index()).and_then(Option::as_mut);
                if let Some(link) = link
                    && let Peer::Datagram(via, to) = link.peer
                    && let Some(segment) = link.out.take_datagrams(out)
                {
                    return Some(Transmit { to, via, segment });
                }
                self.retire_sending(id);
            }
            if !self.pump(now, most) {
                return None;
            }
        }
    }

    /// Appends bytes for one connection to `out`.
    pub fn poll_bytes(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<ConnId> {
        if self.plan.carrier == Carrier::Datagram {
            return None;
        }
        loop {
            while let Some(&id) = self.sending.front() {
                self.retire_sending(id);
                let link = self.links.get_mut(id.index()).and_then(Option::as_mut);
                if let Some(link) = link
                    && let Peer::Stream(conn) = link.peer
                    && !link.out.is_empty()
                {
                    link.out.take_bytes(out);
                    return Some(conn);
                }
            }
            if !self.pump(now, usize::MAX) {
                return None;
            }
        }
    }

    fn retire_sending(&mut self, id: LinkId) {
        self.sending.pop_front();
        if let Some(link) = self.link_mut(id) {
            link.out.queued = false;
        }
    }

    /// Lets the node fill links with frames of `most` bytes, roughly; false if it has none.
    pub(super) fn pump(&mut self, now: Instant, most: usize) -> bool {
        let mut frames = std::mem::take(&mut self.frames);
        let mut filled = 0;
        while filled < most
            && let Some((link, len)) = self.host.poll_transmit(now, &mut frames)
        {
            filled += len.get() as usize;
            self.send(now, link, &frames);
        }
        frames.clear();
        self.frames = frames;
        self.take_events(now);
        filled > 0
    }

    #[inline]
    fn send(&mut self, now: Instant, id: LinkId, frames: &[Frame<OnionPayload>]) {
        let Some(link) = self.links.get_mut(id.index()).and_then(Option::as_mut) else {
            return;
        };
        let carrier = self.plan.carrier;
        self.plain.clear();
        for frame in frames {
            encode(frame, carrier, link, &mut self.circuits, &mut self.plain);
        }
        if !self.plain.is_empty() {
            link.seal(now, &self.plain);
        }
        if frames.iter().any(|frame| matches!(frame, Frame::Cell(_))) {
            link.asked.get_or_insert(now);
        }
        self.queue_link(id);
    }
}

/// Appends a frame to `out`, a cell with what hides it. Cells of circuits that are gone are left
/// out.
#[inline]
fn encode(
    frame: &Frame<OnionPayload>,
    carrier: Carrier,
    link: &Link,
    circuits: &mut SlotMap<CircuitKey, Circuit>,
    out: &mut Vec<u8>,
) {
    let Frame::Cell(cell) = frame else {
        return frame.encode(carrier, out);
    };
    let Some(named) = link.names.get(cell.circuit) else {
        return;
    };
    let Some(Circuit {
        phase: Phase::Open { crypt, .. },
        ..
    }) = circuits.get_mut(named.circuit)
    else {
        return;
    };
    let start = out.len();
    frame.encode(carrier, out);
    let leaving: Direction = named.leaving;
    let body = out.last_chunk_mut();
    if !body.is_some_and(|body| crypt.outgoing(leaving, cell.seq, body)) {
        out.truncate(start);
    }
}
