//! What was seen of a run.

use hopflow_overlay::FlowView;
use hopflow_units::{Bytes, Instant};

/// What was seen of a run, and what was checked on the way:
///
/// - A flow's outstanding cells never grow beyond its window, or beyond what the successor said it
///   can queue.
/// - No queue exceeds the plan's limit.
/// - No node has forwarded more of a flow than its predecessor has sent; where a circuit's ends
///   repair, relays count copies, so that only the ends are compared.
/// - Packets have the length that their node says, and fit the datagram or the stream.
#[derive(Clone, Debug)]
pub struct Watch {
    hash: u64,
    /// Packets and writes that left.
    pub packets: u64,
    /// Feedback messages that left.
    pub feedback: u64,
    /// Steps of the clock.
    pub steps: u64,
    /// The most cells seen in one queue, with those beyond a gap.
    pub largest_queue: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            // The offset basis of FNV-1a (RFC 9923, section 5).
            hash: 0xcbf2_9ce4_8422_2325,
            packets: 0,
            feedback: 0,
            steps: 0,
            largest_queue: 0,
        }
    }
}

impl Watch {
    /// A digest of all that left any node, and when: equal for equal runs.
    pub const fn trace_hash(&self) -> u64 {
        self.hash
    }

    /// Takes a packet into the digest: FNV-1a over whole words. Returns its number, from zero.
    pub(super) fn note_packet(&mut self, now: Instant, pipe: usize, len: Bytes) -> u64 {
        self.packets += 1;
        for word in [now.as_nanos(), pipe as u64, len.get()] {
            self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01b3);
        }
        self.packets - 1
    }

    /// Counts a feedback message, and returns its number, from zero.
    pub(super) const fn note_feedback(&mut self) -> u64 {
        self.feedback += 1;
        self.feedback - 1
    }

    /// Checks that a flow holds no more cells than the limit of its queue.
    pub(super) fn note_queue(&mut self, view: &FlowView, limit: u64) {
        let held = (view.queued + view.out_of_order).get();
        self.largest_queue = self.largest_queue.max(held);
        assert!(held <= limit, "a queue exceeds its limit: {view:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_depends_on_every_packet_and_its_time() {
        let digest = |packets: &[(u64, usize)]| {
            let mut watch = Watch::default();
            for (number, (at, pipe)) in packets.iter().enumerate() {
                let at = Instant::from_nanos(*at);
                let noted = watch.note_packet(at, *pipe, Bytes::new(514));
                assert_eq!(noted, number as u64);
            }
            watch.trace_hash()
        };
        assert_eq!(digest(&[(1, 0), (2, 1)]), digest(&[(1, 0), (2, 1)]));
        assert_ne!(digest(&[(1, 0), (2, 1)]), digest(&[(1, 1), (2, 0)]));
        assert_ne!(digest(&[(1, 0), (2, 1)]), digest(&[(1, 0), (3, 1)]));
    }
}
