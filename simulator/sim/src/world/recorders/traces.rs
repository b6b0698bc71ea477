//! What an observer of a circuit's ends sees.

use std::collections::BTreeMap;

use hopflow_overlay::Direction;
use hopflow_units::{Bytes, Duration, Instant};

use super::index::Sender;
use crate::outcome::{Tally, TraceBin, Vantage};
use crate::payload::Simulated;

/// Counts what passes the places of circuits that are at a machine, in bins of time.
#[derive(Clone, Debug)]
pub(crate) struct TraceRecorder {
    from: Instant,
    interval: Duration,
    /// The circuit whose client is alone at the machine.
    client: Option<u32>,
    /// The bin that is being filled, for each circuit, place and direction.
    open: BTreeMap<(u32, Vantage, bool), TraceBin>,
    bins: Vec<TraceBin>,
}

impl TraceRecorder {
    pub(crate) const fn new(client: Option<u32>, from: Instant, interval: Duration) -> Self {
        Self {
            from,
            interval,
            client,
            open: BTreeMap::new(),
            bins: Vec::new(),
        }
    }

    /// Notes a packet between the machine and its router.
    pub(super) fn on_wire(&mut self, at: Instant, direction: Direction, size: Bytes) {
        if let Some(circuit) = self.client {
            self.count((at, circuit), Vantage::Entry, direction, size);
        }
    }

    /// Notes that a node sends a cell.
    pub(super) fn on_sent(&mut self, now: Instant, sender: &Sender, cell: &Simulated) {
        if sender.direction == Direction::Backward && sender.hop == 0 {
            self.at_exit(now, sender.user, Direction::Backward, cell);
        }
    }

    /// Notes a cell that an exit sends, or takes off its circuit.
    pub(super) fn at_exit(
        &mut self,
        now: Instant,
        circuit: u32,
        direction: Direction,
        cell: &Simulated,
    ) {
        let bytes = Bytes::new(u64::from(cell.len()));
        self.count((now, circuit), Vantage::Exit, direction, bytes);
    }

    fn count(
        &mut self,
        (now, circuit): (Instant, u32),
        place: Vantage,
        direction: Direction,
        size: Bytes,
    ) {
        if now < self.from {
            return;
        }
        let elapsed = now.saturating_since(self.from).as_nanos();
        let begun = elapsed - elapsed % self.interval.as_nanos();
        let at = self.from + Duration::from_nanos(begun);
        let empty = TraceBin {
            circuit,
            place,
            at,
            up: Tally::default(),
            down: Tally::default(),
        };
        let key = (circuit, place, direction == Direction::Forward);
        let bin = self.open.entry(key).or_insert(empty);
        if bin.at != at {
            self.bins.push(std::mem::replace(bin, empty));
        }
        let tally = match direction {
            Direction::Forward => &mut bin.up,
            Direction::Backward => &mut bin.down,
        };
        tally.packets += 1;
        tally.bytes += size;
    }

    /// All bins in any order; several may be of the same time.
    pub(super) fn finish(self) -> impl Iterator<Item = TraceBin> {
        self.bins.into_iter().chain(self.open.into_values())
    }
}

/// Bins ordered by circuit, then place, then time; those of the same time are one.
pub(super) fn merge(mut bins: Vec<TraceBin>) -> Vec<TraceBin> {
    let key = |bin: &TraceBin| (bin.circuit, bin.place, bin.at);
    bins.sort_by_key(key);
    bins.dedup_by(|next, bin| {
        let same = key(next) == key(bin);
        if same {
            for (sum, more) in [(&mut bin.up, next.up), (&mut bin.down, next.down)] {
                sum.packets += more.packets;
                sum.bytes += more.bytes;
            }
        }
        same
    });
    bins
}
