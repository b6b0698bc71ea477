//! A stream at one end of its circuits.

use hopflow_units::{Bytes, Instant, StreamId};
use hopflow_wire::{Payload, RelayCommand, RelayHeader};

use super::resequencer::{Offer, Resequencer};
use crate::Violation;

/// A stream's data in both directions, over one or more circuits, its *legs*.
///
/// The source assigns each cell to a leg when that leg may take it: a leg whose gate is open pulls
/// the next cell, unless the stream is pinned to another one. With several legs the cells are
/// numbered, and the sink restores the order.
#[derive(Debug)]
pub(crate) struct Stream<P: Payload> {
    pub(crate) id: StreamId,
    /// The circuits, as the node numbers them.
    pub(crate) legs: Vec<u32>,
    /// The only leg that may take cells, if the choice is not left to the gates.
    pinned: Option<u32>,
    data: P::Data,
    pending: u64,
    packaged: Bytes,
    next_number: u32,
    pub(crate) reading: bool,
    pub(crate) delivered: Bytes,
    pub(crate) resequencer: Option<Resequencer<P>>,
}

impl<P: Payload> Stream<P> {
    /// A stream over `legs`; `hold` cells that come early are held at most.
    pub(crate) fn new(id: StreamId, legs: Vec<u32>, hold: u32) -> Self {
        let resequencer = (legs.len() > 1).then(|| Resequencer::new(hold));
        Self {
            id,
            legs,
            pinned: None,
            data: P::Data::default(),
            pending: 0,
            packaged: Bytes::ZERO,
            next_number: 0,
            reading: true,
            delivered: Bytes::ZERO,
            resequencer,
        }
    }

    /// Takes application data that waits to be cut.
    pub(crate) fn write(&mut self, data: P::Data, len: Bytes) {
        P::append(&mut self.data, data);
        self.pending += len.get();
    }

    /// Leaves the choice of a leg to the gates, or to one leg; what is no leg is ignored.
    pub(crate) fn pin(&mut self, leg: Option<u32>) {
        if leg.is_none_or(|leg| self.legs.contains(&leg)) {
            self.pinned = leg;
        }
    }

    /// Whether there is data that `leg` may take.
    #[inline]
    pub(crate) fn offers(&self, leg: u32) -> bool {
        self.pending > 0 && self.pinned.is_none_or(|pinned| pinned == leg)
    }

    /// Cuts the next cell.
    #[inline]
    pub(crate) fn cut(&mut self, now: Instant) -> P {
        let mut header = RelayHeader::control(RelayCommand::Data, self.id);
        if self.resequencer.is_some() {
            header.command = RelayCommand::NumberedData;
            header.number = self.next_number;
            self.next_number = self.next_number.wrapping_add(1);
        }
        let len = self
            .pending
            .min(RelayHeader::capacity(header.command) as u64);
        header.len = len as u16;
        self.pending -= len;
        self.packaged += Bytes::new(len);
        P::cut(header, &mut self.data, now)
    }

    /// Whether a data cell may be delivered now; counts it as delivered if it is the next one.
    #[inline]
    pub(crate) fn offer(&mut self, header: &RelayHeader) -> Result<Offer, Violation> {
        let numbered = header.command == RelayCommand::NumberedData;
        match &mut self.resequencer {
            None if !numbered => Ok(Offer::Next),
            Some(resequencer) if numbered => {
                let offer = resequencer.offer(header.number);
                match offer {
                    Offer::Next => resequencer.advance(),
                    Offer::Stale => return Err(Violation::Unexpected),
                    Offer::Early | Offer::TooEarly => {}
                }
                Ok(offer)
            }
            _ => Err(Violation::Unexpected),
        }
    }

    /// Keeps a cell that comes early.
    pub(crate) fn hold(&mut self, number: u32, cell: P) {
        if let Some(resequencer) = &mut self.resequencer {
            resequencer.hold(number, cell);
        }
    }

    /// Application bytes that were cut into cells so far.
    pub(crate) const fn packaged(&self) -> Bytes {
        self.packaged
    }

    /// Application bytes that wait to be cut.
    pub(crate) const fn pending(&self) -> Bytes {
        Bytes::new(self.pending)
    }
}
