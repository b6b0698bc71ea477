//! Frames other than cells and feedback that wait for a link.

use hopflow_units::Bytes;
use hopflow_wire::{Carrier, Frame, Message, Payload};

/// Answers to nonsense that wait for a link at most; more are dropped, for all can be repeated.
const MAX_ANSWERS: usize = 64;

/// Control frames in the order in which they leave.
#[derive(Clone, Debug)]
pub(crate) struct ControlQueue<P> {
    carrier: Carrier,
    frames: Vec<Frame<P>>,
    /// Encoded bytes of these.
    bytes: Bytes,
}

impl<P: Payload> ControlQueue<P> {
    pub(crate) const fn new(carrier: Carrier) -> Self {
        Self {
            carrier,
            frames: Vec::new(),
            bytes: Bytes::ZERO,
        }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Encoded bytes of all that waits.
    #[inline]
    pub(crate) const fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(crate) fn push(&mut self, frame: Frame<P>) {
        self.bytes += frame.wire_len(self.carrier);
        self.frames.push(frame);
    }

    /// Adds a frame that the neighbour provoked, if few wait.
    pub(crate) fn push_answer(&mut self, frame: Frame<P>) {
        if self.frames.len() < MAX_ANSWERS {
            self.push(frame);
        }
    }

    /// Adds a layer's message; an older one about the same flow that still waits is dropped.
    pub(crate) fn replace(&mut self, message: Message) {
        let same = |frame: &Frame<P>| match frame {
            Frame::Message(old) => (old.circuit, old.sender) == (message.circuit, message.sender),
            _ => false,
        };
        if let Some(place) = self.frames.iter().position(same) {
            self.bytes -= self.frames.remove(place).wire_len(self.carrier);
        }
        self.push(Frame::Message(Box::new(message)));
    }

    /// Moves frames to `out` while `used` bytes stay within `most`; returns the bytes used.
    #[inline]
    pub(crate) fn take(&mut self, out: &mut Vec<Frame<P>>, used: Bytes, most: Bytes) -> Bytes {
        if self.frames.is_empty() {
            return used;
        }
        let (mut count, mut now) = (0, used);
        for frame in &self.frames {
            let len = frame.wire_len(self.carrier);
            if now + len > most {
                break;
            }
            now += len;
            count += 1;
        }
        self.bytes -= now - used;
        out.extend(self.frames.drain(..count));
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_units::CircuitId;
    use hopflow_wire::{Neighbour, RawPayload};

    fn message(circuit: u16, body: u8) -> Message {
        Message {
            circuit: CircuitId::new(circuit),
            sender: Neighbour::Predecessor,
            body: vec![body],
        }
    }

    #[test]
    fn a_newer_message_takes_the_place_of_an_older_one_about_the_flow() {
        let mut queue = ControlQueue::<RawPayload>::new(Carrier::Stream);
        queue.replace(message(1, 1));
        queue.replace(message(2, 2));
        queue.replace(message(1, 3));
        let mut out = Vec::new();
        let used = queue.take(&mut out, Bytes::ZERO, Bytes::new(1000));
        assert_eq!((out.len(), queue.bytes()), (2, Bytes::ZERO));
        let len: u64 = out
            .iter()
            .map(|frame| frame.wire_len(Carrier::Stream).get())
            .sum();
        assert_eq!(used.get(), len);
    }

    #[test]
    fn answers_that_a_neighbour_provokes_are_bounded() {
        let mut queue = ControlQueue::<RawPayload>::new(Carrier::Datagram);
        for circuit in 0..1000 {
            queue.push_answer(Frame::Probe(CircuitId::new(circuit)));
        }
        let mut out = Vec::new();
        queue.take(&mut out, Bytes::ZERO, Bytes::new(1 << 20));
        assert_eq!((out.len(), queue.is_empty()), (MAX_ANSWERS, true));
    }
}
