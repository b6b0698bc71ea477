//! The streams that begin or end at a node, and their windows.

use hopflow_units::Cells;
use hopflow_wire::Payload;

use super::Stream;
use crate::slots::Slots;
use crate::{Acknowledger, Gate, StreamHandle, StreamView};

/// The table of streams.
#[derive(Clone, Debug)]
pub(crate) struct Streams<P: Payload> {
    table: Slots<Stream<P>>,
    /// Windows of the streams, next to them so that layers can borrow these alone.
    pub(crate) windows: Vec<StreamWindow>,
}

/// A stream's window, whichever of its circuits carry its cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamWindow {
    /// Lets data be packaged into cells.
    pub(crate) gate: Gate,
    /// Counts the cells that the application took.
    pub(crate) delivered: Acknowledger,
}

impl<P: Payload> Default for Streams<P> {
    fn default() -> Self {
        Self {
            table: Slots::default(),
            windows: Vec::new(),
        }
    }
}

impl<P: Payload> Streams<P> {
    pub(crate) fn insert(&mut self, stream: Stream<P>, gate: Gate) -> StreamHandle {
        let id = self.table.insert(stream);
        let places = self.table.places() as usize;
        self.windows.resize_with(places, StreamWindow::default);
        self.windows[id.index as usize] = StreamWindow {
            gate,
            delivered: Acknowledger::default(),
        };
        StreamHandle(id)
    }

    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<&Stream<P>> {
        self.table.get(place)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> Option<&mut Stream<P>> {
        self.table.get_mut(place)
    }

    /// The stream of a handle, with its place.
    pub(crate) fn find(&mut self, handle: StreamHandle) -> Option<(u32, &mut Stream<P>)> {
        let place = self.table.place(handle.0)?;
        Some((place, self.table.get_mut(place)?))
    }

    pub(crate) fn remove(&mut self, place: u32) -> Option<Stream<P>> {
        self.table.remove(place)
    }

    /// The handle of the stream at a place.
    #[inline]
    pub(crate) fn handle(&self, place: u32) -> StreamHandle {
        StreamHandle(self.table.id(place))
    }

    /// The circuits of a stream.
    pub(crate) fn legs(&self, place: u32) -> Vec<u32> {
        let stream = self.table.get(place);
        stream.map_or_else(Vec::new, |stream| stream.legs.clone())
    }

    /// The present state of a stream, for measurement.
    pub(crate) fn view(&self, handle: StreamHandle) -> Option<StreamView> {
        let stream = self.get(self.table.place(handle.0)?)?;
        Some(StreamView {
            pending: stream.pending(),
            ended: stream.has_ended(),
            packaged: stream.packaged(),
            delivered: stream.delivered,
            held: Cells::new(stream.held()),
        })
    }
}
