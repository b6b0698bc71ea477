//! From the plaintext of a link to frames.

use hopflow_onion::OnionPayload;
use hopflow_wire::{Carrier, DecodeError, Frame, Message, Setup};

/// The longest frame: a message of a transport.
const LONGEST: usize = Message::HEADER as usize + Message::MAX_BODY;

/// Probes that are taken of one datagram or piece: a neighbour's upkeep sends as many together. Each of them is
/// work by itself, and who waits for an answer to another one asks again.
const MOST_PROBES: usize = 64;

/// A frame that arrived.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// For the node.
    Frame(Frame<OnionPayload>),
    /// For the set-up of circuits.
    Setup(Setup),
}

/// Reads the frames at the front of `bytes`, of probes some; returns how many bytes they have.
///
/// # Errors
/// If what follows them is no frame. That it may only be incomplete does not count on a stream.
pub(crate) fn decode(
    bytes: &[u8],
    carrier: Carrier,
    arrived: &mut Vec<Arrived>,
) -> Result<usize, DecodeError> {
    let (mut rest, mut probes) = (bytes, 0);
    while !rest.is_empty() {
        let result = Setup::decode(rest).and_then(|setup| match setup {
            Some((setup, rest)) => Ok((Arrived::Setup(setup), rest)),
            None => Frame::decode(rest, carrier).map(|(frame, rest)| (Arrived::Frame(frame), rest)),
        });
        match result {
            Ok((frame, behind)) => {
                let is_probe = matches!(frame, Arrived::Frame(Frame::Probe(_)));
                probes += usize::from(is_probe);
                if !is_probe || probes <= MOST_PROBES {
                    arrived.push(frame);
                }
                rest = behind;
            }
            Err(DecodeError::Truncated) if carrier == Carrier::Stream => break,
            Err(error) => return Err(error),
        }
    }
    Ok(bytes.len() - rest.len())
}

/// The frames of a stream, which arrive in pieces of any length.
#[derive(Debug, Default)]
pub(crate) struct Inlet {
    /// The beginning of a frame whose end has not arrived.
    partial: Vec<u8>,
    /// Whether something was no frame: nothing behind it can be trusted to start at a frame's first
    /// byte.
    broken: bool,
}

impl Inlet {
    /// Reads the frames that end in `piece`.
    pub(crate) fn read(&mut self, piece: &[u8], arrived: &mut Vec<Arrived>) {
        if !self.broken {
            self.broken = self.try_read(piece, arrived).is_err();
        }
    }

    fn try_read(
        &mut self,
        mut piece: &[u8],
        arrived: &mut Vec<Arrived>,
    ) -> Result<(), DecodeError> {
        if !self.partial.is_empty() {
            // Only what ends this frame is copied; the others are read where they lie.
            let held = self.partial.len();
            let (near, _) = piece.split_at(piece.len().min(LONGEST));
            self.partial.extend_from_slice(near);
            let used = decode(&self.partial, Carrier::Stream, arrived)?;
            if used == 0 {
                return Ok(());
            }
            self.partial.clear();
            piece = &piece[used - held..];
        }
        let used = decode(piece, Carrier::Stream, arrived)?;
        self.partial.extend_from_slice(&piece[used..]);
        Ok(())
    }

    /// The memory of what waits for its end, in bytes.
    pub(crate) const fn memory(&self) -> usize {
        self.partial.capacity()
    }

    /// Whether something was no frame.
    pub(crate) const fn is_broken(&self) -> bool {
        self.broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_units::CircuitId;
    use hopflow_wire::{Cell, CellFlags, CellSeq, Neighbour, Payload};

    fn frames() -> Vec<Frame<OnionPayload>> {
        let cell = |byte| {
            Frame::Cell(Cell {
                circuit: CircuitId::new(7),
                flags: CellFlags(0),
                seq: CellSeq::of(0),
                payload: OnionPayload::read(&[byte; 509]),
            })
        };
        let message = |len| {
            Frame::Message(Box::new(Message {
                circuit: CircuitId::new(7),
                sender: Neighbour::Predecessor,
                body: vec![8; len],
            }))
        };
        vec![
            cell(1),
            message(Message::MAX_BODY),
            Frame::Probe(CircuitId::new(7)),
            cell(2),
            cell(3),
            message(0),
        ]
    }

    fn read_in_pieces(bytes: &[u8], len: usize) -> (Vec<Frame<OnionPayload>>, bool) {
        let (mut inlet, mut arrived) = (Inlet::default(), Vec::new());
        for piece in bytes.chunks(len) {
            inlet.read(piece, &mut arrived);
        }
        let frames = arrived.into_iter().map(|arrived| match arrived {
            Arrived::Frame(frame) => frame,
            Arrived::Setup(setup) => panic!("{setup:?}"),
        });
        (frames.collect(), inlet.is_broken())
    }

    #[test]
    fn frames_are_whole_whatever_the_pieces() {
        let mut bytes = Vec::new();
        for frame in frames() {
            frame.encode(Carrier::Stream, &mut bytes);
        }
        for len in [1, 2, 3, 511, 512, 513, 1029, 1030, 1031, 1500, bytes.len()] {
            assert_eq!(read_in_pieces(&bytes, len), (frames(), false), "{len}");
        }
    }

    #[test]
    fn of_many_probes_few_are_taken_and_all_other_frames() {
        let probe = Frame::<OnionPayload>::Probe(CircuitId::new(7));
        let cell = frames().remove(0);
        for carrier in [Carrier::Datagram, Carrier::Stream] {
            let (mut bytes, mut arrived) = (Vec::new(), Vec::new());
            for _ in 0..300 {
                probe.encode(carrier, &mut bytes);
            }
            cell.encode(carrier, &mut bytes);
            assert_eq!(decode(&bytes, carrier, &mut arrived), Ok(bytes.len()));
            let probes = arrived.iter();
            let probes = probes.filter(|frame| matches!(frame, Arrived::Frame(Frame::Probe(_))));
            assert_eq!(
                (probes.count(), arrived.len()),
                (MOST_PROBES, MOST_PROBES + 1)
            );
        }
    }

    #[test]
    fn frames_before_garbage_count_and_those_behind_it_do_not() {
        let mut bytes = Vec::new();
        let probe = Frame::<OnionPayload>::Probe(CircuitId::new(7));
        probe.encode(Carrier::Stream, &mut bytes);
        bytes.extend_from_slice(&[0, 7, 99]);
        probe.encode(Carrier::Stream, &mut bytes);
        for len in [1, 4, bytes.len()] {
            assert_eq!(read_in_pieces(&bytes, len), (vec![probe.clone()], true));
        }
    }
}
