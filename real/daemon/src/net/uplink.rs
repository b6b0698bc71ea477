//! The uplink whose rate the operator states: the kernel gets no more datagrams than it carries soon, so that cells wait
//! in the node, where they can be scheduled, and not in a queue of the system that may drop them.

use hopflow_units::{Bytes, Duration, Instant, Rate};

/// Bytes of UDP and IPv4 headers and of a link's framing, as the simulator counts them.
pub(super) const HEADERS: u64 = 30;

/// So much time of the link is given to the kernel in advance.
const AHEAD: Duration = Duration::from_millis(4);
/// How much of it is left when the worker wakes to give more: it does not wake for each datagram.
const LEFT: Duration = Duration::from_millis(2);

/// When an uplink will have sent what it was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uplink {
    rate: Rate,
    free_at: Instant,
}

impl Uplink {
    /// An idle one.
    pub(super) const fn new(rate: Rate) -> Self {
        Self {
            rate,
            free_at: Instant::ZERO,
        }
    }

    /// Bytes that it takes now; none while it has enough.
    pub(super) fn room(&self, now: Instant) -> usize {
        let span = (now + AHEAD).saturating_since(self.free_at.max(now));
        // A slow one carries less than a byte in that time.
        let least = usize::from(!span.is_zero());
        least.max(self.rate.bytes_in(span).get() as usize)
    }

    /// It was given datagrams of `segment` bytes, the last one perhaps shorter, of `len` bytes together.
    pub(super) fn on_sent(&mut self, now: Instant, len: usize, segment: usize) {
        let datagrams = len.div_ceil(segment.max(1)) as u64;
        let bytes = Bytes::new(len as u64 + datagrams * HEADERS);
        self.free_at = self.free_at.max(now) + self.rate.time_for(bytes);
    }

    /// When to offer it more, if it had no room; that time may have passed.
    pub(super) const fn next_room(&self) -> Instant {
        Instant::from_nanos(self.free_at.as_nanos().saturating_sub(LEFT.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uplink_takes_what_it_carries_soon_and_then_no_more_than_its_rate() {
        let mut uplink = Uplink::new(Rate::from_kilobytes_per_sec(1000));
        let mut now = Instant::ZERO;
        assert_eq!(uplink.room(now), 4000);
        let mut sent = 0;
        while now < Instant::ZERO + Duration::from_secs(1) {
            while uplink.room(now) > 0 {
                uplink.on_sent(now, 970, 970);
                sent += 1;
            }
            now = uplink.next_room();
        }
        assert!((1000..=1005).contains(&sent), "{sent}");
    }

    #[test]
    fn the_slowest_uplink_takes_a_datagram_now_and_then() {
        let mut uplink = Uplink::new(Rate::from_bytes_per_sec(1).unwrap());
        assert_eq!(uplink.room(Instant::ZERO), 1);
        uplink.on_sent(Instant::ZERO, 70, 70);
        assert_eq!(uplink.room(Instant::ZERO), 0);
        assert!(uplink.room(uplink.next_room()) > 0);
    }

    #[test]
    fn each_datagram_has_headers() {
        let mut uplink = Uplink::new(Rate::from_kilobytes_per_sec(1000));
        uplink.on_sent(Instant::ZERO, 2500, 1000);
        let free = Instant::ZERO + Duration::from_micros(2590);
        assert_eq!(uplink.free_at, free);
    }
}
