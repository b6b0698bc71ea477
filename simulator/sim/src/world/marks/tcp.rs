//! Marked cells on a connection.

use std::collections::BTreeMap;
use std::collections::btree_map::RangeMut;

use hopflow_tcp::Segment;
use hopflow_units::{CircuitId, Instant};
use hopflow_wire::Cell;

use super::crossing::{Crossing, Least, SegmentTimes};
use crate::payload::Simulated;
use crate::world::address::LinkEnd;

/// Where a cell ends in the connection's stream, and which it is: several may end in one TLS record.
type Place = (u64, CircuitId, u32);

fn place(offset: u64, cell: &Cell<Simulated>) -> Place {
    (offset, cell.circuit, cell.payload.end())
}

/// The first place at an offset.
const fn first_at(offset: u64) -> Place {
    (offset, CircuitId::new(0), 0)
}

/// What an end of a connection notes of marked cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpMarks {
    sent: BTreeMap<Place, SentCell>,
    arriving: BTreeMap<Place, ArrivingCell>,
    /// Cells that the node has read, for the recorder of the machine.
    read: Vec<Read>,
}

/// A marked cell that was written.
#[derive(Clone, Debug)]
pub(crate) struct SentCell {
    pub(crate) circuit: CircuitId,
    /// The offset behind it in its stream.
    pub(crate) end: u32,
    pub(crate) mark: u16,
    /// When its last byte was sent for the first time.
    pub(crate) first: Option<Instant>,
    /// When segments with its last byte were sent, when they were at the machine's router, and what
    /// the uplink took at least.
    pub(crate) departed: Vec<(Instant, Instant, Least)>,
}

/// A marked cell that is to arrive.
#[derive(Clone, Debug, Default)]
struct ArrivingCell {
    /// When segments with its last byte were sent, and when they were at the machine's router.
    routers: Vec<(Instant, Instant)>,
    /// The first of them that arrived: when it was sent, and when it was here.
    arrived: Option<(Instant, Instant, Least)>,
    /// When all bytes up to its last one had arrived.
    ready: Option<Instant>,
}

/// A marked cell that a connection has passed to its node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    /// The end of the link that the connection carries.
    pub(crate) at: LinkEnd,
    pub(crate) cell: Cell<Simulated>,
    pub(crate) crossing: Crossing,
}

/// The cells whose last byte a segment has.
fn within<'a, T>(cells: &'a mut BTreeMap<Place, T>, segment: &Segment) -> RangeMut<'a, Place, T> {
    let start = segment.offset().get() + 1;
    cells.range_mut(first_at(start)..first_at(start + segment.payload().get()))
}

impl TcpMarks {
    /// The node writes a cell.
    pub(crate) fn on_written(&mut self, offset: u64, cell: &Cell<Simulated>) {
        if cell.payload.mark() > 0 {
            let sent = SentCell {
                circuit: cell.circuit,
                end: cell.payload.end(),
                mark: cell.payload.mark(),
                first: None,
                departed: Vec::new(),
            };
            self.sent.insert(place(offset, cell), sent);
        }
    }

    /// The peer has written a cell.
    pub(crate) fn expect(&mut self, offset: u64, cell: &Cell<Simulated>) {
        if cell.payload.mark() > 0 {
            self.arriving
                .insert(place(offset, cell), ArrivingCell::default());
        }
    }

    /// The connection sends a segment.
    pub(crate) fn on_sent(&mut self, now: Instant, segment: &Segment) {
        for (_, cell) in within(&mut self.sent, segment) {
            cell.first.get_or_insert(now);
        }
    }

    /// A segment of this end has left the uplink.
    pub(crate) fn on_departed(&mut self, segment: &Segment, (at, least): (Instant, Least)) {
        for (_, cell) in within(&mut self.sent, segment) {
            cell.departed.push((segment.timestamp(), at, least));
        }
    }

    /// A segment of the peer is at the machine's router.
    pub(crate) fn on_router(&mut self, at: Instant, segment: &Segment) {
        for (_, cell) in within(&mut self.arriving, segment) {
            cell.routers.push((segment.timestamp(), at));
        }
    }

    /// A segment of the peer has arrived.
    pub(crate) fn on_arrived(&mut self, now: Instant, segment: &Segment, least: Least) {
        for (_, cell) in within(&mut self.arriving, segment) {
            cell.arrived
                .get_or_insert((segment.timestamp(), now, least));
        }
    }

    /// All bytes before an offset have arrived.
    pub(crate) fn on_ready(&mut self, now: Instant, offset: u64) {
        for (_, cell) in self.arriving.range_mut(..first_at(offset + 1)) {
            cell.ready.get_or_insert(now);
        }
    }

    /// The node at the end of a link reads the cell that ends at an offset.
    pub(crate) fn on_read(&mut self, offset: u64, at: LinkEnd, cell: &Cell<Simulated>) {
        let Some(arriving) = self.arriving.remove(&place(offset, cell)) else {
            return;
        };
        let known = arriving.arrived.zip(arriving.ready);
        let ((sent, arrived, least), ready) = known.expect("what is read has arrived");
        let mut routers = arriving.routers.iter();
        let router = routers.find(|(segment, _)| *segment == sent);
        let crossing = Crossing {
            router: router.map_or(arrived, |(_, at)| *at),
            arrived,
            least,
            segment: Some(SegmentTimes { sent, ready }),
        };
        self.read.push(Read {
            at,
            cell: *cell,
            crossing,
        });
    }

    /// Moves the cells that were read to `out`.
    pub(crate) fn take_read(&mut self, out: &mut Vec<Read>) {
        out.append(&mut self.read);
    }

    /// All marked cells that were written.
    pub(crate) fn into_sent(self) -> impl Iterator<Item = SentCell> {
        self.sent.into_values()
    }
}
