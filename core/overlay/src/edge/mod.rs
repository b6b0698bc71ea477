//! The edges of circuits: where streams are packaged into cells, and cells become streams again.

mod inbox;
mod outgoing;
mod resequencer;
pub(crate) mod sendme;
mod stream;
mod streams;

pub(crate) use resequencer::{Offer, Resequencer};
pub(crate) use stream::Stream;
pub(crate) use streams::Streams;

use hopflow_units::StreamId;

use crate::{EndState, Gate, Preference};

/// An end of a circuit: its control from end to end, and the streams that begin or end here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edge {
    /// Lets data be packaged into cells.
    pub(crate) gate: Gate,
    /// How this circuit stands among those of its streams.
    pub(crate) preference: Preference,
    /// What the end control knows.
    pub(crate) control: Option<Box<dyn EndState>>,
    /// Streams that begin or end here, by their name on the circuit, with their places.
    pub(crate) streams: Vec<(StreamId, u32)>,
    /// Streams that ended with another of their circuits; cells of theirs may be under way.
    pub(crate) ended: Vec<StreamId>,
    /// All circuits of the first stream that has several, this one among them.
    pub(crate) legs: Vec<u32>,
    /// Which of the streams is packaged from next.
    turn: usize,
    /// Whether so much was packaged that most of it must leave before more is.
    pub(crate) filled: bool,
    /// Streams whose next cell is left to a better leg.
    pub(crate) yielded: Vec<u32>,
}

impl Edge {
    /// The place of a stream.
    #[inline]
    pub(crate) fn stream(&self, name: StreamId) -> Option<u32> {
        let found = self.streams.iter().find(|(id, _)| *id == name);
        found.map(|&(_, place)| place)
    }

    /// Whether a stream ended here, so that what still arrives of it means nothing.
    pub(crate) fn has_ended(&self, name: StreamId) -> bool {
        self.ended.contains(&name) && self.stream(name).is_none()
    }

    /// Forgets that a stream ended.
    pub(crate) fn forget_ended(&mut self, name: StreamId) {
        self.ended.retain(|ended| *ended != name);
    }

    /// Whether other circuits of a stream may go before this one.
    #[inline]
    pub(crate) fn is_ranked(&self) -> bool {
        self.preference.rank > 0 && !self.legs.is_empty()
    }

    /// The streams in the order of their turns, each with its position.
    #[inline]
    pub(crate) fn in_turn(&self) -> impl Iterator<Item = (usize, u32)> {
        let turn = self.turn % self.streams.len().max(1);
        let (behind, ahead) = self.streams.split_at(turn);
        let ahead = (turn..).zip(ahead);
        let behind = (0..).zip(behind);
        ahead.chain(behind).map(|(at, &(_, place))| (at, place))
    }

    /// Counts a cell of the stream at a position.
    #[inline]
    pub(crate) fn took_from(&mut self, position: usize) {
        self.turn = position + 1;
    }
}
