//! What has become of the data that was sent (RFC 6675, section 4).
//!
//! Each outstanding offset is in exactly one state: in flight, arrived out of order ("sacked"), or
//! lost and waiting for its retransmission. What is in flight counts into the pipe, whether it was
//! sent once or again. Nothing is kept per segment, so that without losses there is no work.

use std::collections::VecDeque;

use hopflow_units::Instant;

use crate::ranges::{Range, RangeSet};

/// Duplicate acknowledgements that tell a loss (RFC 5681, section 3.2).
pub(crate) const DUP_THRESH: u64 = 3;

/// A retransmission in flight.
#[derive(Clone, Copy, Debug)]
struct Resent {
    range: Range,
    /// The next new offset when it was sent: whatever lies above was sent later.
    order: u64,
    sent: Instant,
}

/// What an acknowledgement told about earlier data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// By how much the cumulative acknowledgement advanced.
    pub(crate) acked: u64,
    /// How much is newly known to have arrived, in order or not.
    pub(crate) delivered: u64,
    /// How much arrived out of order, of that.
    pub(crate) sacked: u64,
}

/// The state of all outstanding data.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    mss: u64,
    /// Whether the order of transmissions tells of losses (RFC 8985).
    rack: bool,
    una: u64,
    nxt: u64,
    sacked: RangeSet,
    lost: RangeSet,
    /// Everything not sacked below this is, or was, lost.
    lost_edge: u64,
    /// Retransmissions in the order of their sending.
    resent: VecDeque<Resent>,
    /// What duplicate acknowledgements without SACK blocks say to have left the network.
    duplicates: u64,
    /// What was lost since it was last asked for, if anybody asks.
    news: Option<Vec<Range>>,
}

impl Scoreboard {
    pub(crate) fn new(mss: u64, rack: bool) -> Self {
        Self {
            mss,
            rack,
            news: None,
            una: 0,
            nxt: 0,
            sacked: RangeSet::default(),
            lost: RangeSet::default(),
            lost_edge: 0,
            resent: VecDeque::new(),
            duplicates: 0,
        }
    }

    /// The same, noting what is lost for [`take_news`](Self::take_news) if `tells`.
    pub(crate) fn telling(self, tells: bool) -> Self {
        Self {
            news: tells.then(Vec::new),
            ..self
        }
    }

    /// The lowest offset that is not acknowledged.
    pub(crate) const fn una(&self) -> u64 {
        self.una
    }

    /// The lowest offset that was never sent.
    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Sent and not acknowledged cumulatively.
    pub(crate) const fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    /// What is thought to be in the network (RFC 6675, `pipe`).
    pub(crate) const fn pipe(&self) -> u64 {
        let present = self.outstanding() - self.sacked.total() - self.lost.total();
        present.saturating_sub(self.duplicates)
    }

