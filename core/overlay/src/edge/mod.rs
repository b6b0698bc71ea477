//! The edges of circuits: where streams are packaged into cells, and cells become streams again.

mod inbox;
mod legs;
mod proofs;
mod resequencer;
pub(crate) mod sendme;
mod stream;
mod streams;

pub(crate) use legs::{Legs, LinkedSet};
pub(crate) use proofs::Proofs;
pub(crate) use resequencer::{Offer, Resequencer};
pub(crate) use stream::Stream;
pub(crate) use streams::{StreamWindow, Streams};

use hopflow_units::{Bytes, Instant, StreamId};
use hopflow_wire::Payload;

use crate::{Direction, EndGates, EndState, Gate, Preference};

/// An end of a circuit: its control from end to end, and the streams that begin or end here.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    /// The direction of the flow that begins here.
    pub(crate) source: Direction,
    /// Lets data be packaged into cells.
    pub(crate) gate: Gate,
    /// How this circuit stands among those of its streams.
    pub(crate) preference: Preference,
    /// What the end control knows.
    pub(crate) control: Option<Box<dyn EndState>>,
    /// What SENDMEs about the circuit show.
    pub(crate) proofs: Proofs,
    /// Streams that begin or end here, with their places, in the order of their names on the circuit.
    streams: Vec<(StreamId, u32)>,
    /// Those of them that are packaged from.
    turns: Turns,
    /// Streams that ended with another of their circuits, in the order of their names; cells of
    /// theirs may be under way.
    ended: Vec<StreamId>,
    /// The circuits with which it shares streams.
    pub(crate) legs: Legs,
    /// Whether so much was packaged that most of it must leave before more is.
    pub(crate) filled: bool,
}

/// Streams that take turns.
#[derive(Clone, Debug, Default)]
struct Turns {
    /// Of an end's streams, in the same order, all that have something to package, and some that had.
    offering: Vec<(StreamId, u32)>,
    /// Which of them is packaged from next.
    next: usize,
}

/// The control of an end, and what it may see and set of the edge.
pub(crate) struct ControlParts<'a> {
    pub(crate) state: &'a mut dyn EndState,
    pub(crate) gates: EndGates<'a>,
    pub(crate) streams: &'a [(StreamId, u32)],
}

impl Edge {
    pub(crate) fn new(source: Direction) -> Self {
        Self {
            source,
            gate: Gate::default(),
            preference: Preference::default(),
            control: None,
            proofs: Proofs::default(),
            streams: Vec::new(),
            turns: Turns::default(),
            ended: Vec::new(),
            legs: Legs::default(),
            filled: false,
        }
    }

    /// The control of this end, with what it sets, and the streams. `hop` lets cells out to the successor.
    #[inline]
    pub(crate) fn control_parts<'a>(&'a mut self, hop: &'a mut Gate) -> Option<ControlParts<'a>> {
        let gates = EndGates {
            hop,
            end: &mut self.gate,
            preference: &mut self.preference,
        };
        Some(ControlParts {
            state: &mut **self.control.as_mut()?,
            gates,
            streams: &self.streams,
        })
    }

    /// The streams with their places, in the order of their names.
    #[inline]
    pub(crate) fn streams(&self) -> &[(StreamId, u32)] {
        &self.streams
    }

    /// The place of a stream.
    #[inline]
    pub(crate) fn stream(&self, name: StreamId) -> Option<u32> {
        let found = find(&self.streams, name).ok()?;
        Some(self.streams[found].1)
    }

    /// A stream begins here.
    pub(crate) fn add_stream(&mut self, name: StreamId, place: u32) {
        if let Err(free) = find(&self.streams, name) {
            self.streams.insert(free, (name, place));
        }
    }

    /// A stream ends, here or with another circuit.
    pub(crate) fn end_stream(&mut self, name: StreamId) {
        if let Ok(found) = find(&self.streams, name) {
            self.streams.remove(found);
        }
        if let Ok(found) = find(&self.turns.offering, name) {
            self.retire(found);
        }
        if let Err(free) = self.ended.binary_search(&name) {
            self.ended.insert(free, name);
        }
    }

    /// How many streams ended that the other end has not heard of, as far as this one knows.
    pub(crate) fn ended(&self) -> usize {
        self.ended.len()
    }

    /// Whether a stream ended here, so that what still arrives of it means nothing.
    pub(crate) fn has_ended(&self, name: StreamId) -> bool {
        self.ended.binary_search(&name).is_ok() && self.stream(name).is_none()
    }

    /// Forgets that a stream ended.
    pub(crate) fn forget_ended(&mut self, name: StreamId) {
        if let Ok(found) = self.ended.binary_search(&name) {
            self.ended.remove(found);
        }
    }

    /// Whether other circuits of a stream may go before this one.
    #[inline]
    pub(crate) fn is_ranked(&self) -> bool {
        self.preference.rank > 0 && !self.legs.all.is_empty()
    }

