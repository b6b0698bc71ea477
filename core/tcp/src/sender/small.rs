//! The peer's window, and which segments are too small to send.

use super::buffer::NewData;
use crate::Config;

/// The window that the peer advertises.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerWindow {
    /// Upper edge of what may be sent.
    right: u64,
    /// The largest window so far.
    largest: u64,
}

impl PeerWindow {
    /// Takes the window from any segment with an acknowledgement; returns whether its edge moved.
    /// A receiver never takes back what it offered, so an old segment cannot mislead.
    pub(super) fn update(&mut self, ack: u64, window: u32) -> bool {
        let window = u64::from(window);
        let grew = ack + window > self.right;
        self.right = self.right.max(ack + window);
        self.largest = self.largest.max(window);
        grew
    }

    /// How much of what starts at `start` the peer takes.
    pub(super) const fn room(&self, start: u64) -> u64 {
        self.right.saturating_sub(start)
    }
}

/// Avoids silly windows (RFC 9293, section 3.8.6.2.1) and, by Nagle's rule, small segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct SmallSegments {
    mss: u64,
    nagle: bool,
    /// End of the last partial segment, for Nagle's rule.
    partial: u64,
}

impl SmallSegments {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            mss: config.mss.get(),
            nagle: config.nagle,
            partial: 0,
        }
    }

    /// Whether `data` is worth a segment while all below `una` is acknowledged.
    pub(super) const fn may_send(&self, data: &NewData, una: u64, peer: &PeerWindow) -> bool {
        if data.len >= self.mss {
            return true;
        }
        if !data.last {
            return data.len * 2 >= peer.largest;
        }
        let partial_outstanding = self.partial > una && self.partial <= data.start;
        data.fin || !self.nagle || !partial_outstanding
    }

    /// Notes that `data` is sent.
    pub(super) const fn on_sent(&mut self, data: &NewData) {
        if data.len < self.mss {
            self.partial = data.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: NewData = NewData {
        start: 0,
        len: 10,
        last: true,
        fin: false,
    };

    fn rules() -> (SmallSegments, PeerWindow) {
        let mut peer = PeerWindow::default();
        assert!(peer.update(0, 1000));
        (SmallSegments::new(&Config::default()), peer)
    }

    #[test]
    fn one_partial_segment_waits_for_another() {
        let (mut rules, peer) = rules();
        assert!(rules.may_send(&FIRST, 0, &peer));
        rules.on_sent(&FIRST);
        let second = NewData { start: 10, ..FIRST };
        assert!(!rules.may_send(&second, 0, &peer));
        assert!(rules.may_send(&second, 10, &peer));
        let end = NewData {
            fin: true,
            ..second
        };
        assert!(rules.may_send(&end, 0, &peer));
    }

    #[test]
    fn a_part_that_the_window_cuts_off_is_half_of_the_largest_window() {
        let (rules, peer) = rules();
        let part = NewData {
            last: false,
            ..FIRST
        };
        assert!(!rules.may_send(&NewData { len: 499, ..part }, 0, &peer));
        assert!(rules.may_send(&NewData { len: 500, ..part }, 0, &peer));
    }

    #[test]
    fn an_old_segment_does_not_shrink_the_window() {
        let (_, mut peer) = rules();
        assert!(!peer.update(100, 800));
        assert_eq!(peer.room(100), 900);
    }
}
