//! Which cryptography a cell meets as it leaves or reaches this node.

use hopflow_onion::{Forged, HopKeys};
use hopflow_overlay::Direction;
use hopflow_wire::{CELL_PAYLOAD, CellSeq};

type Body = [u8; CELL_PAYLOAD];

/// A circuit's keys at this node, and how far its cells have come.
#[derive(Debug)]
pub(crate) struct Crypt {
    keys: Keys,
    /// The next index expected of cells that leave, by direction.
    leaving: [u64; 2],
    /// The next index expected of cells that end here.
    ending: u64,
}

#[derive(Debug)]
enum Keys {
    /// At the client: of all hops, the nearest first.
    Client(Vec<HopKeys>),
    /// At a relay that others follow.
    Middle(Box<HopKeys>),
    /// At the last relay.
    Last(Box<HopKeys>),
}

impl Crypt {
    pub(crate) fn client(hops: Vec<HopKeys>) -> Self {
        Self::new(Keys::Client(hops))
    }

    pub(crate) fn relay(keys: Box<HopKeys>, last: bool) -> Self {
        Self::new(if last {
            Keys::Last(keys)
        } else {
            Keys::Middle(keys)
        })
    }

    const fn new(keys: Keys) -> Self {
        Self {
            keys,
            leaving: [0; 2],
            ending: 0,
        }
    }

    /// Makes a cell ready for the neighbour. A cell that is sent again has the same index and
    /// becomes the same bytes. Returns false for a cell that leaves others out and so is none of
    /// this circuit's: nothing must be sealed twice under one index.
    #[inline]
    #[must_use]
    pub(crate) fn outgoing(&mut self, direction: Direction, seq: CellSeq, body: &mut Body) -> bool {
        let next = &mut self.leaving[direction as usize];
        let index = seq.widen(*next);
        if index > *next {
            return false;
        }
        *next = (*next).max(index + 1);
        match (&self.keys, direction) {
            (Keys::Client(hops), _) => {
                let Some((last, before)) = hops.split_last() else {
                    return false;
                };
                last.forward.seal(index, body);
                for hop in before {
                    hop.forward.apply_layer(index, body);
                }
            }
            (Keys::Middle(hop), Direction::Forward) => hop.forward.apply_layer(index, body),
            (Keys::Middle(hop), Direction::Backward) => hop.backward.apply_layer(index, body),
            (Keys::Last(hop), _) => hop.backward.seal(index, body),
        }
        true
    }

    /// Opens a cell that ends at this node; relays that others follow leave cells as they are.
    /// `seq` is `None` where the carrier keeps the order.
    ///
    /// # Errors
    /// If the cell was not sealed by the circuit's other end.
    #[inline]
    pub(crate) fn incoming(&mut self, seq: Option<CellSeq>, body: &mut Body) -> Result<(), Forged> {
        if matches!(self.keys, Keys::Middle(_)) {
            return Ok(());
        }
        let index = seq.map_or(self.ending, |seq| seq.widen(self.ending));
        self.ending = self.ending.max(index + 1);
        match &self.keys {
            Keys::Middle(_) => Ok(()),
            Keys::Last(hop) => hop.forward.open(index, body),
            Keys::Client(hops) => {
                let (last, before) = hops.split_last().ok_or(Forged)?;
                for hop in before {
                    hop.backward.apply_layer(index, body);
                }
                last.backward.open(index, body)
            }
        }
    }
}
