//! The advertised window.

use crate::Config;

/// How far the other side may send. The upper edge never moves down.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdvertisedWindow {
    buffer: u64,
    mss: u64,
    /// Upper edge as advertised last.
    right: u64,
}

impl AdvertisedWindow {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            buffer: config.receive_buffer.get(),
            mss: config.mss.get(),
            right: config.receive_buffer.get(),
        }
    }

    /// How much of a segment that ends at `end` fits: the end of that part. FIN needs no room.
    pub(super) fn admit(&self, end: u64, fin: bool) -> u64 {
        let fits = end <= self.right + u64::from(fin);
        if fits { end } else { self.right }
    }

    /// Whether the window, after reading up to `read`, is worth an acknowledgement of its own:
    /// like Linux, only once it has doubled.
    pub(super) fn wants_update(&self, read: u64, nxt: u64) -> bool {
        let grown = self.grown(read, nxt);
        let window = self.right.saturating_sub(nxt);
        grown > self.right && grown - nxt >= 2 * window
    }

    /// Moves the edge and returns the window above `nxt`.
    pub(super) fn advertise(&mut self, read: u64, nxt: u64) -> u32 {
        self.right = self.grown(read, nxt);
        self.right.saturating_sub(nxt) as u32
    }

    /// The upper edge that may be advertised: it moves in steps that are worth a segment
    /// (RFC 9293, section 3.8.6.2.2).
    fn grown(&self, read: u64, nxt: u64) -> u64 {
        let right = read + self.buffer;
        let step = self.mss.min(self.buffer / 2);
        if right >= self.right + step {
            right
        } else {
            // Behind a FIN the window would end below what has arrived.
            self.right.max(nxt)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: AdvertisedWindow = AdvertisedWindow {
        buffer: 1000,
        mss: 100,
        right: 1000,
    };

    #[test]
    fn the_edge_moves_by_a_segment_or_not_at_all() {
        let mut window = WINDOW;
        assert_eq!(window.advertise(99, 1000), 0);
        assert!(!window.wants_update(99, 1000));
        assert!(window.wants_update(100, 1000));
        assert_eq!(window.advertise(100, 1000), 100);
    }

    #[test]
    fn a_window_that_has_not_doubled_is_no_news() {
        assert!(!WINDOW.wants_update(499, 500));
        assert!(WINDOW.wants_update(500, 500));
    }

    #[test]
    fn only_fin_fits_above_the_edge() {
        assert_eq!(WINDOW.admit(1200, false), 1000);
        assert_eq!(WINDOW.admit(1001, true), 1001);
    }
}
