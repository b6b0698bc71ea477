//! One end of a TCP connection between neighbours: frames become bytes, segments, and frames again.

use std::collections::VecDeque;

use hopflow_netem::LinkConfig;
use hopflow_tcp::{Connection, Segment};
use hopflow_units::{Bytes, Instant};
use hopflow_wire::{CELL, Carrier, Frame};

use super::address::{ConnectionAt, LinkEnd};
use super::cross::CrossEnd;
use super::marks::{Least, TcpMarks};
use super::outbox::Written;
use super::packets::{self, Packet, Packets};
use super::records::Records;
use crate::payload::Simulated;

/// An end with nothing to read keeps room for no more frames: most connections are idle most of the
/// time.
const IDLE_ROOM: usize = 32;

/// Bytes of a cell on a stream.
const STREAM_CELL: Bytes = Bytes::new(CELL as u64);

/// One end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct TcpEnd {
    pub(crate) tcp: Connection,
    /// The link that the connection carries, at this end.
    pub(crate) at: LinkEnd,
    /// The same link at the peer.
    to: LinkEnd,
    /// The peer's end of the connection.
    peer: ConnectionAt,
    /// The use of the connection outside the overlay, if it carries no link.
    pub(crate) cross: Option<CrossEnd>,
    /// Whether the node may write only what TCP can send soon, for KIST, rather than what its
    /// buffer takes.
    pub(crate) kist: bool,
    frames: FrameStream,
    /// The pending event of this end; may be earlier than needed.
    alarm: Option<Instant>,
    /// When the connection opens.
    pub(crate) opens: Instant,
    /// Whether this end or its peer is gone.
    broken: bool,
    /// What is noted of cells that are followed.
    pub(crate) marks: Option<Box<TcpMarks>>,
}

/// The frames of one end's stream, by offsets of bytes.
#[derive(Clone, Debug, Default)]
struct FrameStream {
    /// Frames that the peer has written and nobody has read.
    arriving: VecDeque<Written>,
    written: u64,
    read: u64,
    /// The TLS records that carry the frames, if any do.
    records: Option<Records>,
    /// Bytes of records beyond what the socket took.
    behind: Bytes,
}

impl FrameStream {
    /// The offset from which on the last of the first `plain` bytes of a write of `total` bytes can be read.
    #[inline]
    fn end(&self, plain: u64, total: u64) -> u64 {
        self.written + self.records.map_or(plain, |it| it.end(plain, total))
    }

    /// Takes the next frame of which all bytes were read.
    #[inline]
    fn next_complete(&mut self) -> Option<Written> {
        let (end, _) = self.arriving.front()?;
        if *end > self.read {
            return None;
        }
        self.arriving.pop_front()
    }

    /// Gives memory back that a pause does not need.
    #[inline]
    fn rest(&mut self) {
        if !self.arriving.is_empty() {
            return;
        }
        if self.arriving.capacity() > IDLE_ROOM {
            self.arriving = VecDeque::new();
        } else {
            // The next frame comes to where memory is in the cache.
            self.arriving.clear();
        }
    }
}

impl TcpEnd {
    /// One end of a connection of two link ends, its own first.
    pub(crate) fn new(
        [at, to]: [LinkEnd; 2],
        peer: ConnectionAt,
        kist: bool,
        tcp: Connection,
    ) -> Self {
        Self {
            tcp,
            at,
            to,
            peer,
            cross: None,
            kist,
            frames: FrameStream::default(),
            alarm: None,
            opens: Instant::ZERO,
            broken: false,
            marks: None,
        }
    }

    /// Sets the TLS records that carry what is written.
    pub(crate) const fn set_records(&mut self, records: Option<Records>) {
        self.frames.records = records;
    }

    /// The machine of the peer.
    pub(crate) const fn peer_machine(&self) -> usize {
        self.peer.machine as usize
    }

    /// Breaks the connection off: what it holds is lost, and so is all that is still written.
    pub(crate) fn break_off(&mut self) {
        self.broken = true;
        self.alarm = None;
        self.frames.arriving.clear();
    }

