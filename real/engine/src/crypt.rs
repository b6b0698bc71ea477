//! Which cryptography a cell meets as it leaves or reaches this node.

use hopflow_onion::{Forged, HopKeys, TAG};
use hopflow_overlay::Direction;
use hopflow_wire::{CELL_PAYLOAD, CellSeq, Proof, RelayCommand};

type Body = [u8; CELL_PAYLOAD];

/// A cell that must not leave: its circuit is gone, or it leaves out others of its circuit. Nothing must
/// be sealed twice under one index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NotSent;

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
    /// becomes the same bytes. Returns what proves that the cell was read, if it is one of content that
    /// begins here and is not sent again.
    ///
    /// # Errors
    /// If the cell leaves others out.
    #[inline]
    pub(crate) fn outgoing(
        &mut self,
        direction: Direction,
        seq: CellSeq,
        body: &mut Body,
    ) -> Result<Option<Proof>, NotSent> {
        let next = &mut self.leaving[direction as usize];
        let index = seq.widen(*next);
        if index > *next {
            return Err(NotSent);
        }
        let first = index == *next;
        *next = (*next).max(index + 1);
        let (seal, before) = match (&mut self.keys, direction) {
            (Keys::Client(hops), _) => {
                let (last, before) = hops.split_last_mut().ok_or(NotSent)?;
                (&last.forward, before)
            }
            (Keys::Last(hop), _) => (&hop.backward, &mut [][..]),
            (Keys::Middle(hop), Direction::Forward) => {
                hop.forward.apply_layer(index, body);
                return Ok(None);
            }
            (Keys::Middle(hop), Direction::Backward) => {
                hop.backward.apply_layer(index, body);
                return Ok(None);
            }
        };
        let proves = first && is_content(body);
        seal.seal(index, body);
        let proof = body.first_chunk().filter(|_| proves).copied();
        for hop in before {
            hop.forward.apply_layer(index, body);
        }
        Ok(proof)
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

/// Whether a plain payload is part of what a stream carries.
fn is_content(body: &Body) -> bool {
    RelayCommand::from_code(body[TAG]).is_ok_and(RelayCommand::is_content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_onion::{Initiator, OnionPayload, OnionSecret, answer};
    use hopflow_wire::Payload;

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
            .map(|_| body)
            .ok()
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
    fn the_first_time_that_content_leaves_tells_its_proof_which_its_reader_gets() {
        let (mut client, mut hop) = ends();
        for (command, index, proves) in [(2, 0, true), (2, 0, false), (5, 1, false), (3, 2, true)] {
            let mut body = [command; CELL_PAYLOAD];
            let seq = CellSeq::of(index);
            let proof = client.outgoing(Direction::Forward, seq, &mut body);
            assert_eq!(hop.incoming(Some(seq), &mut body), Ok(()));
            let read = OnionPayload::read(&body).proof();
            assert_eq!(proof, Ok(read.filter(|_| proves)), "cell {index}");
        }
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