    /// A stream has something to package.
    #[inline]
    pub(crate) fn offer(&mut self, name: StreamId, place: u32) {
        if let Err(free) = find(&self.turns.offering, name) {
            self.turns.offering.insert(free, (name, place));
            self.turns.next += usize::from(free < self.turns.next);
        }
    }

    /// The streams that have something to package, and some that had.
    pub(crate) fn offering(&self) -> impl Iterator<Item = u32> {
        self.turns.offering.iter().map(|(_, place)| *place)
    }

    /// Which stream the next cell of `circuit` is packaged from: the first in turn that offers one,
    /// which ends its turn.
    #[inline]
    pub(crate) fn offered<P: Payload>(
        &mut self,
        now: Instant,
        streams: &Streams<P>,
        circuit: u32,
    ) -> Option<u32> {
        self.take_turn(|edge, place| {
            let stream = streams.get(place).filter(|stream| stream.has_work())?;
            let open = streams.windows[place as usize].gate.is_open(now);
            Some(open && stream.is_open_to(circuit) && !edge.legs.leave(stream))
        })
    }

    /// When the first stream opens that only its own rate holds back.
    pub(crate) fn opens_at<P: Payload>(
        &self,
        now: Instant,
        streams: &Streams<P>,
    ) -> Option<Instant> {
        let gates = self
            .offering()
            .map(|place| &streams.windows[place as usize].gate);
        gates.filter_map(|gate| gate.waits_until(now)).min()
    }

    /// Whether a stream has data and a window of its own that is full.
    pub(crate) fn lacks_window<P: Payload>(&self, streams: &Streams<P>) -> bool {
        self.streams.iter().any(|&(_, place)| {
            let waits = |stream: &Stream<P>| !stream.pending().is_zero();
            !streams.windows[place as usize].gate.has_room()
                && streams.get(place).is_some_and(waits)
        })
    }

    /// Bytes that the streams offer `circuit`.
    pub(crate) fn pending<P: Payload>(&self, streams: &Streams<P>, circuit: u32) -> Bytes {
        let streams = self.offering().filter_map(|place| streams.get(place));
        let offered = streams.filter(|stream| stream.offers(circuit));
        offered.map(Stream::pending).sum()
    }

    /// The first of these in turn that `may` be packaged from, which ends its turn; forgets those
    /// that have nothing, of which `may` says `None`.
    #[inline]
    fn take_turn(&mut self, may: impl Fn(&Self, u32) -> Option<bool>) -> Option<u32> {
        let mut passed = 0;
        while passed < self.turns.offering.len() {
            let position = (self.turns.next + passed) % self.turns.offering.len();
            let (_, place) = self.turns.offering[position];
            match may(self, place) {
                None => self.retire(position),
                Some(false) => passed += 1,
                Some(true) => {
                    self.turns.next = position + 1;
                    return Some(place);
                }
            }
        }
        None
    }

    /// Forgets a stream that has nothing to package; whose turn it is stays.
    fn retire(&mut self, position: usize) {
        self.turns.offering.remove(position);
        self.turns.next -= usize::from(position < self.turns.next);
    }
}

/// Where a stream stands among others in the order of their names, or would.
#[inline]
fn find(streams: &[(StreamId, u32)], name: StreamId) -> Result<usize, usize> {
    streams.binary_search_by_key(&name, |(id, _)| *id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn name(n: u16) -> StreamId {
        StreamId::new(n)
    }

    fn edge(names: &[u16]) -> Edge {
        let mut edge = Edge::new(Direction::Forward);
        for &n in names {
            edge.add_stream(name(n), n.into());
        }
        edge
    }

    #[test]
    fn those_that_offer_take_turns_and_nobody_looks_at_the_others() {
        let mut edge = edge(&[9, 2, 5, 7, 1]);
        for n in [7, 2, 9, 2] {
            edge.offer(name(n), n.into());
        }
        let mut take = |may: fn(&Edge, u32) -> Option<bool>| edge.take_turn(may);
        let all = |_: &Edge, _: u32| Some(true);
        assert_eq!([take(all), take(all)], [Some(2), Some(7)]);
        // The last has nothing any more, the first may not.
        let some = |_: &Edge, place| (place != 9).then_some(place != 2);
        assert_eq!(take(some), Some(7));
        assert_eq!(edge.offering().collect::<Vec<_>>(), [2, 7]);
    }

    #[test]
    fn whose_turn_it_is_does_not_change_with_who_comes_and_goes() {
        let mut edge = edge(&[1, 3, 5]);
        for n in [3, 5] {
            edge.offer(name(n), n.into());
        }
        let all = |_: &Edge, _: u32| Some(true);
        assert_eq!(edge.take_turn(all), Some(3));
        edge.offer(name(1), 1);
        assert_eq!(edge.take_turn(all), Some(5));
        edge.end_stream(name(1));
        assert_eq!(edge.take_turn(all), Some(3));
        assert_eq!(
            (edge.stream(name(1)), edge.has_ended(name(1))),
            (None, true)
        );
    }
}