    #[inline]
    pub(crate) const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Reads a field of each part; the number means nothing.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let timeout = self.tcp.poll_timeout().map_or(0, Instant::as_nanos);
        let tcp = self.tcp.readable().get() ^ self.tcp.unsent().get() ^ self.tcp.cwnd().get();
        let front = self.frames.arriving.front();
        tcp ^ timeout ^ self.frames.read ^ front.map_or(0, |(offset, _)| *offset)
    }

    /// Writes all frames; they are passed to the peer with `out`.
    pub(crate) fn write(
        &mut self,
        frames: &mut Vec<Frame<Simulated>>,
        out: &mut Vec<(ConnectionAt, Written)>,
    ) {
        if self.broken {
            return frames.clear();
        }
        // Only records end where all of the write is known.
        let records = self.frames.records;
        let total = records.map_or(0, |_| frames.iter().map(len).sum());
        let mut plain = 0;
        for frame in frames.drain(..) {
            plain += len(&frame);
            let written = (self.frames.end(plain, total), frame);
            if let (Some(marks), (end, Frame::Cell(cell))) = (&mut self.marks, &written) {
                marks.on_written(*end, cell);
            }
            out.push((self.peer, written));
        }
        let end = self.frames.end(plain, plain);
        let len = Bytes::new(end - self.frames.written);
        // Of records the node knows nothing.
        let most = self.frames.behind + len - Bytes::new(plain);
        self.frames.behind += len;
        self.frames.written = end;
        self.catch_up();
        assert!(
            self.frames.behind <= most,
            "a node writes no more than there is room for"
        );
    }

    /// Writes what the socket did not take before.
    fn catch_up(&mut self) {
        self.frames.behind -= self.tcp.write(self.frames.behind);
    }

    /// Takes a frame that the peer has written; the segments that carry it come later.
    #[inline]
    pub(crate) fn expect(&mut self, frame: Written) {
        if self.broken {
            return;
        }
        if let (Some(marks), Frame::Cell(cell)) = (&mut self.marks, &frame.1) {
            marks.expect(frame.0, cell);
        }
        self.frames.arriving.push_back(frame);
    }

    /// Frames that the peer has written and nobody has read.
    pub(crate) fn arriving(&self) -> impl Iterator<Item = Frame<Simulated>> {
        let arriving = self.frames.arriving.iter();
        arriving.map(|(_, frame)| frame.clone())
    }

    /// Takes a segment that has come over a link.
    #[inline]
    pub(crate) fn receive(&mut self, now: Instant, segment: &Segment, link: &LinkConfig) {
        if let Some(marks) = &mut self.marks {
            let least = Least::of(link, packets::segment_size(segment));
            marks.on_arrived(now, segment, least);
        }
        self.tcp.receive(now, segment);
        if let Some(marks) = &mut self.marks {
            marks.on_ready(now, self.frames.read + self.tcp.readable().get());
        }
    }

    /// Reads up to `most` bytes, and moves the frames that are complete with them to `out`. Returns
    /// how many bytes there were.
    #[inline]
    pub(crate) fn read(&mut self, most: Bytes, out: &mut Vec<Frame<Simulated>>) -> Bytes {
        if self.broken {
            return Bytes::ZERO;
        }
        let bytes = self.tcp.readable().min(most);
        self.tcp.read(bytes);
        self.frames.read += bytes.get();
        while let Some((end, frame)) = self.frames.next_complete() {
            if let (Some(marks), Frame::Cell(cell)) = (&mut self.marks, &frame) {
                marks.on_read(end, self.at, cell);
            }
            out.push(frame);
        }
        self.frames.rest();
        bytes
    }

    /// How much the node may write.
    pub(crate) fn room(&self) -> Bytes {
        let space = self.tcp.send_space().saturating_sub(self.frames.behind);
        if !self.kist {
            return space;
        }
        let room = sent_soon(&self.tcp).saturating_sub(self.frames.behind);
        let room = match self.frames.records {
            Some(_) => Records::content(room),
            None => room,
        };
        let idle = self.tcp.in_flight().is_zero() && self.tcp.unsent().is_zero();
        // However small the window is: nothing else would make more room.
        let least = if idle { STREAM_CELL } else { Bytes::ZERO };
        space.min(room.max(least))
    }

    /// Whether the room after a write is not what the node reckons: records take some besides what it writes, and what is
    /// sent may make room.
    pub(crate) const fn room_differs(&self) -> bool {
        self.tcp.limits_unsent() || (self.frames.records.is_some() && !self.kist)
    }

    /// The next segment, if there is one to send.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant, packets: &mut Packets) -> Option<Packet> {
        if self.broken {
            return None;
        }
        if !self.frames.behind.is_zero() {
            self.catch_up();
        }
        if matches!(self.cross, Some(CrossEnd::Sender)) {
            // It always has more to write.
            self.tcp.write(self.tcp.send_space());
        }
        let segment = self.tcp.poll_transmit(now)?;
        if let Some(marks) = &mut self.marks {
            marks.on_sent(now, &segment);
        }
        Some(packets.segment(self.to, segment))
    }

    /// When an event is to serve the timers, if none is pending that is early enough. An event that
    /// turns out to be early costs less than moving it with every segment.
    #[inline]
    pub(crate) fn arm(&mut self) -> Option<Instant> {
        if self.broken {
            return None;
        }
        let timeout = self.tcp.poll_timeout()?;
        if self.alarm.is_some_and(|alarm| alarm <= timeout) {
            return None;
        }
        self.alarm = Some(timeout);
        self.alarm
    }

    /// When an event serves the timers.
    pub(crate) const fn alarm(&self) -> Option<Instant> {
        self.alarm
    }

    /// Handles the timers that are due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.alarm = None;
        self.tcp.handle_timeout(now);
    }
}

