//! What leaves: the node's frames are encoded, encrypted and sealed.

use hopflow_onion::OnionPayload;
use hopflow_units::{Instant, LinkId};
use hopflow_wire::{Carrier, Cell, Frame};

use super::Engine;
use crate::circuit::CircuitTable;
use crate::link::LinkEnd;
use crate::types::{ConnId, Transmit};

impl Engine {
    /// Datagrams for one neighbour, all of one length but the last, which may be shorter. The node
    /// gives out frames of `most` bytes for that, roughly; a driver whose uplink is slow asks for
    /// little at a time, so that what waits does so in the node.
    pub fn poll_datagrams(&mut self, now: Instant, most: usize) -> Option<(Transmit, &[u8])> {
        if self.plan.link.carrier == Carrier::Stream {
            return None;
        }
        let (transmit, batch) = loop {
            if let Some(taken) = self.links.take_datagrams() {
                break taken;
            }
            if !self.pump(now, most) {
                return None;
            }
        };
        Some((transmit, self.links.bytes(&batch)))
    }

    /// Bytes for one connection.
    pub fn poll_bytes(&mut self, now: Instant) -> Option<(ConnId, &[u8])> {
        if self.plan.link.carrier == Carrier::Datagram {
            return None;
        }
        let (conn, batch) = loop {
            if let Some(taken) = self.links.take_bytes() {
                break taken;
            }
            if !self.pump(now, usize::MAX) {
                return None;
            }
        };
        Some((conn, self.links.bytes(&batch)))
    }

    /// Lets the node fill links with frames of `most` bytes, roughly; false if it has none.
    pub(super) fn pump(&mut self, now: Instant, most: usize) -> bool {
        let mut frames = std::mem::take(&mut self.buffers.frames);
        let mut filled = 0;
        while filled < most
            && let Some((link, len)) = self.host.poll_transmit(now, &mut frames)
        {
            filled += len.get() as usize;
            self.send(now, link, &frames);
        }
        frames.clear();
        self.buffers.frames = frames;
        self.take_events(now);
        filled > 0
    }

    #[inline]
    fn send(&mut self, now: Instant, id: LinkId, frames: &[Frame<OnionPayload>]) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        let carrier = self.plan.link.carrier;
        let plain = &mut self.buffers.plain;
        plain.clear();
        let mut has_cells = false;
        for frame in frames {
            match frame {
                Frame::Cell(cell) => {
                    has_cells = true;
                    encode_cell(frame, cell, carrier, link, &mut self.circuits, plain);
                }
                _ => frame.encode(carrier, plain),
            }
        }
        if !plain.is_empty() {
            link.seal(now, plain);
        }
        if has_cells {
            link.expect_answer(now);
        }
        self.links.queue(id);
        if self.observer.is_some() {
            self.observe_sent(now, id, frames);
        }
    }
}

/// Appends a cell to `out` with what hides it. Cells of circuits that are gone are left out.
#[inline]
fn encode_cell(
    frame: &Frame<OnionPayload>,
    cell: &Cell<OnionPayload>,
    carrier: Carrier,
    link: &LinkEnd,
    circuits: &mut CircuitTable,
    out: &mut Vec<u8>,
) {
    let Some(named) = link.names.get(cell.circuit) else {
        return;
    };
    let Some(open) = circuits.opened(named.circuit) else {
        return;
    };
    let start = out.len();
    frame.encode(carrier, out);
    let body = out.last_chunk_mut();
    if !body.is_some_and(|body| open.crypt.outgoing(named.leaving, cell.seq, body)) {
        out.truncate(start);
    }
}
