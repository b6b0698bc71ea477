//! The sending side of a hop: what is outstanding, when it was sent, what must be sent again.

use std::collections::VecDeque;

use hopflow_tcp::Range;
use hopflow_units::{Duration, Instant};
use hopflow_wire::{Arrived, Feedback};

use super::scoreboard::Scoreboard;
use super::{HopRepair, News, RttConfig, RttEstimator};
use crate::Violation;
use crate::circuit::CellQueue;

/// Duplicate acknowledgements that mean loss (RFC 5681, 3.2).
const DUPLICATES: u32 = 3;
/// So many time-outs in a row may stay without any answer before the peer counts as gone: from the shortest
/// time-out on that takes about a quarter of an hour, as TCP's retransmissions do with Linux.
const SILENCES: u32 = 20;

/// Reliability of a flow's cells towards its successor.
///
/// Loss is detected by duplicate acknowledgements (RFC 5681, 3.2) and by time-out (RFC 6298); the
/// window is not touched, for it follows delay (BackTap paper, section 3.4). Recovery sends the
/// first missing cell again, and then one more per partial acknowledgement (RFC 6582), or, after a
/// time-out, two per acknowledgement as slow start would. Where the successor tells what has arrived
/// beyond a gap, a [`Scoreboard`] says what is lost, and when it is sent again.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// Bounds of the time-out.
    config: RttConfig,
    /// Whether forward feedback is to come, too.
    await_forward: bool,
    /// When the cells from `log_start` on were sent, until they are acknowledged and forwarded.
    log: VecDeque<SentAt>,
    log_start: u64,
    /// Cells that the successor has forwarded.
    forwarded: u64,
    duplicates: u32,
    /// Apart, for most senders repair nothing.
    recovery: Option<Box<Recovery>>,
    /// In place of duplicates and recovery, where acknowledgements are selective.
    scoreboard: Option<Box<Scoreboard>>,
    rtt: RttEstimator,
    silences: u32,
    deadline: Option<Instant>,
}

/// A time of sending; the top bit marks cells that were sent again, which give no sample (Karn).
#[derive(Clone, Copy, Debug)]
struct SentAt(u64);

impl SentAt {
    const RESENT: u64 = 1 << 63;

    const fn sample(self, now: Instant) -> Option<Duration> {
        if self.0 & Self::RESENT != 0 {
            return None;
        }
        Some(now.saturating_since(Instant::from_nanos(self.0)))
    }
}

/// Retransmission until all that was outstanding when loss was detected is acknowledged.
#[derive(Clone, Debug)]
struct Recovery {
    end: u64,
    cursor: u64,
    allowance: u32,
    after_timeout: bool,
}

impl Recovery {
    /// Lets so many more cells be sent again.
    fn allow(&mut self, cells: u32) {
        self.allowance = self.allowance.saturating_add(cells);
    }

    /// Takes the cell that is to be sent again, if one may; those before `head` have arrived.
    fn take(&mut self, head: u64) -> Option<u64> {
        let seq = self.cursor.max(head);
        if self.allowance == 0 || seq >= self.end {
            return None;
        }
        self.cursor = seq + 1;
        self.allowance -= 1;
        Some(seq)
    }
}

/// What the sender's deadline asks for when it has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expired {
    /// Cells were lost: send them again.
    Resend,
    /// All cells arrived, but forward feedback may be lost: ask for it.
    Probe,
    /// The peer is gone.
    Gone,
}

impl Sender {
    /// A sender that hears acknowledgements and, with `await_forward`, forward feedback.
    pub(crate) fn new(await_forward: bool, config: &HopRepair) -> Self {
        Self {
            config: config.rtt,
            await_forward,
            log: VecDeque::new(),
            log_start: 0,
            forwarded: 0,
            duplicates: 0,
            recovery: None,
            scoreboard: config.selective.then(Box::default),
            rtt: RttEstimator::default(),
            silences: 0,
            deadline: None,
        }
    }

