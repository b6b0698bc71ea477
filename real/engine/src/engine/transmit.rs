//! What leaves: the node's frames and the engine's own are encoded, encrypted and sealed.

use hopflow_onion::OnionPayload;
use hopflow_overlay::CircuitHandle;
use hopflow_units::{Bytes, CircuitId as Name, Instant, LinkId};
use hopflow_wire::{Carrier, Cell, Destroy, Feedback, Frame, Proof, Reason, Setup};

use super::Engine;
use crate::circuit::CircuitTable;
use crate::crypt::NotSent;
use crate::link::{LinkEnd, Sending};
use crate::types::{Body, ConnId, Transmit};

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
            if let Some(taken) = self.links.take_bytes(now) {
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
        let proves = self.plan.end.sendme_every.is_some();
        let plain = &mut self.buffers.plain;
        plain.clear();
        self.buffers.left_out.clear();
        let mut has_cells = false;
        for (frame, place) in frames.iter().zip(0..) {
            match frame {
                Frame::Cell(cell) => {
                    has_cells = true;
                    match encode_cell(frame, cell, carrier, link, &mut self.circuits, plain) {
                        Ok(Some((circuit, proof))) if proves => {
                            self.host.note_proof(circuit, proof);
                        }
                        Ok(_) => {}
                        Err(NotSent) => self.buffers.left_out.push(place),
                    }
                }
                _ => frame.encode(carrier, plain),
            }
        }
        if !plain.is_empty() {
            link.seal_of_node(now, plain);
        }
        // Where the ends of circuits repair, no neighbour answers cells.
        if has_cells && self.plan.connection().is_none() {
            link.expect_answer(now);
        }
        self.links.queue(id);
        if self.observer.is_some() {
            self.observe_sent(now, id, frames);
        }
    }

    /// Sends a set-up message.
    pub(super) fn send_setup(&mut self, now: Instant, link: LinkId, circuit: Name, body: &Body) {
        let mut bytes = Vec::with_capacity(Setup::LEN);
        let body = body.clone();
        Setup { circuit, body }.encode(&mut bytes);
        self.send_control(now, link, bytes);
    }

    /// Tells a neighbour that a circuit that carries no data is closed.
    pub(super) fn send_destroy(
        &mut self,
        now: Instant,
        link: LinkId,
        circuit: Name,
        reason: Reason,
    ) {
        let destroy = Frame::Destroy(Destroy { circuit, reason });
        self.send_frame(now, link, destroy);
    }

    /// Answers a probe of a circuit that carries no data yet.
    pub(super) fn answer_probe(&mut self, now: Instant, link: LinkId, circuit: Name) {
        if !self
            .links
            .get_mut(link)
            .is_some_and(|link| link.may_answer(now))
        {
            return;
        }
        let feedback = Feedback {
            circuit,
            ..Feedback::default()
        };
        self.send_frame(now, link, Frame::Feedback(feedback));
    }

    /// Notes that the neighbour itself must answer what was sent last.
    pub(super) fn expect_answer(&mut self, now: Instant, link: LinkId) {
        if let Some(link) = self.links.get_mut(link).filter(|link| link.open) {
            link.expect_answer(now);
        }
    }

    /// Asks the neighbour about circuits, so that it shows whether it is still there, and they.
    pub(super) fn send_probes(&mut self, now: Instant, link: LinkId, circuits: &[Name]) {
        self.send_frames(now, link, circuits.iter().map(|name| Frame::Probe(*name)));
    }

    /// Sends a frame of the node's kind that the node knows nothing of.
    fn send_frame(&mut self, now: Instant, link: LinkId, frame: Frame<OnionPayload>) {
        self.send_frames(now, link, [frame]);
    }

    fn send_frames(
        &mut self,
        now: Instant,
        link: LinkId,
        frames: impl IntoIterator<Item = Frame<OnionPayload>>,
    ) {
        let mut bytes = Vec::new();
        for frame in frames {
            frame.encode(self.plan.link.carrier, &mut bytes);
        }
        self.send_control(now, link, bytes);
    }

    /// Sends frames on a link, in a datagram of its own, or lets it wait for the handshake. Cells wait
    /// until the bucket has paid for what is sent; who lets messages wait pays as well, and saves nothing up.
    fn send_control(&mut self, now: Instant, id: LinkId, frames: Vec<u8>) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        let is_setup = Setup::leads(&frames);
        let len = Bytes::new(frames.len() as u64);
        let sending = link.send_control(now, frames);
        self.links.queue(id);
        if matches!(sending, Sending::Dropped) {
            return;
        }
        if is_setup {
            self.host.pay_unasked(now, len);
        } else {
            self.host.pay(now, len);
        }
        if let Sending::Sealed(frames) = sending {
            self.after_control(now, id, &frames);
        }
    }

    /// Frames were sealed that pass no queue of the node.
    pub(super) fn after_control(&mut self, now: Instant, id: LinkId, frames: &[u8]) {
        if self.observer.is_some() {
            self.observe_control(now, id, frames);
        }
    }
}

/// Appends a cell to `out` with what hides it; returns what proves that it was read, if somebody is to
/// prove that. Cells of circuits that are gone are left out.
#[inline]
fn encode_cell(
    frame: &Frame<OnionPayload>,
    cell: &Cell<OnionPayload>,
    carrier: Carrier,
    link: &LinkEnd,
    circuits: &mut CircuitTable,
    out: &mut Vec<u8>,
) -> Result<Option<(CircuitHandle, Proof)>, NotSent> {
    let named = link.names.get(cell.circuit).ok_or(NotSent)?;
    let open = circuits.opened(named.circuit).ok_or(NotSent)?;
    let start = out.len();
    frame.encode(carrier, out);
    let body = out.last_chunk_mut().ok_or(NotSent)?;
    let tag = (cell.flags, cell.seq);
    match open.crypt.outgoing(named.leaving, tag, body) {
        Ok(proof) => Ok(proof.map(|proof| (open.handle, proof))),
        Err(left_out) => {
            out.truncate(start);
            Err(left_out)
        }
    }
}
