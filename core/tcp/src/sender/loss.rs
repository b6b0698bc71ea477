//! Loss recovery: when it begins and ends, and how the congestion window follows.

use crate::Config;
use crate::recovery::{Progress, RateReduction, Recovery};
use crate::scoreboard::{DUP_THRESH, Delivery, Scoreboard};
use crate::segment::Segment;
use crate::window::Window;

/// Decides about recoveries (RFC 6675 or, without SACK, RFC 6582).
#[derive(Clone, Copy, Debug)]
pub(super) struct LossRecovery {
    sack: bool,
    rate_reduction: bool,
    mss: u64,
    state: Recovery,
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
    /// Whether a retransmission is due whatever the window says.
    urgent: bool,
    /// End of the latest recovery, before which RFC 6582 starts no other.
    recover: u64,
}

impl LossRecovery {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            sack: config.sack,
            rate_reduction: config.rate_reduction,
            mss: config.mss.get(),
            state: Recovery::Open,
            duplicates: 0,
            urgent: false,
            recover: 0,
        }
    }

    /// Whether nothing was lost lately.
    pub(super) fn is_open(&self) -> bool {
        self.state == Recovery::Open
    }

    pub(super) const fn is_fast(&self) -> bool {
        self.state.is_fast()
    }

    /// Whether there may be a transmission when nothing is known to be lost or new (RFC 6675,
    /// `NextSeg` rules 3 and 4).
    pub(super) const fn may_guess(&self) -> bool {
        self.sack && self.is_fast()
    }

    /// Spends the retransmission that is due whatever the window says, if there is one.
    pub(super) const fn take_urgent(&mut self) -> bool {
        std::mem::replace(&mut self.urgent, false)
    }

    /// Spends the rescue retransmission of a fast recovery, if it has one left.
    pub(super) const fn take_rescue(&mut self) -> bool {
        self.state.take_rescue()
    }

    /// Counts a transmission.
    pub(super) const fn on_sent(&mut self, len: u64) {
        if let Some(reduction) = self.reduction() {
            reduction.on_sent(len);
        }
    }

    const fn reduction(&mut self) -> Option<&mut RateReduction> {
        match &mut self.state {
            Recovery::Fast { reduction, .. } => reduction.as_mut(),
            Recovery::Open | Recovery::Timeout { .. } => None,
        }
    }

    /// Counts a duplicate acknowledgement, which adds to what was delivered without SACK. The
    /// third tells of a loss.
    pub(super) fn on_duplicate(&mut self, board: &mut Scoreboard, delivery: &mut Delivery) {
        self.duplicates += 1;
        if !self.sack {
            delivery.delivered += board.duplicate();
        }
        // Without SACK, duplicates of data from before a recovery would start another.
        let fresh = self.sack || board.una() > self.recover || self.recover == 0;
        let enough = u64::from(self.duplicates) >= DUP_THRESH;
        if enough && fresh && self.is_open() {
            board.lose_head();
        }
    }

    /// Notes that new data was acknowledged.
    pub(super) const fn on_new_data(&mut self) {
        self.duplicates = 0;
    }

    /// Whether an acknowledgement is a duplicate: RFC 5681, section 2, or with SACK RFC 6675,
    /// section 2.
    pub(super) const fn is_duplicate(
        &self,
        segment: &Segment,
        delivery: &Delivery,
        grew: bool,
    ) -> bool {
        if self.sack {
            delivery.sacked > 0
        } else {
            segment.len == 0 && !grew
        }
    }

    /// Marks what SACK blocks tell to be lost; returns whether that was anything.
    pub(super) fn detect(&self, board: &mut Scoreboard) -> bool {
        self.sack && board.detect_losses()
    }

    /// Leaves a recovery whose end was acknowledged, enters one upon a loss, and else shrinks the
    /// window by what was delivered; returns whether one began.
    pub(super) fn advance(
        &mut self,
        board: &mut Scoreboard,
        window: &mut Window,
        delivery: &Delivery,
        new_loss: bool,
    ) -> bool {
        self.leave(board.una(), window);
        let begins = self.is_open() && board.has_lost();
        if begins {
            self.enter(board, window, delivery);
        } else if self.is_fast() {
            if !self.sack && delivery.acked > 0 {
                // A partial acknowledgement tells of the next hole (RFC 6582, section 3.2).
                board.lose_head();
                self.urgent = true;
            }
            self.reduce(board, window, delivery, new_loss);
        }
        begins
    }

    fn leave(&mut self, una: u64, window: &mut Window) {
        if self.state.point().is_some_and(|point| una >= point) {
            if self.is_fast() {
                window.set(window.ssthresh());
            }
            self.state = Recovery::Open;
            self.urgent = false;
        }
    }

    fn enter(&mut self, board: &Scoreboard, window: &mut Window, delivery: &Delivery) {
        window.on_congestion();
        self.urgent = true;
        self.recover = board.nxt();
        let reduction = self
            .rate_reduction
            .then(|| RateReduction::new(board.outstanding() + delivery.acked));
        self.state = Recovery::Fast {
            point: board.nxt(),
            reduction,
            rescued: false,
        };
        if self.rate_reduction {
            self.reduce(board, window, delivery, true);
        } else {
            window.set(window.ssthresh());
        }
    }

    fn reduce(
        &mut self,
        board: &Scoreboard,
        window: &mut Window,
        delivery: &Delivery,
        new_loss: bool,
    ) {
        let progress = Progress {
            delivered: delivery.delivered,
            pipe: board.pipe(),
            ssthresh: window.ssthresh(),
            mss: self.mss,
            safe: delivery.acked > 0 && !new_loss,
        };
        if let Some(reduction) = self.reduction() {
            window.set(reduction.window(progress));
        }
    }

    /// The retransmission timer has expired: RFC 6298, section 5, and RFC 5681, section 3.1;
    /// RFC 6675, section 5.1, keeps what SACK told.
    pub(super) fn on_timeout(&mut self, board: &mut Scoreboard, window: &mut Window) {
        // One reduction per window of data: a repeated timeout takes no further half.
        if self.is_open() {
            window.on_congestion();
        }
        window.collapse();
        board.lose_all();
        self.urgent = true;
        self.duplicates = 0;
        self.recover = board.nxt();
        self.state = Recovery::Timeout { point: board.nxt() };
    }
}