    /// Notes that the cell numbered by the log's end is sent for the first time.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant) {
        self.log.push_back(SentAt(now.as_nanos()));
        if self.deadline.is_none() {
            self.deadline = Some(now + self.rtt.rto(&self.config));
        }
    }

    /// Whether a cell is to be sent again.
    #[inline]
    pub(crate) fn wants_resend<P: Clone>(&self, queue: &CellQueue<P>) -> bool {
        if let Some(scoreboard) = &self.scoreboard {
            return scoreboard.next().is_some();
        }
        self.recovery.as_ref().is_some_and(|recovery| {
            recovery.allowance > 0 && recovery.cursor.max(queue.head()) < recovery.end
        })
    }

    /// Chooses a cell to be sent again, and notes that it is.
    pub(crate) fn resend<P: Clone>(&mut self, queue: &CellQueue<P>) -> Option<(u64, P)> {
        let seq = match &mut self.scoreboard {
            Some(scoreboard) => scoreboard.take(queue.next())?,
            None => self.recovery.as_mut()?.take(queue.head())?,
        };
        if let Some(sent) = self.log.get_mut((seq - self.log_start) as usize) {
            sent.0 |= SentAt::RESENT;
        }
        queue.sent(seq).map(|cell| (seq, cell.clone()))
    }

    /// Handles feedback: forgets the cells that were acknowledged, notes those that were forwarded, and
    /// those that arrived beyond a gap.
    ///
    /// # Errors
    /// If it names cells that were never sent, or were forwarded before they arrived.
    #[inline]
    pub(crate) fn on_feedback<P: Clone>(
        &mut self,
        now: Instant,
        (feedback, arrived): (&Feedback, Option<&Arrived>),
        queue: &mut CellQueue<P>,
    ) -> Result<News, Violation> {
        let ack = feedback.ack.widen(queue.head());
        if ack > queue.next() {
            return Err(Violation::BeyondSent);
        }
        self.silences = 0;
        let mut news = News::default();
        if ack > queue.head() {
            self.acknowledge(now, ack, queue, &mut news);
        }
        news.lost = if self.scoreboard.is_some() {
            self.on_arrived(ack, arrived, queue)?
        } else {
            self.on_duplicate(feedback.out_of_order, queue)
        };
        if self.await_forward {
            self.forward(now, feedback, queue, &mut news)?;
        }
        if news.acked > 0 || news.forwarded.is_some_and(|cells| cells > 0) {
            self.rtt.progress();
            if let Some(rtt) = news.ack_rtt {
                self.rtt.sample(rtt);
            }
            self.restart(now, queue);
            self.trim(queue.head());
        }
        Ok(news)
    }

    #[inline]
    fn acknowledge<P: Clone>(
        &mut self,
        now: Instant,
        ack: u64,
        queue: &mut CellQueue<P>,
        news: &mut News,
    ) {
        news.acked = ack - queue.head();
        if self.scoreboard.is_some() {
            self.settle(queue.head(), ack);
        }
        // In a recovery cells that were sent once, too, may have waited behind a gap.
        if self.recovery.is_none() {
            news.ack_rtt = self.sent_at(ack - 1).and_then(|sent| sent.sample(now));
        }
        queue.acknowledge(ack);
        if !self.await_forward {
            self.forwarded = ack;
        }
        self.advance_recovery(news.acked, ack);
    }

    /// Notes on the scoreboard that the cells from `head` to `ack` have arrived. Those that waited for
    /// others give no sample: how long they did is no matter of queues.
    fn settle(&mut self, head: u64, ack: u64) {
        let (log, start) = (&mut self.log, self.log_start);
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.acknowledge((head, ack), |range| {
                for seq in range.start..range.end {
                    if let Some(sent) = log.get_mut((seq - start) as usize) {
                        sent.0 |= SentAt::RESENT;
                    }
                }
            });
        }
    }

    /// Takes what has arrived beyond the cell `ack`; true if cells were lost.
    fn on_arrived<P: Clone>(
        &mut self,
        ack: u64,
        arrived: Option<&Arrived>,
        queue: &CellQueue<P>,
    ) -> Result<bool, Violation> {
        let (Some(scoreboard), Some(arrived)) = (&mut self.scoreboard, arrived) else {
            return Ok(false);
        };
        for (start, end) in arrived.iter().filter(|(start, end)| start < end) {
            let end = ack + u64::from(*end);
            if end > queue.next() {
                return Err(Violation::BeyondSent);
            }
            let start = (ack + u64::from(*start)).max(queue.head());
            if start < end {
                scoreboard.arrive(Range::new(start, end));
            }
        }
        Ok(scoreboard.finds_loss(queue.head(), queue.next()))
    }

    #[inline]
    fn forward<P: Clone>(
        &mut self,
        now: Instant,
        feedback: &Feedback,
        queue: &CellQueue<P>,
        news: &mut News,
    ) -> Result<(), Violation> {
        let forwarded = feedback.fwd.widen(self.forwarded);
        // What is forwarded has arrived, and the same message said so. Otherwise a peer could make
        // us keep any number of cells for retransmission.
        if forwarded > queue.head() {
            return Err(Violation::BeyondSent);
        }
        news.forwarded = forwarded.checked_sub(self.forwarded);
        if forwarded > self.forwarded {
            let last = self.sent_at(forwarded - 1);
            news.forward_rtt = last.and_then(|sent| sent.sample(now));
            self.forwarded = forwarded;
        }
        Ok(())
    }

    /// Forgets when cells were sent that nobody will ask about again.
    #[inline]
    fn trim(&mut self, acknowledged: u64) {
        let settled = self.forwarded.min(acknowledged);
        while self.log_start < settled {
            self.log.pop_front();
            self.log_start += 1;
        }
        if self.log.is_empty() {
            // The next time comes to where memory is in the cache.
            self.log.clear();
        }
    }

    fn sent_at(&self, seq: u64) -> Option<SentAt> {
        self.log
            .get(seq.checked_sub(self.log_start)? as usize)
            .copied()
    }

    #[inline]
    fn on_duplicate<P: Clone>(&mut self, out_of_order: u8, queue: &CellQueue<P>) -> bool {
        if out_of_order == 0 || queue.head() == queue.next() {
            return false;
        }
        self.note_duplicates(u32::from(out_of_order), queue)
    }

    #[cold]
    fn note_duplicates<P: Clone>(&mut self, count: u32, queue: &CellQueue<P>) -> bool {
        if let Some(recovery) = &mut self.recovery {
            if recovery.after_timeout {
                // Every cell that arrives makes room for another one to be repaired.
                recovery.allow(count);
            }
            return false;
        }
        self.duplicates += count;
        if self.duplicates < DUPLICATES {
            return false;
        }
        self.recover(queue, false);
        true
    }

    fn recover<P: Clone>(&mut self, queue: &CellQueue<P>, after_timeout: bool) {
        if let Some(scoreboard) = &mut self.scoreboard {
            return scoreboard.time_out(queue.head(), queue.next());
        }
        self.duplicates = 0;
        let (end, cursor) = (queue.next(), queue.head());
        self.recovery = Some(Box::new(Recovery {
            end,
            cursor,
            allowance: 1,
            after_timeout,
        }));
    }

    #[inline]
    fn advance_recovery(&mut self, acked: u64, ack: u64) {
        self.duplicates = 0;
        let Some(recovery) = &mut self.recovery else {
            return;
        };
        if ack >= recovery.end {
            self.recovery = None;
        } else if recovery.after_timeout {
            recovery.allow(1 + acked.min(64) as u32);
        } else {
            recovery.cursor = ack;
            recovery.allowance = 1;
        }
    }

    /// Restarts the deadline while something is outstanding (RFC 6298, 5.2 and 5.3).
    #[inline]
    fn restart<P: Clone>(&mut self, now: Instant, queue: &CellQueue<P>) {
        let outstanding = queue.next() > queue.head().min(self.forwarded);
        self.deadline = outstanding.then(|| now + self.rtt.rto(&self.config));
    }

    /// When [`Sender::on_deadline`] is to be called.
    #[inline]
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Handles the deadline, if it has passed.
    pub(crate) fn on_deadline<P: Clone>(
        &mut self,
        now: Instant,
        queue: &CellQueue<P>,
    ) -> Option<Expired> {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return None;
        }
        if queue.next() == queue.head().min(self.forwarded) {
            self.deadline = None;
            return None;
        }
        self.silences += 1;
        if self.silences > SILENCES {
            self.deadline = None;
            return Some(Expired::Gone);
        }
        self.rtt.back_off();
        self.deadline = Some(now + self.rtt.rto(&self.config));
        if queue.head() == queue.next() {
            return Some(Expired::Probe);
        }
        self.recover(queue, true);
        Some(Expired::Resend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_wire::CellSeq;

    struct Hop {
        sender: Sender,
        queue: CellQueue<u64>,
        now: Instant,
    }

    const CONFIG: RttConfig = RttConfig {
        initial: Duration::from_secs(1),
        min: Duration::from_millis(200),
        max: Duration::from_secs(60),
    };

    impl Hop {
        fn with_sent(cells: u64) -> Self {
            Self::new(cells, false)
        }

        fn selective(cells: u64) -> Self {
            Self::new(cells, true)
        }

        fn new(cells: u64, selective: bool) -> Self {
            let config = HopRepair {
                rtt: CONFIG,
                selective,
            };
            let mut hop = Self {
                sender: Sender::new(true, &config),
                queue: CellQueue::default(),
                now: Instant::ZERO,
            };
            hop.send(cells);
            hop
        }

        fn send(&mut self, cells: u64) {
            for cell in 0..cells {
                self.queue.push(cell);
                self.queue.send();
                self.sender.on_sent(self.now);
            }
        }

        /// Selective acknowledgements: what has arrived, and ranges beyond it as cells are numbered.
        fn sack(&mut self, ack: u64, ranges: &[(u64, u64)]) -> Result<News, Violation> {
            let mut arrived = Arrived::default();
            for (place, (start, end)) in arrived.iter_mut().zip(ranges) {
                *place = ((start - ack) as u16, (end - ack) as u16);
            }
            let feedback = Feedback {
                ack: CellSeq::of(ack),
                fwd: CellSeq::of(self.sender.forwarded),
                out_of_order: 1,
                ..Feedback::default()
            };
            self.sender
                .on_feedback(self.now, (&feedback, Some(&arrived)), &mut self.queue)
        }

        /// Feedback with the latest number of forwarded cells.
        fn ack(&mut self, ack: u64, out_of_order: u8) -> Result<News, Violation> {
            let fwd = CellSeq::of(self.sender.forwarded);
            let feedback = Feedback {
                ack: CellSeq::of(ack),
                fwd,
                out_of_order,
                ..Feedback::default()
            };
            self.sender
                .on_feedback(self.now, (&feedback, None), &mut self.queue)
        }

        /// Feedback with the latest number of acknowledged cells.
        fn forward(&mut self, fwd: u64) -> Result<Option<(u64, Option<Duration>)>, Violation> {
            let feedback = Feedback {
                ack: CellSeq::of(self.queue.head()),
                fwd: CellSeq::of(fwd),
                ..Feedback::default()
            };
            let news = self
                .sender
                .on_feedback(self.now, (&feedback, None), &mut self.queue)?;
            Ok(news.forwarded.map(|cells| (cells, news.forward_rtt)))
        }

        fn resends(&mut self) -> Vec<u64> {
            std::iter::from_fn(|| self.sender.resend(&self.queue))
                .map(|(seq, _)| seq)
                .collect()
        }

        fn wait(&mut self, millis: u64) -> &mut Self {
            self.now += Duration::from_millis(millis);
            self
        }
    }

    #[test]
    fn samples_both_round_trips_from_the_same_sending() {
        let mut hop = Hop::with_sent(3);
        let acked = hop.wait(40).ack(2, 0).unwrap();
        let news = (acked.acked, acked.ack_rtt, acked.lost);
        assert_eq!(news, (2, Some(Duration::from_millis(40)), false));
        assert_eq!(
            hop.wait(10).forward(1),
            Ok(Some((1, Some(Duration::from_millis(50)))))
        );
        assert_eq!(
            hop.wait(10).forward(2),
            Ok(Some((1, Some(Duration::from_millis(60)))))
        );
        assert_eq!(hop.forward(1), Ok(None), "what is overtaken says nothing");
    }

    #[test]
    fn feedback_about_cells_never_sent_is_a_violation() {
        let mut hop = Hop::with_sent(3);
        assert_eq!(hop.ack(4, 0), Err(Violation::BeyondSent));
        assert_eq!(hop.forward(4), Err(Violation::BeyondSent));
    }

    #[test]
    fn cells_are_not_forwarded_before_they_arrive() {
        let mut hop = Hop::with_sent(3);
        hop.ack(2, 0).unwrap();
        assert_eq!(hop.forward(3), Err(Violation::BeyondSent));
    }

    #[test]
    fn three_duplicates_repair_the_first_gap_and_partial_acks_the_others() {
        let mut hop = Hop::with_sent(10);
        assert!(!hop.ack(2, 2).unwrap().lost);
        assert!(hop.resends().is_empty());
        assert!(hop.ack(2, 1).unwrap().lost);
        assert_eq!(hop.resends(), [2]);
        hop.ack(2, 5).unwrap();
        assert!(
            hop.resends().is_empty(),
            "further duplicates change nothing"
        );
        hop.ack(5, 0).unwrap();
        assert_eq!(hop.resends(), [5]);
        hop.ack(10, 0).unwrap();
        assert!(hop.resends().is_empty());
        assert!(hop.sender.recovery.is_none());
    }

    #[test]
    fn acknowledgements_of_cells_sent_again_and_of_what_waited_for_them_are_no_samples() {
        let mut hop = Hop::with_sent(5);
        hop.wait(30).ack(0, 4).unwrap();
        assert_eq!(hop.resends(), [0]);
        assert_eq!(hop.wait(30).ack(1, 0).unwrap().ack_rtt, None);
        assert_eq!(hop.forward(1), Ok(Some((1, None))));
        assert_eq!(hop.ack(5, 0).unwrap().ack_rtt, None);
        // Until it is forwarded a cell waits for others, too.
        let forwarded = Duration::from_millis(60);
        assert_eq!(hop.forward(5), Ok(Some((4, Some(forwarded)))));
        hop.send(1);
        assert_eq!(
            hop.wait(30).ack(6, 0).unwrap().ack_rtt,
            Some(Duration::from_millis(30))
        );
    }

    #[test]
    fn gaps_that_are_closed_one_in_a_round_trip_do_not_lengthen_the_time_out() {
        let mut hop = Hop::with_sent(1);
        hop.wait(30).ack(1, 0).unwrap();
        hop.send(100);
        hop.wait(30).ack(1, 50).unwrap();
        for gap in (1..101).step_by(2) {
            assert_eq!(hop.resends(), [gap]);
            hop.wait(30).ack(gap + 2, 0).unwrap();
        }
        let after = hop.sender.deadline().unwrap().saturating_since(hop.now);
        assert_eq!(after, CONFIG.min);
    }

    #[test]
    fn recoveries_in_a_row_leave_the_time_out_bounded() {
        let mut hop = Hop::with_sent(1);
        hop.wait(30).ack(1, 0).unwrap();
        for round in 0..20 {
            let first = 1 + 10 * round;
            hop.send(10);
            // Each acknowledgement that ends a recovery stops before a gap.
            hop.wait(30).ack(first, 9).unwrap();
            hop.resends();
            hop.wait(30).ack(first + 10, 0).unwrap();
        }
        let after = hop.sender.rtt.rto(&CONFIG);
        assert_eq!(after, CONFIG.min);
    }

    #[test]
    fn a_timeout_backs_off_and_sends_again_in_slow_start() {
        let mut hop = Hop::with_sent(8);
        let deadline = hop.sender.deadline().unwrap();
        assert_eq!(deadline, Instant::ZERO + Duration::from_secs(1));
        hop.now = deadline;
        let expired = hop.sender.on_deadline(hop.now, &hop.queue);
        assert_eq!(expired, Some(Expired::Resend));
        assert_eq!(
            hop.sender.deadline(),
            Some(deadline + Duration::from_secs(2))
        );
        assert_eq!(hop.resends(), [0]);
        hop.ack(1, 0).unwrap();
        assert_eq!(hop.resends(), [1, 2]);
        hop.ack(3, 0).unwrap();
        assert_eq!(hop.resends(), [3, 4, 5]);
    }

    #[test]
    fn selective_acknowledgements_repair_several_gaps_in_a_round_trip() {
        let mut hop = Hop::selective(20);
        assert!(!hop.sack(2, &[(3, 5)]).unwrap().lost);
        assert!(hop.resends().is_empty(), "it may be reordering");
        assert!(hop.sack(2, &[(3, 6)]).unwrap().lost);
        assert_eq!(hop.resends(), [2]);
        let again = hop.sack(2, &[(16, 20), (9, 15), (3, 8)]).unwrap();
        assert!(!again.lost, "loss in a round trip counts once");
        assert_eq!(hop.resends(), [8, 15]);
        hop.sack(2, &[(16, 20), (9, 15), (3, 8)]).unwrap();
        assert!(hop.resends().is_empty(), "once is enough");
        hop.sack(15, &[(16, 20)]).unwrap();
        assert_eq!(hop.ack(20, 0).unwrap().acked, 5);
        assert!(hop.resends().is_empty());
    }

    #[test]
    fn what_is_lost_again_is_sent_again() {
        let mut hop = Hop::selective(10);
        hop.sack(0, &[(6, 10)]).unwrap();
        assert_eq!(hop.resends(), [0, 1, 2, 3, 4, 5]);
        hop.sack(0, &[(6, 10), (1, 3)]).unwrap();
        assert!(hop.resends().is_empty(), "it may be reordering");
        hop.sack(0, &[(6, 10), (1, 4)]).unwrap();
        assert_eq!(hop.resends(), [0]);
        hop.send(4);
        hop.sack(0, &[(10, 13), (6, 10), (1, 4)]).unwrap();
        assert_eq!(
            hop.resends(),
            [4, 5, 0],
            "three that were sent later have come"
        );
    }

    #[test]
    fn lost_cells_leave_no_faster_than_others_arrive() {
        let mut hop = Hop::selective(1000);
        hop.sack(0, &[(996, 1000)]).unwrap();
        assert_eq!(hop.resends().len(), 8);
        hop.sack(8, &[(996, 1000)]).unwrap();
        assert_eq!(hop.resends().len(), 16);
        hop.sack(500, &[(996, 1000)]).unwrap();
        assert_eq!(hop.resends().len(), 64);
    }

    #[test]
    fn after_a_timeout_all_that_has_not_arrived_is_sent_again() {
        let mut hop = Hop::selective(8);
        hop.sack(0, &[(5, 6)]).unwrap();
        hop.resends();
        hop.now = hop.sender.deadline().unwrap();
        let expired = hop.sender.on_deadline(hop.now, &hop.queue);
        assert_eq!(expired, Some(Expired::Resend));
        assert_eq!(hop.resends(), [0]);
        hop.sack(1, &[(5, 6)]).unwrap();
        assert_eq!(hop.resends(), [1, 2]);
        hop.sack(3, &[(5, 6)]).unwrap();
        assert_eq!(hop.resends(), [3, 4, 6, 7]);
    }

    #[test]
    fn what_waited_for_others_gives_no_sample() {
        let mut hop = Hop::selective(6);
        hop.wait(30).sack(0, &[(1, 6)]).unwrap();
        assert_eq!(hop.resends(), [0]);
        assert_eq!(hop.wait(30).ack(6, 0).unwrap().ack_rtt, None);
        assert_eq!(hop.forward(6), Ok(Some((6, None))));
    }

    #[test]
    fn ranges_of_cells_never_sent_are_a_violation_and_empty_ones_nothing() {
        let mut hop = Hop::selective(10);
        assert_eq!(hop.sack(4, &[(5, 11)]), Err(Violation::BeyondSent));
        let mut hop = Hop::selective(10);
        hop.sack(4, &[(6, 6), (8, 5)]).unwrap();
        assert!(hop.resends().is_empty());
        hop.sack(9, &[]).unwrap();
        let late = hop.sack(4, &[(5, 9)]).unwrap();
        assert_eq!(
            (late.acked, late.lost),
            (0, false),
            "what is overtaken says nothing"
        );
    }

    #[test]
    fn lost_forward_feedback_is_probed_for() {
        let mut hop = Hop::with_sent(2);
        hop.wait(40).ack(2, 0).unwrap();
        hop.now = hop.sender.deadline().expect("forward feedback is missing");
        let expired = hop.sender.on_deadline(hop.now, &hop.queue);
        assert_eq!(expired, Some(Expired::Probe));
        hop.forward(2).unwrap();
        assert_eq!(hop.sender.deadline(), None);
    }

    #[test]
    fn a_peer_that_never_answers_is_gone() {
        let mut hop = Hop::with_sent(1);
        let mut rounds = 0;
        while let Some(deadline) = hop.sender.deadline() {
            hop.now = deadline;
            rounds += 1;
            let expired = hop.sender.on_deadline(hop.now, &hop.queue);
            if expired == Some(Expired::Gone) {
                break;
            }
        }
        assert_eq!(rounds, SILENCES + 1);
    }
}
