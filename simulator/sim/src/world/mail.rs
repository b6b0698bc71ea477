//! What one partition sends another between two windows.

use super::address::{ConnectionAt, UserAt};
use super::outbox::{Arrival, Envelope, Left, Request, Written};
use super::packets::Packets;

/// What lanes of one partition have sent to lanes of another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mail {
    pub(crate) arrivals: Vec<Arrival>,
    /// The contents of the packets that arrive.
    packets: Packets,
    pub(crate) written: Vec<(ConnectionAt, Written)>,
    pub(crate) requests: Vec<(UserAt, Request)>,
    pub(crate) messages: Vec<Envelope>,
    pub(crate) left: Vec<(UserAt, Left)>,
}

impl Mail {
    /// Whether there is nothing in it.
    pub(crate) const fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
            && self.written.is_empty()
            && self.requests.is_empty()
            && self.messages.is_empty()
            && self.left.is_empty()
    }

    /// Adds a packet, and takes its content out of those of the sender.
    pub(crate) fn add(&mut self, arrival: Arrival, from: &mut Packets) {
        let packet = from.pass(arrival.packet, &mut self.packets);
        self.arrivals.push(Arrival { packet, ..arrival });
    }

    /// Takes all packets, whose contents join those of the receiver.
    pub(crate) fn take_arrivals(&mut self, to: &mut Packets, mut each: impl FnMut(Arrival)) {
        for arrival in self.arrivals.drain(..) {
            let packet = self.packets.pass(arrival.packet, to);
            each(Arrival { packet, ..arrival });
        }
    }
}