/// Bytes of a frame on a stream.
fn len(frame: &Frame<Simulated>) -> u64 {
    frame.wire_len(Carrier::Stream).get()
}

/// What TCP can send at once, and a window's worth to follow when acknowledgements come, less what
/// waits in the socket (tor 0.4.9, `scheduler_kist.c`, with a buffer factor of 1).
fn sent_soon(tcp: &Connection) -> Bytes {
    let window = tcp.cwnd();
    window.saturating_sub(tcp.in_flight()) + window.saturating_sub(tcp.unsent())
}

#[cfg(test)]
mod tests {
    use hopflow_tcp::Config;
    use hopflow_units::{CircuitId, LinkId};

    use super::*;
    use crate::world::address::{ConnectionEnd, NodeAt};
    use crate::world::packets::Content;

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
        let at = |machine| ConnectionAt {
            machine,
            end: ConnectionEnd::new(0),
        };
        let config = Config::default();
        let mut ends = [
            TcpEnd::new(links, at(1), false, Connection::connect(&config)),
            TcpEnd::new(
                [links[1], links[0]],
                at(0),
                false,
                Connection::listen(&config),
            ),
        ];
        let mut packets = Packets::default();
        exchange(&mut ends, &mut packets);
        let probe = |number| Frame::<Simulated>::Probe(CircuitId::new(number));
        let len = probe(0).wire_len(Carrier::Stream);
        let mut frames: Vec<_> = (0..3).map(probe).collect();
        let mut out = Vec::new();
        ends[0].write(&mut frames, &mut out);
        for (to, frame) in out {
            assert_eq!(to, at(1));
            ends[1].expect(frame);
        }
        exchange(&mut ends, &mut packets);
        for (most, expected) in [(1, vec![]), (2 * len.get(), vec![0, 1]), (99, vec![2])] {
            frames.clear();
            ends[1].read(Bytes::new(most), &mut frames);
            let expected: Vec<_> = expected.into_iter().map(probe).collect();
            assert_eq!(frames, expected);
        }
    }
}
