//! What has arrived beyond a gap, as the successor tells, and which cells are lost (RFC 6675).

use std::collections::BTreeMap;

use hopflow_tcp::{Range, RangeSet};

/// A cell is lost if one that was sent so many cells later has arrived (RFC 9002, section 6.1.1).
const THRESHOLD: u64 = 3;
/// Cells that may be sent again at once, at most: no burst overflows a queue of the network.
const BURST: u64 = 64;

/// A flow's cells beyond the first that its successor misses.
///
/// Every cell that arrives lets two lost ones leave, as slow start does. One that was sent again is
/// lost again if a later one has arrived, sent again or for the first time.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// Cells that have arrived beyond the first missing one.
    arrived: RangeSet,
    /// The number after the last cell that is known to have arrived.
    end: u64,
    /// What of the cells before this one has not arrived is lost.
    lost_before: u64,
    /// What is lost of the cells before this one was sent again.
    cursor: u64,
    resent: Resent,
    /// Lost cells that may leave.
    allowance: u64,
    /// When loss was found last, so many cells had been sent.
    found_at: u64,
}

/// Cells that were sent again and are not known to have arrived.
#[derive(Clone, Debug, Default)]
struct Resent {
    /// When each was, by its number.
    cells: BTreeMap<u64, Resending>,
    /// Their numbers, in the order in which they were sent again.
    order: BTreeMap<u64, u64>,
    /// How many were sent again so far.
    count: u64,
    /// The last one that arrived, in the same order.
    arrived: u64,
}

/// When a cell was sent again.
#[derive(Clone, Copy, Debug)]
struct Resending {
    /// As which of those that were sent again.
    place: u64,
    /// How many cells had been sent for the first time.
    sent: u64,
}

impl Resent {
    /// The longest under way, if a cell that was sent later has arrived; `end` as in [`Scoreboard`].
    fn lost(&self, end: u64) -> Option<u64> {
        let (place, seq) = self.order.first_key_value()?;
        let sent = self.cells.get(seq)?.sent;
        (self.arrived >= place + THRESHOLD || end >= sent + THRESHOLD).then_some(*seq)
    }

    /// Notes that a cell is sent again, after `sent` were for the first time.
    fn send(&mut self, seq: u64, sent: u64) {
        self.count += 1;
        let place = self.count;
        if let Some(before) = self.cells.insert(seq, Resending { place, sent }) {
            self.order.remove(&before.place);
        }
        self.order.insert(place, seq);
    }

    /// Notes that the cells of a range have arrived.
    fn arrive(&mut self, range: Range) {
        while let Some((&seq, &Resending { place, .. })) =
            self.cells.range(range.start..range.end).next()
        {
            self.cells.remove(&seq);
            self.order.remove(&place);
            self.arrived = self.arrived.max(place);
        }
    }

    fn clear(&mut self) {
        self.cells.clear();
        self.order.clear();
    }
}

impl Scoreboard {
    /// The cells from `head` to `ack` have arrived. Calls `known` with each range of them that was known
    /// to have arrived before.
    pub(super) fn acknowledge(&mut self, (head, ack): (u64, u64), mut known: impl FnMut(Range)) {
        let before = self.arrived.total();
        while let Some(range) = self.arrived.first().filter(|range| range.start < ack) {
            let range = Range::new(range.start, range.end.min(ack));
            known(range);
            self.arrived.remove(range);
        }
        self.resent.arrive(Range::new(head, ack));
        self.end = self.end.max(ack);
        self.cursor = self.cursor.max(ack);
        self.allow(ack - head - (before - self.arrived.total()));
        if self.arrived.is_empty() && self.lost_before <= ack {
            self.allowance = 0;
        }
    }

    /// The cells of a range, beyond the first missing one, have arrived.
    pub(super) fn arrive(&mut self, range: Range) {
        let before = self.arrived.total();
        self.arrived.insert(range);
        let news = self.arrived.total() - before;
        if news > 0 {
            self.resent.arrive(range);
            self.end = self.end.max(range.end);
            self.allow(news);
        }
    }

    fn allow(&mut self, arrived: u64) {
        self.allowance = (self.allowance + 2 * arrived.min(BURST)).min(BURST);
    }

    /// Whether cells were lost since the last call, where loss within a round trip counts once:
    /// `sent` cells were sent so far, and those before `head` have arrived.
    pub(super) fn finds_loss(&mut self, head: u64, sent: u64) -> bool {
        let threshold = self.end.saturating_sub(THRESHOLD);
        self.lost_before = self.lost_before.max(threshold);
        let news = head < threshold && head >= self.found_at;
        if news {
            self.found_at = sent;
        }
        news
    }

    /// Nothing was heard for long: all that was sent, and has not arrived, is lost.
    pub(super) fn time_out(&mut self, head: u64, sent: u64) {
        self.resent.clear();
        self.cursor = head;
        self.lost_before = sent;
        self.found_at = sent;
        self.allowance = 1;
    }

    /// The cell that is to be sent again, if one may.
    pub(super) fn next(&self) -> Option<u64> {
        if self.allowance == 0 {
            return None;
        }
        let first = Range::new(self.cursor, self.lost_before.max(self.cursor));
        self.resent
            .lost(self.end)
            .or_else(|| self.arrived.first_gap(first))
    }

    /// Takes the cell that is to be sent again, where `sent` were sent for the first time.
    pub(super) fn take(&mut self, sent: u64) -> Option<u64> {
        let seq = self.next()?;
        self.allowance -= 1;
        self.resent.send(seq, sent);
        self.cursor = self.cursor.max(seq + 1);
        Some(seq)
    }
}
