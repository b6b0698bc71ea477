//! Links in real time.

use hopflow_random::{Stream, Streams};
use hopflow_units::{Bytes, Instant};
use slotmap::{DefaultKey, SlotMap};

use crate::{Link, LinkConfig, QueueConfig, Verdict};

/// Packets that a fast link brings while a machine stalls.
const STALL: u32 = 400;

/// A link that holds its packets, for whoever emulates one in real time.
#[derive(Debug)]
pub struct Line<P> {
    link: Link<DefaultKey>,
    rng: Stream,
    packets: SlotMap<DefaultKey, P>,
}

impl<P: Clone> Line<P> {
    /// An idle link; losses and jitter are drawn from `rng`.
    ///
    /// # Panics
    /// If a probability is not from 0 to 1.
    pub fn new(config: LinkConfig, rng: Stream) -> Self {
        Self {
            link: Link::new(config),
            rng,
            packets: SlotMap::new(),
        }
    }

    /// Hands a packet to the link, of which `size` counts: with what the link's framing adds.
    pub fn send(&mut self, now: Instant, packet: P, size: Bytes) {
        let key = self.packets.insert(packet);
        match self.link.send(now, key, size, &mut self.rng) {
            Verdict::Queued => {}
            Verdict::Dropped(_) => drop(self.packets.remove(key)),
            Verdict::Duplicate => {
                let copy = self.packets.insert(self.packets[key].clone());
                let verdict = self.link.send_copy(now, copy, size, &mut self.rng);
                if matches!(verdict, Verdict::Dropped(_)) {
                    self.packets.remove(copy);
                }
            }
        }
    }

    /// Takes the next packet that has come through by `now`; ask until there is none.
    pub fn receive(&mut self, now: Instant) -> Option<P> {
        let key = self.link.receive(now)?;
        while let Some(dropped) = self.link.take_dropped() {
            self.packets.remove(dropped);
        }
        self.packets.remove(key)
    }

    /// When a sender that is stopped by a full queue should ask again, later than `now`; `None` if there is room.
    pub fn room_at(&self, now: Instant) -> Option<Instant> {
        self.link.room_at(now)
    }

    /// When the next packet comes through.
    pub fn next_event(&self) -> Option<Instant> {
        self.link.next_event()
    }
}

/// Both directions of a host's access link: packets that it sends pass the first, packets that it receives the second,
/// whose queue has room besides for what arrives together because a machine let it wait. Machines stall for
/// milliseconds, which links do not. Losses and jitter are drawn from `seed`.
///
/// # Panics
/// If a probability is not from 0 to 1.
pub fn access_link<U: Clone, D: Clone>(config: &LinkConfig, seed: u64) -> (Line<U>, Line<D>) {
    let streams = Streams::new(seed);
    let with_slack = LinkConfig {
        queue: QueueConfig {
            packets: config.queue.packets.saturating_add(STALL),
            ..config.queue
        },
        ..config.clone()
    };
    (
        Line::new(config.clone(), streams.stream("emulated.up", 0)),
        Line::new(with_slack, streams.stream("emulated.down", 0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_units::{Duration, Rate};

    #[test]
    fn packets_come_through_after_their_size_and_the_delay() {
        let rate = Rate::from_kilobytes_per_sec(1000);
        let delay = Duration::from_millis(10);
        let (mut up, _) = access_link::<_, u8>(&LinkConfig::with_rate(rate, delay), 1);
        for packet in ["first", "second"] {
            up.send(Instant::ZERO, packet, Bytes::new(1000));
        }
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        assert_eq!(up.next_event(), Some(at(11)));
        assert_eq!(up.receive(at(10)), None);
        assert_eq!(up.receive(at(11)), Some("first"));
        assert_eq!(up.receive(at(11)), None);
        assert_eq!(up.receive(at(12)), Some("second"));
    }

    #[test]
    fn copies_carry_what_their_originals_do_and_nothing_stays() {
        let mut config = LinkConfig::pure_delay(Duration::ZERO);
        config.duplicate = 1.0;
        let (mut up, _) = access_link::<_, u8>(&config, 1);
        up.send(Instant::ZERO, vec![7], Bytes::new(1));
        assert_eq!(up.receive(Instant::ZERO), Some(vec![7]));
        assert_eq!(up.receive(Instant::ZERO), Some(vec![7]));
        assert_eq!(up.receive(Instant::ZERO), None);
        assert!(up.packets.is_empty());
    }
}
