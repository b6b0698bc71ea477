//! One end of a TCP connection between neighbours: frames become bytes, segments, and frames again.

use std::collections::VecDeque;

use hopflow_tcp::{Config, Connection};
use hopflow_units::{Bytes, Instant};
use hopflow_wire::{Carrier, Frame};

use super::address::LinkEnd;
use super::packets::{Packet, Packets};
use super::timeline::Timeline;
use crate::engine::Slot;
use crate::payload::Simulated;

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct TcpEnd {
    pub(crate) tcp: Connection,
    /// The link that the connection carries, at this end.
    pub(crate) at: LinkEnd,
    /// The same link at the peer.
    to: LinkEnd,
    /// The flow outside the overlay whose connection this is.
    pub(crate) flow: Option<u32>,
    /// Whether the node may write only what TCP can send soon, for KIST, rather than what its
    /// buffer takes.
    pub(crate) kist: bool,
    /// Frames written here and not yet read by the peer, with the stream offset of their end.
    under_way: VecDeque<(u64, Frame<Simulated>)>,
    written: u64,
    read: u64,
    /// The pending event of this end; may be earlier than needed.
    alarm: Option<Instant>,
    slot: Slot,
}

impl TcpEnd {
    /// The two ends of a connection; the first one opens it.
    pub(crate) fn pair(ends: [LinkEnd; 2], config: &Config, slots: [Slot; 2]) -> [Self; 2] {
        let new = |tcp, side: usize| Self {
            tcp,
            at: ends[side],
            to: ends[1 - side],
            flow: None,
            kist: false,
            under_way: VecDeque::new(),
            written: 0,
            read: 0,
            alarm: None,
            slot: slots[side],
        };
        [
            new(Connection::connect(config), 0),
            new(Connection::listen(config), 1),
        ]
    }

    /// Writes all frames.
    pub(crate) fn write(&mut self, frames: &mut Vec<Frame<Simulated>>) {
        let mut len = Bytes::ZERO;
        for frame in frames.drain(..) {
            len += frame.wire_len(Carrier::Stream);
            self.under_way.push_back((self.written + len.get(), frame));
        }
        self.written += len.get();
        let accepted = self.tcp.write(len);
        assert!(
            accepted == len,
            "a node writes no more than there is room for"
        );
    }

    /// Writes as much as the connection takes.
    pub(crate) fn fill(&mut self) {
        self.tcp.write(self.tcp.send_space());
    }

    /// Reads up to `most` bytes, and moves the frames that are complete with them from `peer`,
    /// which wrote them, to `out`. Returns how many bytes there were.
    #[inline]
    pub(crate) fn read(
        &mut self,
        most: Bytes,
        peer: &mut Self,
        out: &mut Vec<Frame<Simulated>>,
    ) -> Bytes {
        let bytes = self.tcp.readable().min(most);
        self.tcp.read(bytes);
        self.read += bytes.get();
        while let Some((offset, _)) = peer.under_way.front()
            && *offset <= self.read
        {
            out.extend(peer.under_way.pop_front().map(|(_, frame)| frame));
        }
        bytes
    }

    /// How much the node may write.
    pub(crate) fn room(&self) -> Bytes {
        let space = self.tcp.send_space();
        if self.kist {
            space.min(sent_soon(&self.tcp))
        } else {
            space
        }
    }

    /// The next segment, if there is one to send.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant, packets: &mut Packets) -> Option<Packet> {
        let segment = self.tcp.poll_transmit(now)?;
        Some(packets.segment(self.to, segment))
    }

    /// Makes sure that an event serves the timers. An event that turns out to be early costs less
    /// than moving it with every segment.
    #[inline]
    pub(crate) fn arm(&mut self, timeline: &mut Timeline) {
        let Some(timeout) = self.tcp.poll_timeout() else {
            return;
        };
        if self.alarm.is_none_or(|alarm| alarm > timeout) {
            self.alarm = Some(timeout);
            timeline.set(self.slot, Some(timeout));
        }
    }

    /// Handles the timers that are due.
    pub(crate) fn handle_timeout(&mut self, timeline: &mut Timeline) {
        timeline.set(self.slot, None);
        self.alarm = None;
        self.tcp.handle_timeout(timeline.now());
    }
}

/// What TCP can send at once, and a window's worth to follow when acknowledgements come, less what
/// waits in the socket (tor 0.4.9, `scheduler_kist.c`, with a buffer factor of 1).
fn sent_soon(tcp: &Connection) -> Bytes {
    let window = tcp.cwnd();
    window.saturating_sub(tcp.in_flight()) + window.saturating_sub(tcp.unsent())
}

#[cfg(test)]
mod tests {
    use hopflow_units::{CircuitId, LinkId};

    use super::*;
    use crate::world::address::{ConnectionEnd, NodeAt};
    use crate::world::packets::Content;
    use crate::world::timeline::EventSource;

    /// Passes segments from one end to the other at once, until neither has any.
    fn exchange(ends: &mut [TcpEnd; 2], packets: &mut Packets) {
        let mut sent = true;
        while std::mem::take(&mut sent) {
            for side in [0, 1] {
                while let Some(packet) = ends[side].poll_transmit(Instant::ZERO, packets) {
                    let Content::Segment(place) = packet.content() else {
                        panic!("a connection sends segments");
                    };
                    let to = &mut ends[1 - side];
                    assert_eq!(packet.to, to.at);
                    to.tcp.receive(Instant::ZERO, &packets.segment_at(place));
                    packets.free(packet);
                    sent = true;
                }
            }
        }
    }

    #[test]
    fn frames_arrive_in_order_and_only_when_they_are_complete() {
        let links = [0, 1].map(|machine| LinkEnd {
            node: NodeAt::new(machine, 0),
            link: LinkId::new(0),
        });
        let mut timeline = Timeline::new();
        let slots =
            [0, 1].map(|end| timeline.add(EventSource::Connection(ConnectionEnd::new(end))));
        let mut ends = TcpEnd::pair(links, &Config::default(), slots);
        let mut packets = Packets::default();
        exchange(&mut ends, &mut packets);
        let probe = |number| Frame::<Simulated>::Probe(CircuitId::new(number));
        let len = probe(0).wire_len(Carrier::Stream);
        let mut frames: Vec<_> = (0..3).map(probe).collect();
        ends[0].write(&mut frames);
        exchange(&mut ends, &mut packets);
        let [sender, receiver] = &mut ends;
        for (most, expected) in [(1, vec![]), (2 * len.get(), vec![0, 1]), (99, vec![2])] {
            frames.clear();
            receiver.read(Bytes::new(most), sender, &mut frames);
            let expected: Vec<_> = expected.into_iter().map(probe).collect();
            assert_eq!(frames, expected);
        }
    }
}
