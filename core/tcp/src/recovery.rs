//! Where a sender stands after a loss, and how fast it may send meanwhile.

/// Proportional rate reduction (RFC 9937): over one recovery, sends in proportion to what
/// arrives, so that the window glides down to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateReduction {
    /// `RecoverFS`: what was outstanding when the recovery began.
    flight: u64,
    delivered: u64,
    sent: u64,
}

/// What an acknowledgement during a recovery said, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) delivered: u64,
    pub(crate) pipe: u64,
    pub(crate) ssthresh: u64,
    pub(crate) mss: u64,
    /// It acknowledged new data and told of no further loss (`SafeACK`).
    pub(crate) safe: bool,
}

impl RateReduction {
    pub(crate) const fn new(flight: u64) -> Self {
        Self {
            flight,
            delivered: 0,
            sent: 0,
        }
    }

    /// Counts a transmission.
    pub(crate) const fn on_sent(&mut self, len: u64) {
        self.sent += len;
    }

    /// The congestion window after an acknowledgement (RFC 9937, section 6.2).
    pub(crate) fn window(&mut self, progress: Progress) -> u64 {
        let Progress { pipe, ssthresh, .. } = progress;
        self.delivered += progress.delivered;
        let allowed = if pipe > ssthresh {
            let share = (self.delivered * ssthresh).div_ceil(self.flight.max(1));
            share.saturating_sub(self.sent)
        } else {
            // Behind its share the sender catches up, at most as in slow start.
            let behind = self.delivered.saturating_sub(self.sent);
            let extra = if progress.safe { progress.mss } else { 0 };
            (behind.max(progress.delivered) + extra).min(ssthresh - pipe)
        };
        let first = if self.sent == 0 { progress.mss } else { 0 };
        pipe + allowed.max(first)
    }
}

/// Where a sender stands after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Nothing was lost lately.
    Open,
    /// Retransmits what is lost, until all that was sent when it began is acknowledged.
    Fast {
        /// The next new offset at the beginning (RFC 6675, `RecoveryPoint`).
        point: u64,
        /// How the window shrinks meanwhile; without it, it shrank at the beginning.
        reduction: Option<RateReduction>,
        /// Whether the rescue retransmission was spent (RFC 6675, `NextSeg` rule 4).
        rescued: bool,
    },
    /// The retransmission timer has expired: everything is sent again, in slow start.
    Timeout {
        /// The next new offset when the timer expired.
        point: u64,
    },
}

impl Recovery {
    /// The offset whose acknowledgement ends the recovery.
    pub(crate) const fn point(&self) -> Option<u64> {
        match self {
            Self::Open => None,
            Self::Fast { point, .. } | Self::Timeout { point } => Some(*point),
        }
    }

    pub(crate) const fn is_fast(&self) -> bool {
        matches!(self, Self::Fast { .. })
    }

    /// Spends the rescue retransmission of a fast recovery, if it has one left.
    pub(crate) const fn take_rescue(&mut self) -> bool {
        match self {
            Self::Fast { rescued, .. } => !std::mem::replace(rescued, true),
            Self::Open | Self::Timeout { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_glides_down_to_its_target() {
        let mut reduction = RateReduction::new(20);
        let mut pipe = 19;
        let mut sent = 0;
        for _ in 0..19 {
            pipe -= 1;
            let progress = Progress {
                delivered: 1,
                pipe,
                ssthresh: 10,
                mss: 1,
                safe: false,
            };
            let window = reduction.window(progress);
            while pipe < window {
                reduction.on_sent(1);
                pipe += 1;
                sent += 1;
            }
        }
        assert_eq!(sent, 10);
        assert_eq!(pipe, 10);
    }
}
