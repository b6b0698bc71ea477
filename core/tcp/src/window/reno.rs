//! Additive increase and multiplicative decrease (RFC 5681).

/// The state of congestion avoidance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reno {
    /// Bytes acknowledged towards the next increase (RFC 5681, section 3.1, byte counting).
    counted: u64,
}

impl Reno {
    /// By how many segments a window grows for `acked` bytes: one per window's worth.
    pub(super) fn growth(&mut self, cwnd: u64, acked: u64) -> u64 {
        self.counted += acked;
        let steps = self.counted / cwnd;
        self.counted -= steps * cwnd;
        steps
    }

    /// The window after a loss. Half the window, as in Linux, not half of what is in flight: a
    /// window that is not filled does not grow either.
    pub(super) fn reduced(&mut self, cwnd: u64) -> u64 {
        self.counted = 0;
        cwnd / 2
    }
}
