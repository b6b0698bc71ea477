//! Links of the simulated network, each with all that it needs to act by itself.

use hopflow_netem::{Link, LinkConfig, Verdict};
use hopflow_random::Stream;
use hopflow_units::Instant;

use super::packets::Packet;
use super::shared::Shared;
use crate::engine::Slot;

/// A one-way link with its random stream and its place in the agenda.
#[derive(Debug)]
pub(crate) struct Pipe {
    link: Link<Packet>,
    random: Stream,
    slot: Slot,
}

impl Pipe {
    pub(crate) fn new(config: LinkConfig, random: Stream, slot: Slot) -> Self {
        Self {
            link: Link::new(config),
            random,
            slot,
        }
    }

    pub(crate) const fn link(&self) -> &Link<Packet> {
        &self.link
    }

    /// When a sender that a full queue stops may try again; `None` if there is room.
    #[inline]
    pub(crate) fn room_at(&self, now: Instant) -> Option<Instant> {
        self.link.room_at(now)
    }

    /// Sends a packet, and a copy of it where the link duplicates it.
    #[inline]
    pub(crate) fn send(&mut self, packet: Packet, shared: &mut Shared) {
        let (now, packets) = (shared.now(), &mut shared.packets);
        let (link, random) = (&mut self.link, &mut self.random);
        match link.send(now, packet, packet.size(), random) {
            Verdict::Queued => {}
            Verdict::Dropped(_) => packets.free(packet),
            Verdict::Duplicate => {
                let copy = packets.duplicate(packet);
                if let Verdict::Dropped(_) = link.send_copy(now, copy, copy.size(), random) {
                    packets.free(copy);
                }
            }
        }
        shared.timeline.set(self.slot, link.next_event());
    }

    /// Takes the next packet that has arrived; ask until there is none, then
    /// [`settle`](Self::settle).
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant) -> Option<Packet> {
        self.link.receive(now)
    }

    /// Frees packets that the queue dropped, and sets when the next packet arrives.
    #[inline]
    pub(crate) fn settle(&mut self, shared: &mut Shared) {
        while let Some(packet) = self.link.take_dropped() {
            shared.packets.free(packet);
        }
        shared.timeline.set(self.slot, self.link.next_event());
    }
}

#[cfg(test)]
mod tests {
    use hopflow_netem::QueueConfig;
    use hopflow_random::Streams;
    use hopflow_units::{Bytes, CircuitId, Duration, LinkId, Rate};
    use hopflow_wire::Frame;

    use super::*;
    use crate::world::address::{LinkEnd, NodeAt};
    use crate::world::packets::Content;
    use crate::world::timeline::{EventSource, Timeline};

    const TO: LinkEnd = LinkEnd {
        node: NodeAt::new(0, 0),
        link: LinkId::new(0),
    };

    fn pipe(config: LinkConfig) -> (Pipe, Shared) {
        let mut timeline = Timeline::new();
        let slot = timeline.add(EventSource::Uplink(0));
        let pipe = Pipe::new(config, Streams::new(1).stream("test", 0), slot);
        (pipe, Shared::new(timeline))
    }

    fn send(pipe: &mut Pipe, shared: &mut Shared, number: u16) {
        let frames = [Frame::Probe(CircuitId::new(number))];
        let packet = shared.packets.datagram(TO, Bytes::new(1000), &frames);
        pipe.send(packet, shared);
    }

    /// What arrives, each with the number that its frame carries.
    fn arrivals(pipe: &mut Pipe, shared: &mut Shared) -> Vec<u16> {
        let mut numbers = Vec::new();
        while shared.timeline.advance(Instant::FAR_FUTURE).is_some() {
            while let Some(packet) = pipe.receive(shared.now()) {
                let Content::Datagram { start, len } = packet.content() else {
                    panic!("no segment was sent");
                };
                let [Frame::Probe(circuit)] = shared.packets.frames_of(start, len) else {
                    panic!("a datagram has one frame");
                };
                numbers.push(circuit.get());
                shared.packets.free(packet);
            }
            pipe.settle(shared);
        }
        numbers
    }

    #[test]
    fn a_copy_has_a_content_of_its_own() {
        let (mut pipe, mut shared) = pipe(LinkConfig {
            duplicate: 1.0,
            ..LinkConfig::pure_delay(Duration::from_millis(1))
        });
        for number in [7, 8] {
            send(&mut pipe, &mut shared, number);
        }
        assert_eq!(arrivals(&mut pipe, &mut shared), [7, 7, 8, 8]);
    }

    #[test]
    fn the_places_of_dropped_packets_are_used_again() {
        let (mut pipe, mut shared) = pipe(LinkConfig {
            queue: QueueConfig::drop_tail(1),
            ..LinkConfig::with_rate(Rate::from_kilobytes_per_sec(1), Duration::ZERO)
        });
        for number in 0..100 {
            send(&mut pipe, &mut shared, number);
        }
        // One is serialised, one waits, and one place serves all that were dropped.
        let frames = [Frame::Probe(CircuitId::new(0))];
        let next = shared.packets.datagram(TO, Bytes::new(1), &frames);
        assert!(matches!(next.content(), Content::Datagram { start: 2, .. }));
        assert!(pipe.room_at(shared.now()).is_some());
        assert_eq!(arrivals(&mut pipe, &mut shared), [0, 1]);
    }
}
