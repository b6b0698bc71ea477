//! Links of the simulated network, each with the random numbers that it draws.

use hopflow_netem::{Link, LinkConfig, Verdict};
use hopflow_random::Stream;
use hopflow_units::{Duration, Instant};

use super::faults::LinkChange;
use super::packets::{Packet, Packets};

/// A one-way link with its random stream, and how it changes with time.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    link: Link<Packet>,
    random: Stream,
    /// Changes to come, the last one first.
    changes: Vec<(Instant, LinkChange)>,
    /// When the next one comes.
    change_at: Instant,
    /// The least propagation delay at any time.
    least_delay: Duration,
}

impl Pipe {
    pub(crate) fn new(config: LinkConfig, random: Stream) -> Self {
        Self {
            least_delay: config.delay,
            link: Link::new(config),
            random,
            changes: Vec::new(),
            change_at: Instant::FAR_FUTURE,
        }
    }

    /// Draws from another stream from now on.
    pub(crate) fn reseed(&mut self, random: Stream) {
        self.random = random;
    }

    /// The link with changes, in order of time.
    pub(crate) fn with_changes(mut self, mut changes: Vec<(Instant, LinkChange)>) -> Self {
        for (_, change) in &changes {
            if let LinkChange::Delay(delay) = change {
                self.least_delay = self.least_delay.min(*delay);
            }
        }
        changes.reverse();
        self.changes = changes;
        self.change_at = self.next_change();
        self
    }

    fn next_change(&self) -> Instant {
        self.changes
            .last()
            .map_or(Instant::FAR_FUTURE, |(at, _)| *at)
    }

    /// Makes the changes that are due. What left the queue before a change did so without it.
    #[inline]
    fn change(&mut self, now: Instant) {
        if self.change_at <= now {
            self.make_changes(now);
        }
    }

    #[cold]
    fn make_changes(&mut self, now: Instant) {
        while let Some((at, change)) = self.changes.pop_if(|(at, _)| *at <= now) {
            if let Some(before) = at.as_nanos().checked_sub(1) {
                self.link.serve(Instant::from_nanos(before));
            }
            match change {
                LinkChange::Rate(rate) => self.link.set_rate(Some(rate)),
                LinkChange::Delay(delay) => self.link.set_delay(delay),
                LinkChange::Cut(cut) => self.link.set_cut(cut),
            }
        }
        self.change_at = self.next_change();
    }

    pub(crate) const fn link(&self) -> &Link<Packet> {
        &self.link
    }

    /// The least propagation delay at any time: nothing sent arrives sooner.
    pub(crate) const fn least_delay(&self) -> Duration {
        self.least_delay
    }

    /// When a sender that a full queue stops may try again; `None` if there is room.
    #[inline]
    pub(crate) fn room_at(&self, now: Instant) -> Option<Instant> {
        self.link.room_at(now)
    }

    /// Sends a packet, and a copy of it where the link duplicates it.
    #[inline]
    pub(crate) fn send(&mut self, now: Instant, packet: Packet, packets: &mut Packets) {
        self.change(now);
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
        self.free_dropped(packets);
    }

    /// When the next packet leaves the queue, if that is decided only then (`CoDel`).
    #[inline]
    pub(crate) fn next_service(&self) -> Option<Instant> {
        self.link.next_service()
    }

    /// Lets all packets leave the queue whose time has come.
    #[inline]
    pub(crate) fn serve(&mut self, now: Instant, packets: &mut Packets) {
        if self.link.next_service().is_some_and(|at| at <= now) {
            self.change(now);
            self.link.serve(now);
            self.free_dropped(packets);
        }
    }

    /// When the next of the packets arrives that have left the queue.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.link.next_arrival()
    }

    /// Takes the next packet that has arrived; ask until there is none.
    #[inline]
    pub(crate) fn take_arrived(&mut self, now: Instant) -> Option<Packet> {
        self.link.take_arrived(now)
    }

    /// Takes the next packet that has left the queue, and when it arrives; it counts as delivered
    /// if it does so by `end`. Ask until there is none after each change.
    #[inline]
    pub(crate) fn take_departed(&mut self, end: Instant) -> Option<(Instant, Packet)> {
        self.link.take_departed(end)
    }

    /// Moves the contents of all packets that the link holds.
    pub(crate) fn move_packets(&mut self, from: &mut Packets, to: &mut Packets) {
        self.link
            .for_each_packet(|packet| *packet = from.pass(*packet, to));
    }

    #[inline]
    fn free_dropped(&mut self, packets: &mut Packets) {
        while let Some(packet) = self.link.take_dropped() {
            packets.free(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use hopflow_netem::QueueConfig;
    use hopflow_random::Streams;
    use hopflow_units::{Bytes, CircuitId, LinkId, Rate};
    use hopflow_wire::Frame;

    use super::*;
    use crate::world::address::{LinkEnd, NodeAt};
    use crate::world::packets::Content;

    const TO: LinkEnd = LinkEnd {
        node: NodeAt::new(0, 0),
        link: LinkId::new(0),
    };

    fn pipe(config: LinkConfig) -> (Pipe, Packets) {
        let random = Streams::new(1).stream("test", 0);
        (Pipe::new(config, random), Packets::default())
    }

    fn send(pipe: &mut Pipe, packets: &mut Packets, number: u16) {
        let mut frames = vec![Frame::Probe(CircuitId::new(number))];
        let packet = packets.datagram(TO, Bytes::new(1000), &mut frames);
        pipe.send(Instant::ZERO, packet, packets);
    }

    /// What arrives, each with the number that its frame carries.
    fn arrivals(pipe: &mut Pipe, packets: &mut Packets) -> Vec<u16> {
        let mut numbers = Vec::new();
        while let Some(packet) = pipe.take_arrived(Instant::FAR_FUTURE) {
            let Content::Datagram { start, len } = packet.content() else {
                panic!("no segment was sent");
            };
            let [Frame::Probe(circuit)] = packets.frames_of(start, len) else {
                panic!("a datagram has one frame");
            };
            numbers.push(circuit.get());
            packets.free(packet);
        }
        numbers
    }

    #[test]
    fn a_copy_has_a_content_of_its_own() {
        let (mut pipe, mut packets) = pipe(LinkConfig {
            duplicate: 1.0,
            ..LinkConfig::pure_delay(Duration::from_millis(1))
        });
        for number in [7, 8] {
            send(&mut pipe, &mut packets, number);
        }
        assert_eq!(arrivals(&mut pipe, &mut packets), [7, 7, 8, 8]);
    }

    #[test]
    fn the_places_of_dropped_packets_are_used_again() {
        let (mut pipe, mut packets) = pipe(LinkConfig {
            queue: QueueConfig::drop_tail(1),
            ..LinkConfig::with_rate(Rate::from_kilobytes_per_sec(1), Duration::ZERO)
        });
        for number in 0..100 {
            send(&mut pipe, &mut packets, number);
        }
        // One is serialised, one waits, and one place serves all that were dropped.
        let mut frames = vec![Frame::Probe(CircuitId::new(0))];
        let next = packets.datagram(TO, Bytes::new(1), &mut frames);
        assert!(matches!(next.content(), Content::Datagram { start: 2, .. }));
        assert!(pipe.room_at(Instant::ZERO).is_some());
        assert_eq!(arrivals(&mut pipe, &mut packets), [0, 1]);
    }
}
