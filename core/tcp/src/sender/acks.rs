//! What acknowledgements mean to the sender.

use hopflow_units::Instant;

use super::early::Answer;
use super::{Due, Sender};
use crate::bbr::Bbr;
use crate::scoreboard::Delivery;
use crate::segment::Segment;
use crate::window::AckSample;

impl Sender {
    /// Takes in what the handshake told: a first round-trip time and the peer's window. A SYN
    /// that had to be repeated more than once leaves a window of one segment (RFC 6928,
    /// section 2).
    pub(crate) fn established(&mut self, now: Instant, segment: &Segment, retries: u32) {
        self.rtt_mut().sample(now, segment.echo, 0, 0);
        let round_trip = self.rtt().latest();
        self.congestion
            .tell(|bbr| bbr.see_round_trip(now, round_trip));
        self.offered(segment.ack, segment.window);
        if retries > 1 {
            self.congestion.window_mut().collapse();
            self.congestion.tell(Bbr::collapse);
        }
    }

    /// Takes in a segment's acknowledgement, window and SACK blocks.
    pub(crate) fn acknowledge(&mut self, now: Instant, segment: &Segment) {
        let window_grew = self.offered(segment.ack, segment.window);
        if segment.ack < self.board.una() || segment.ack > self.board.nxt() {
            return;
        }
        let was_outstanding = self.board.outstanding() > 0;
        self.congestion
            .tell(|bbr| bbr.check_application(now, self.board.pipe()));
        let delivery = self.deliver(now, segment, (was_outstanding, window_grew));
        self.stats.bytes_delivered += delivery.delivered;
        self.settle_tail_probe(segment);
        let new_loss = self.loss.detect(&mut self.board);
        self.recover(&delivery, new_loss);
        if self.congestion.is_modelled() {
            self.report_losses(now);
            if was_outstanding {
                self.follow(now, segment, &delivery);
            }
        } else {
            self.grow(now, &delivery);
        }
        self.rearm(now, &delivery, window_grew);
    }

    /// Finds out what has newly arrived, and counts duplicates.
    fn deliver(
        &mut self,
        now: Instant,
        segment: &Segment,
        (was_outstanding, window_grew): (bool, bool),
    ) -> Delivery {
        let blocks = segment.sack.ranges(segment.ack);
        let answered = now.saturating_sub(self.rtt().min_rtt());
        let mut delivery = self.board.acknowledge(segment.ack, blocks, answered);
        if delivery.acked > 0 {
            let (una, nxt) = (self.board.una(), self.board.nxt());
            self.rtt_mut().sample(now, segment.echo, una, nxt);
            self.loss.on_new_data();
        } else if was_outstanding && self.loss.is_duplicate(segment, &delivery, window_grew) {
            self.loss.on_duplicate(&mut self.board, &mut delivery);
        }
        delivery
    }

    /// Looks whether an acknowledgement answers a tail loss probe.
    fn settle_tail_probe(&mut self, segment: &Segment) {
        match self.early.settle(segment.echo, &self.board) {
            Answer::Repaired if self.loss.is_open() => {
                let window = self.congestion.window_mut();
                window.on_congestion();
                window.set(window.ssthresh());
            }
            Answer::Overtook => self.board.lose_below_top(),
            Answer::Repaired | Answer::Nothing => {}
        }
    }

    /// Lets a recovery end, begin or go on.
    pub(super) fn recover(&mut self, delivery: &Delivery, new_loss: bool) {
        let was_open = self.loss.is_open();
        let window = self.congestion.window_mut();
        let begins = self
            .loss
            .advance(&mut self.board, window, delivery, new_loss);
        self.stats.fast_recoveries += u64::from(begins);
        if self.congestion.is_modelled() {
            self.note_recovery(was_open, begins);
        }
    }

    /// Tells BBR whether a recovery has ended, and whether one begins; both can be.
    #[cold]
    fn note_recovery(&mut self, was_open: bool, begins: bool) {
        if !was_open && (begins || self.loss.is_open()) {
            self.congestion.tell(Bbr::on_recovered);
        }
        if begins {
            self.congestion.tell(Bbr::on_recovery);
        }
    }

    /// Tells BBR of new losses.
    #[cold]
    pub(super) fn report_losses(&mut self, now: Instant) {
        for range in self.board.take_news() {
            self.congestion.tell(|bbr| bbr.on_lost(now, range));
        }
    }

    /// Lets BBR take in an acknowledgement.
    #[cold]
    fn follow(&mut self, now: Instant, segment: &Segment, delivery: &Delivery) {
        let told = (self.board.una(), delivery.delivered);
        let state = (self.board.pipe(), !self.loss.is_open());
        let ack = self.congestion.ack_state(now, told, state);
        let blocks = segment.sack.ranges(segment.ack);
        self.congestion.tell(|bbr| bbr.on_ack(&ack, blocks));
    }

    /// Grows the window outside of fast recovery.
    fn grow(&mut self, now: Instant, delivery: &Delivery) {
        if delivery.acked == 0 || self.loss.is_fast() {
            return;
        }
        let rtt = self.timer.rtt();
        self.congestion.grow(&AckSample {
            now,
            // Not what was acknowledged: the end of a recovery acknowledges much that arrived long
            // before, and would burst.
            acked: delivery.delivered,
            una: self.board.una(),
            nxt: self.board.nxt(),
            rtt: rtt.latest(),
            min_rtt: rtt.min_rtt(),
        });
    }

    /// Restarts the timer for new data acknowledged (RFC 6298, rule 5.3), stops it when nothing is
    /// left. A window that opens answers the questions for it, as in Linux (`tcp_ack_probe`).
    fn rearm(&mut self, now: Instant, delivery: &Delivery, window_grew: bool) {
        if self.board.outstanding() == 0 {
            if window_grew {
                self.rtt_mut().forget_backoff();
            }
            if delivery.acked > 0 || window_grew {
                self.timer.stop();
                self.due = Due::Nothing;
            }
        } else if delivery.acked > 0 {
            self.timer.start(now);
        }
        if delivery.delivered > 0 {
            self.set_early_alarm(now);
        }
    }
}
