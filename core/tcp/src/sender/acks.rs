//! What acknowledgements mean to the sender.

use hopflow_units::Instant;

use super::{Due, Sender};
use crate::recovery::{Progress, RateReduction, Recovery};
use crate::scoreboard::{DUP_THRESH, Delivery};
use crate::segment::Segment;
use crate::window::AckSample;

impl Sender {
    /// Takes in what the handshake told: a first round-trip time and the peer's window. A SYN
    /// that had to be repeated more than once leaves a window of one segment (RFC 6928,
    /// section 2).
    pub(crate) fn established(&mut self, now: Instant, segment: &Segment, retries: u32) {
        self.rtt.sample(now, segment.echo, 0, 0);
        self.offered(segment.ack, segment.window);
        if retries > 1 {
            self.window.collapse();
        }
    }

    /// Takes in a segment's acknowledgement, window and SACK blocks.
    pub(crate) fn acknowledge(&mut self, now: Instant, segment: &Segment) {
        let window_grew = self.offered(segment.ack, segment.window);
        if segment.ack < self.board.una() || segment.ack > self.board.nxt() {
            return;
        }
        let was_outstanding = self.board.outstanding() > 0;
        let blocks = segment.sack.ranges(segment.ack);
        let answered = now.saturating_sub(self.rtt.min_rtt());
        let mut delivery = self.board.acknowledge(segment.ack, blocks, answered);
        if delivery.acked > 0 {
            let (una, nxt) = (self.board.una(), self.board.nxt());
            self.rtt.sample(now, segment.echo, una, nxt);
            self.duplicates = 0;
        } else if was_outstanding && self.is_duplicate(segment, &delivery, window_grew) {
            self.on_duplicate(&mut delivery);
        }
        self.stats.bytes_delivered += delivery.delivered;
        self.settle_tail_probe(segment);
        let new_loss = self.config.sack && self.board.detect_losses();
        self.recover(&delivery, new_loss);
        self.grow(now, &delivery);
        self.rearm(now, &delivery, window_grew);
    }

    /// RFC 5681, section 2, or with SACK RFC 6675, section 2.
    const fn is_duplicate(&self, segment: &Segment, delivery: &Delivery, grew: bool) -> bool {
        if self.config.sack {
            delivery.sacked > 0
        } else {
            segment.len == 0 && !grew
        }
    }

    fn on_duplicate(&mut self, delivery: &mut Delivery) {
        self.duplicates += 1;
        if !self.config.sack {
            delivery.delivered += self.board.duplicate();
        }
        // Without SACK, duplicates of data from before a recovery would start another.
        let fresh = self.config.sack || self.board.una() > self.recover || self.recover == 0;
        let enough = u64::from(self.duplicates) >= DUP_THRESH;
        if enough && fresh && self.recovery == Recovery::Open {
            self.board.lose_head();
        }
    }

    /// Leaves a recovery whose end was acknowledged, enters one upon a loss, and else shrinks the
    /// window by what was delivered.
    pub(super) fn recover(&mut self, delivery: &Delivery, new_loss: bool) {
        let una = self.board.una();
        if self.recovery.point().is_some_and(|point| una >= point) {
            if self.recovery.is_fast() {
                self.window.set(self.window.ssthresh());
            }
            self.recovery = Recovery::Open;
            self.urgent = false;
        }
        match self.recovery {
            Recovery::Open if self.board.has_lost() => self.enter_recovery(delivery),
            Recovery::Fast { .. } => {
                if !self.config.sack && delivery.acked > 0 {
                    // A partial acknowledgement tells of the next hole (RFC 6582, section 3.2).
                    self.board.lose_head();
                    self.urgent = true;
                }
                self.reduce(delivery, new_loss);
            }
            Recovery::Open | Recovery::Timeout { .. } => {}
        }
    }

    fn enter_recovery(&mut self, delivery: &Delivery) {
        self.stats.fast_recoveries += 1;
        self.window.on_congestion();
        self.urgent = true;
        self.recover = self.board.nxt();
        let reduction = self
            .config
            .rate_reduction
            .then(|| RateReduction::new(self.board.outstanding() + delivery.acked));
        self.recovery = Recovery::Fast {
            point: self.board.nxt(),
            reduction,
            rescued: false,
        };
        if self.config.rate_reduction {
            self.reduce(delivery, true);
        } else {
            self.window.set(self.window.ssthresh());
        }
    }

    fn reduce(&mut self, delivery: &Delivery, new_loss: bool) {
        let progress = Progress {
            delivered: delivery.delivered,
            pipe: self.board.pipe(),
            ssthresh: self.window.ssthresh(),
            mss: self.mss,
            safe: delivery.acked > 0 && !new_loss,
        };
        if let Recovery::Fast {
            reduction: Some(reduction),
            ..
        } = &mut self.recovery
        {
            let window = reduction.window(progress);
            self.window.set(window);
        }
    }

    /// Grows the window outside of fast recovery, if it was in use.
    fn grow(&mut self, now: Instant, delivery: &Delivery) {
        if delivery.acked == 0 || self.recovery.is_fast() {
            return;
        }
        let sample = AckSample {
            now,
            // Not what was acknowledged: the end of a recovery acknowledges much that arrived long
            // before, and would burst.
            acked: delivery.delivered,
            una: self.board.una(),
            nxt: self.board.nxt(),
            rtt: self.rtt.latest(),
            min_rtt: self.rtt.min_rtt(),
        };
        self.window.watch(&sample);
        let (cwnd, slow_start) = (self.window.cwnd(), self.window.in_slow_start());
        if self.usage.may_grow(cwnd, slow_start) {
            self.window.grow(&sample);
        }
    }

    /// Restarts the timer for new data acknowledged (RFC 6298, rule 5.3), stops it when nothing is
    /// left.
    fn rearm(&mut self, now: Instant, delivery: &Delivery, window_grew: bool) {
        if self.board.outstanding() == 0 {
            if delivery.acked > 0 || window_grew {
                self.timer = Instant::FAR_FUTURE;
                self.due = Due::Nothing;
            }
        } else if delivery.acked > 0 {
            self.timer = now + self.rtt.rto();
        }
        if delivery.delivered > 0 {
            self.set_early_alarm(now);
        }
    }
}