#[cfg(test)]
mod tests {
    use hopflow_units::Instant;

    use super::*;

    fn parts() -> (LossRecovery, Scoreboard, Window) {
        let config = Config {
            sack: false,
            rate_reduction: false,
            ..Config::default()
        };
        let mut board = Scoreboard::new(1448, false);
        board.sent_new(10 * 1448);
        (LossRecovery::new(&config), board, Window::new(&config))
    }

    fn duplicate(loss: &mut LossRecovery, board: &mut Scoreboard, window: &mut Window) -> bool {
        let mut delivery = Delivery::default();
        loss.on_duplicate(board, &mut delivery);
        loss.advance(board, window, &delivery, false)
    }

    #[test]
    fn the_third_duplicate_begins_a_recovery_and_its_point_ends_it() {
        let (mut loss, mut board, mut window) = parts();
        assert!(!duplicate(&mut loss, &mut board, &mut window));
        assert!(!duplicate(&mut loss, &mut board, &mut window));
        assert!(duplicate(&mut loss, &mut board, &mut window));
        assert!(loss.is_fast() && loss.take_urgent());
        assert_eq!(window.cwnd(), window.ssthresh());
        let all = board.acknowledge(10 * 1448, std::iter::empty(), Instant::ZERO);
        assert!(!loss.advance(&mut board, &mut window, &all, false));
        assert!(loss.is_open());
    }

    #[test]
    fn a_second_timeout_does_not_halve_the_threshold_again() {
        let (mut loss, mut board, mut window) = parts();
        loss.on_timeout(&mut board, &mut window);
        let ssthresh = window.ssthresh();
        loss.on_timeout(&mut board, &mut window);
        assert_eq!((window.ssthresh(), window.cwnd()), (ssthresh, 1448));
        assert!(board.has_lost() && loss.take_urgent() && !loss.take_urgent());
    }
}