    /// Whether something has arrived out of order.
    pub(crate) const fn has_sacked(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// Upper end of what is known to have arrived.
    pub(crate) fn top(&self) -> u64 {
        self.sacked.last().map_or(self.una, |r| r.end)
    }

    /// Whether something waits for its retransmission.
    pub(crate) const fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Notes that the next `len` new offsets were sent.
    pub(crate) const fn sent_new(&mut self, len: u64) {
        self.nxt += len;
    }

    /// The next retransmission, which may be up to `max` long, without taking it.
    pub(crate) fn next_lost(&self, max: u64) -> Option<Range> {
        let range = self.lost.first()?;
        Some(Range::new(range.start, range.end.min(range.start + max)))
    }

    /// Notes that `range` was sent again.
    pub(crate) fn retransmitted(&mut self, range: Range, sent: Instant) {
        self.lost.remove(range);
        if self.rack {
            let order = self.nxt;
            self.resent.push_back(Resent { range, order, sent });
        }
    }

    /// Takes in a cumulative acknowledgement up to `ack`, which lies within what was sent, and
    /// SACK blocks. They answer nothing that was sent after `answered`, which is a round trip ago.
    pub(crate) fn acknowledge(
        &mut self,
        ack: u64,
        blocks: impl Iterator<Item = Range>,
        answered: Instant,
    ) -> Delivery {
        let acked = ack - self.una;
        let mut delivery = Delivery {
            acked,
            delivered: acked,
            sacked: 0,
        };
        if acked > 0 {
            delivery.delivered -= self.advance(ack, answered);
        }
        for block in blocks {
            let new = self.sack(block, answered);
            delivery.sacked += new;
            delivery.delivered += new;
        }
        delivery
    }

    /// Moves the lower edge and returns how much below it was known to have arrived.
    fn advance(&mut self, ack: u64, answered: Instant) -> u64 {
        let acked = ack - self.una;
        self.una = ack;
        self.lost_edge = self.lost_edge.max(ack);
        let announced = self.announced(acked);
        self.duplicates -= announced;
        self.lost.remove_below(ack);
        let known = self.sacked.remove_below(ack);
        while let Some(resent) = self.resent.front().copied().filter(|r| r.range.end <= ack) {
            self.resent.pop_front();
            self.overtaken_by(&resent, answered);
        }
        known + announced
    }

    /// How much of what an acknowledgement covers was told by duplicates without SACK blocks: all
    /// but the hole itself, which was one segment.
    fn announced(&self, acked: u64) -> u64 {
        let beyond_hole = self.duplicates.min(acked.saturating_sub(self.mss));
        beyond_hole.max(self.duplicates.saturating_sub(self.outstanding()))
    }

    /// Adds a SACK block and returns how much of it is new.
    fn sack(&mut self, block: Range, answered: Instant) -> u64 {
        let block = Range::new(block.start.max(self.una), block.end.min(self.nxt));
        if block.start >= block.end {
            return 0;
        }
        let before = self.sacked.total();
        self.sacked.insert(block);
        let new = self.sacked.total() - before;
        if new > 0 && !(self.lost.is_empty() && self.resent.is_empty()) {
            self.lost.remove(block);
            self.pass_resent(block, new, answered);
        }
        new
    }

    /// Finds the retransmissions that arrived with `block`, of which `new` is new.
    fn pass_resent(&mut self, block: Range, new: u64, answered: Instant) {
        let mut left = new;
        while left > 0 {
            let inside = |r: &Resent| block.contains(r.range);
            let Some(at) = self.resent.iter().position(inside) else {
                return;
            };
            let Some(arrived) = self.resent.remove(at) else {
                return;
            };
            if arrived.sent <= answered {
                for _ in 0..at {
                    self.lose_front_resent();
                }
            }
            self.overtaken_by(&arrived, answered);
            left = left.saturating_sub(arrived.range.len());
        }
    }

    /// Everything that was first sent before a retransmission that has arrived is lost, as RACK
    /// has it where nothing reorders (RFC 8985, section 6.2). If the answer comes too early for
    /// the retransmission, it is the original that has arrived, and tells nothing.
    fn overtaken_by(&mut self, arrived: &Resent, answered: Instant) {
        if arrived.sent <= answered {
            self.lose_up_to(arrived.order);
        }
    }

    /// Gives up the oldest retransmission.
    fn lose_front_resent(&mut self) {
        if let Some(resent) = self.resent.pop_front() {
            self.lose(resent.range);
        }
    }

    /// Marks as lost what has not arrived of `range`.
    fn lose(&mut self, range: Range) {
        let range = Range::new(range.start.max(self.una), range.end);
        if range.start < range.end {
            let (lost, news) = (&mut self.lost, &mut self.news);
            self.sacked.gaps(range, |gap| {
                lost.insert(gap);
                if let Some(news) = news {
                    news.push(gap);
                }
            });
        }
    }

    /// Marks everything as lost that lies far enough below what has arrived: three separate
    /// ranges, or more than two segments (RFC 6675, `IsLost`); returns whether that was anything.
    pub(crate) fn detect_losses(&mut self) -> bool {
        let Some(top) = self.sacked.last() else {
            return false;
        };
        let before = self.lost.total();
        if let Some(edge) = self.overtaken_edge() {
            self.lose_up_to(edge);
        }
        // A retransmission is overtaken once as much arrived that was first sent after it.
        while let Some(oldest) = self.resent.front() {
            let margin = (DUP_THRESH - 1) * self.mss;
            if top.end <= oldest.order.max(top.start) + margin {
                break;
            }
            self.lose_front_resent();
        }
        self.lost.total() > before
    }

    /// The start of the highest range that, with those above it, makes a loss.
    fn overtaken_edge(&self) -> Option<u64> {
        let (mut ranges, mut bytes) = (0, 0);
        let enough = |range: &Range| {
            ranges += 1;
            bytes += range.len();
            ranges >= DUP_THRESH || bytes > (DUP_THRESH - 1) * self.mss
        };
        self.sacked.descending().find(enough).map(|r| r.start)
    }

    fn lose_up_to(&mut self, edge: u64) {
        if edge > self.lost_edge {
            let range = Range::new(self.lost_edge, edge);
            self.lost_edge = edge;
            self.lose(range);
        }
    }

    /// Marks the first outstanding segment as lost, unless it is already known to be.
    pub(crate) fn lose_head(&mut self) {
        let end = self.nxt.min(self.una + self.mss);
        let end = self.sacked.first().map_or(end, |r| end.min(r.start));
        self.lose_up_to(end);
    }

    /// Marks everything as lost that has not arrived: the retransmission timer has expired.
    pub(crate) fn lose_all(&mut self) {
        // A time-out may be the last that is heard for long: no room is kept.
        self.resent = VecDeque::new();
        self.lost.clear();
        self.duplicates = 0;
        self.lost_edge = self.nxt;
        self.lose(Range::new(self.una, self.nxt));
    }

    /// What was lost since the last call.
    pub(crate) fn take_news(&mut self) -> Vec<Range> {
        self.news.as_mut().map_or_else(Vec::new, std::mem::take)
    }

    /// Marks every hole below what has arrived as lost.
    pub(crate) fn lose_below_top(&mut self) {
        if let Some(top) = self.sacked.last() {
            self.lose_up_to(top.start);
        }
    }

    /// Counts a duplicate acknowledgement without SACK blocks, and returns how much it says to
    /// have arrived.
    pub(crate) fn duplicate(&mut self) -> u64 {
        let most = self.outstanding().saturating_sub(self.mss);
        let new = self.mss.min(most.saturating_sub(self.duplicates));
        self.duplicates += new;
        new
    }

    /// A segment below the highest that arrived which nothing else would send (RFC 6675,
    /// `NextSeg` rule 3), now taken for lost.
    pub(crate) fn lose_next_below_top(&mut self) -> bool {
        let Some(top) = self.sacked.last() else {
            return false;
        };
        if self.lost_edge >= top.start {
            return false;
        }
        self.lose_up_to(top.start.min(self.lost_edge + self.mss));
        self.has_lost()
    }

    /// The last outstanding segment, for a rescue retransmission (RFC 6675, `NextSeg` rule 4).
    pub(crate) fn tail(&self) -> Option<Range> {
        let start = self.top().max(self.nxt.saturating_sub(self.mss));
        (start < self.nxt).then(|| Range::new(start, self.nxt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 100;

    fn sent(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(MSS, true);
        board.sent_new(segments * MSS);
        board
    }

    fn segments(from: u64, to: u64) -> Range {
        Range::new(from * MSS, to * MSS)
    }

    fn sack(board: &mut Scoreboard, from: u64, to: u64) -> Delivery {
        board.acknowledge(board.una(), [segments(from, to)].into_iter(), Instant::ZERO)
    }

    fn resend(board: &mut Scoreboard) -> Option<Range> {
        let range = board.next_lost(MSS)?;
        board.retransmitted(range, Instant::ZERO);
        Some(range)
    }

    #[test]
    fn two_segments_above_a_hole_are_not_yet_a_loss() {
        let mut board = sent(10);
        sack(&mut board, 1, 3);
        assert!(!board.detect_losses());
        sack(&mut board, 1, 4);
        assert!(board.detect_losses());
        assert_eq!(resend(&mut board), Some(segments(0, 1)));
        assert_eq!(resend(&mut board), None);
        assert_eq!(board.pipe(), 7 * MSS);
    }

    #[test]
    fn three_small_ranges_are_a_loss() {
        let mut board = sent(10);
        for at in [150, 350, 550] {
            board.acknowledge(0, [Range::new(at, at + 10)].into_iter(), Instant::ZERO);
        }
        assert!(board.detect_losses());
        assert_eq!(board.next_lost(1000), Some(Range::new(0, 150)));
    }

    #[test]
    fn what_was_sacked_is_not_delivered_twice() {
        let mut board = sent(10);
        assert_eq!(sack(&mut board, 2, 6).delivered, 4 * MSS);
        assert_eq!(sack(&mut board, 2, 7).delivered, MSS);
        let all = board.acknowledge(7 * MSS, std::iter::empty(), Instant::ZERO);
        assert_eq!((all.acked, all.delivered), (7 * MSS, 2 * MSS));
    }

    #[test]
    fn a_retransmission_overtaken_by_a_later_one_is_lost_again() {
        let mut board = sent(10);
        sack(&mut board, 5, 10);
        board.detect_losses();
        for n in 0..4 {
            assert_eq!(resend(&mut board), Some(segments(n, n + 1)));
        }
        sack(&mut board, 2, 3);
        assert_eq!(board.next_lost(1000), Some(segments(0, 2)));
        assert_eq!(board.pipe(), MSS);
    }

    #[test]
    fn a_retransmission_overtaken_by_new_data_is_lost_again() {
        let mut board = sent(10);
        sack(&mut board, 1, 10);
        board.detect_losses();
        assert_eq!(resend(&mut board), Some(segments(0, 1)));
        board.sent_new(3 * MSS);
        sack(&mut board, 1, 12);
        assert!(!board.detect_losses());
        sack(&mut board, 1, 13);
        assert!(board.detect_losses());
        assert_eq!(resend(&mut board), Some(segments(0, 1)));
    }

    #[test]
    fn what_was_sent_before_a_retransmission_that_arrived_is_lost() {
        let mut board = sent(10);
        sack(&mut board, 1, 9);
        board.detect_losses();
        assert_eq!(resend(&mut board), Some(segments(0, 1)));
        board.acknowledge(9 * MSS, std::iter::empty(), Instant::ZERO);
        assert_eq!(resend(&mut board), Some(segments(9, 10)));
    }

    #[test]
    fn an_original_that_comes_late_tells_nothing() {
        let mut board = sent(10);
        sack(&mut board, 1, 9);
        board.detect_losses();
        let range = board.next_lost(MSS).unwrap();
        board.retransmitted(range, Instant::from_nanos(2));
        board.acknowledge(9 * MSS, std::iter::empty(), Instant::from_nanos(1));
        assert_eq!(resend(&mut board), None);
    }

    #[test]
    fn a_timeout_loses_all_but_what_arrived() {
        let mut board = sent(5);
        sack(&mut board, 2, 3);
        board.lose_all();
        assert_eq!(board.pipe(), 0);
        assert_eq!(board.next_lost(1000), Some(segments(0, 2)));
    }

    #[test]
    fn the_rescue_segment_is_the_last_one_outstanding() {
        let mut board = sent(5);
        assert_eq!(board.tail(), Some(segments(4, 5)));
        sack(&mut board, 1, 5);
        assert_eq!(board.tail(), None);
    }
}
