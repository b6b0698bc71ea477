//! Congestion window validation (RFC 7661's concern, in Linux's manner).

/// Whether the window is what limits the sender; otherwise it must not grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUsage {
    limited: bool,
    /// Most that was outstanding in this window of data.
    most: u64,
    /// Acknowledging this offset ends the window of data.
    until: u64,
}

impl WindowUsage {
    /// Notes the state after a transmission; `filled`: no further segment fits into the window.
    pub(super) const fn on_sent(&mut self, una: u64, nxt: u64, filled: bool) {
        let outstanding = nxt - una;
        if una >= self.until || filled || (!self.limited && outstanding > self.most) {
            self.limited = filled;
            self.most = outstanding;
            self.until = nxt;
        }
    }

    /// Whether the window was filled.
    pub(super) const fn is_limited(&self) -> bool {
        self.limited
    }

    /// Whether a window may grow. In slow start it may be twice of what was in use, lest it never
    /// gets ahead of an application that itself grows.
    pub(super) const fn may_grow(&self, cwnd: u64, slow_start: bool) -> bool {
        self.limited || (slow_start && cwnd < 2 * self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_not_filled_stays() {
        let mut usage = WindowUsage::default();
        usage.on_sent(0, 100, false);
        assert!(!usage.may_grow(1000, false));
        assert!(!usage.may_grow(1000, true));
        assert!(usage.may_grow(150, true));
        usage.on_sent(0, 1000, true);
        assert!(usage.may_grow(1000, false));
    }
}
