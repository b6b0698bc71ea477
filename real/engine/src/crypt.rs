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
        match (&mut self.keys, direction) {
            (Keys::Client(hops), _) => {
                let Some((last, before)) = hops.split_last_mut() else {
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

    /// Whether cells end at this node in any direction.
    #[inline]
    pub(crate) const fn ends_here(&self) -> bool {
        !matches!(self.keys, Keys::Middle(_))
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
        match &mut self.keys {
            Keys::Middle(_) => Ok(()),
            Keys::Last(hop) => hop.forward.open(index, body),
            Keys::Client(hops) => {
                let (last, before) = hops.split_last_mut().ok_or(Forged)?;
                for hop in before {
                    hop.backward.apply_layer(index, body);
                }
                last.backward.open(index, body)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_onion::{Initiator, OnionSecret, answer};

    /// The keys of a client and of its only hop.
    fn ends() -> (Crypt, Crypt) {
        let secret = OnionSecret::generate();
        let (initiator, message) = Initiator::start(&secret.public(), &[]);
        let (hop, reply) = answer(&secret, &message, |_| Some(Vec::new())).unwrap();
        let (client, _) = initiator.finish(&reply).unwrap();
        let hop = Crypt::relay(Box::new(hop), true);
        (Crypt::client(vec![client]), hop)
    }

    fn sealed(client: &mut Crypt, index: u64, byte: u8) -> Option<Body> {
        let mut body = [byte; CELL_PAYLOAD];
        client
            .outgoing(Direction::Forward, CellSeq::of(index), &mut body)
            .then_some(body)
    }

    #[test]
    fn a_cell_that_is_sent_again_is_the_same_bytes_and_opens_in_any_order() {
        let (mut client, mut hop) = ends();
        let cells: Vec<Body> = (0..3)
            .map(|index| sealed(&mut client, index, 7).unwrap())
            .collect();
        assert_eq!(sealed(&mut client, 1, 7), Some(cells[1]));
        for index in [2, 0, 1, 1] {
            let mut body = cells[index];
            let seq = Some(CellSeq::of(index as u64));
            assert_eq!(hop.incoming(seq, &mut body), Ok(()));
            assert!(body[hopflow_onion::TAG..].iter().all(|byte| *byte == 7));
        }
        let mut forged = cells[0];
        forged[100] ^= 1;
        assert!(hop.incoming(Some(CellSeq::of(0)), &mut forged).is_err());
    }

    #[test]
    fn a_cell_that_leaves_others_out_is_not_sealed() {
        let (mut client, _) = ends();
        assert!(sealed(&mut client, 0, 1).is_some());
        assert!(sealed(&mut client, 2, 1).is_none());
        assert!(sealed(&mut client, 1, 1).is_some());
    }

    #[test]
    fn indices_go_on_where_sequence_numbers_wrap() {
        let (mut client, mut hop) = ends();
        let last = u64::from(u32::MAX);
        (client.leaving[0], hop.ending) = (last, last);
        for index in [last, last + 1] {
            let mut body = sealed(&mut client, index, 3).unwrap();
            let seq = Some(CellSeq::of(index));
            assert_eq!(hop.incoming(seq, &mut body), Ok(()));
        }
        assert_eq!((client.leaving[0], hop.ending), (last + 2, last + 2));
    }
}
