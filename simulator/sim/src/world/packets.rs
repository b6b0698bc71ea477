//! Packets under way: links carry small handles, arenas hold the contents.

use hopflow_tcp::Segment;
use hopflow_units::{Bytes, CircuitId};
use hopflow_wire::Frame;

use super::address::LinkEnd;
use crate::payload::Simulated;

/// Bytes of UDP and IPv4 headers.
const UDP_IP: Bytes = Bytes::new(28);
/// Bytes of framing on a link, as in the BackTap authors' simulator (PPP).
const FRAMING: Bytes = Bytes::new(2);

/// A packet under way. All that routers need to know travels in the handle, so that they touch no
/// content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// The node that the packet is for, and that node's end of the overlay link.
    pub(crate) to: LinkEnd,
    size: u32,
    content: Content,
}

/// Where a packet's content is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    /// Frames: where the first one is, and how many there are.
    Datagram { start: u32, len: u16 },
    /// A TCP segment.
    Segment(u32),
}

/// What stands where there is no frame.
const EMPTY: Frame<Simulated> = Frame::Probe(CircuitId::new(0));

/// Runs of frames have places for a power of two: the exponent.
const fn class(len: u16) -> usize {
    len.next_power_of_two().trailing_zeros() as usize
}

const fn places(start: u32, len: u16) -> std::ops::Range<usize> {
    let start = start as usize;
    start..start + len as usize
}

/// Bytes of a packet with a TCP segment.
pub(crate) fn segment_size(segment: &Segment) -> Bytes {
    segment.wire_len() + FRAMING
}

impl Packet {
    #[inline]
    pub(crate) const fn size(&self) -> Bytes {
        Bytes::new(self.size as u64)
    }

    #[inline]
    pub(crate) const fn content(&self) -> Content {
        self.content
    }
}

/// The contents of the packets of a partition.
///
/// Freed places are used again, the latest first, so that what is under way stays close together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    frames: Vec<Frame<Simulated>>,
    /// Starts of free runs, by class.
    free_runs: [Vec<u32>; 16],
    segments: Vec<Segment>,
    free_segments: Vec<u32>,
}

impl Packets {
    /// A datagram of these frames, at least one, which take `len` bytes; takes them.
    #[inline]
    pub(crate) fn datagram(
        &mut self,
        to: LinkEnd,
        len: Bytes,
        frames: &mut Vec<Frame<Simulated>>,
    ) -> Packet {
        let content = self.add_frames(frames);
        frames.clear();
        Packet {
            to,
            size: (len + UDP_IP + FRAMING).get() as u32,
            content,
        }
    }

    /// A packet with a TCP segment.
    #[inline]
    pub(crate) fn segment(&mut self, to: LinkEnd, segment: Segment) -> Packet {
        Packet {
            to,
            size: segment_size(&segment).get() as u32,
            content: self.add_segment(segment),
        }
    }

    /// A packet like this one, with a content of its own.
    pub(crate) fn duplicate(&mut self, packet: Packet) -> Packet {
        let content = match packet.content {
            Content::Datagram { start, len } => {
                let mut frames = self.frames_of(start, len).to_vec();
                self.add_frames(&mut frames)
            }
            Content::Segment(place) => self.add_segment(self.segment_at(place)),
        };
        Packet { content, ..packet }
    }

    #[inline]
    pub(crate) fn frames_of(&self, start: u32, len: u16) -> &[Frame<Simulated>] {
        &self.frames[places(start, len)]
    }

    /// Takes the frames of a datagram, behind those in `frames`.
    #[inline]
    pub(crate) fn take_frames(
        &mut self,
        (start, len): (u32, u16),
        frames: &mut Vec<Frame<Simulated>>,
    ) {
        let places = self.frames[places(start, len)].iter_mut();
        frames.extend(places.map(|place| std::mem::replace(place, EMPTY)));
    }

    #[inline]
    pub(crate) fn segment_at(&self, place: u32) -> Segment {
        self.segments[place as usize]
    }

    /// Reads a field of each cache line of a segment; the number means nothing.
    #[inline]
    pub(crate) fn touch_segment(&self, place: u32) -> u64 {
        let segment = &self.segments[place as usize];
        segment.offset().get() ^ u64::from(segment.is_syn())
    }

    /// Takes a packet with its content out of these into others.
    pub(crate) fn pass(&mut self, packet: Packet, to: &mut Self) -> Packet {
        let content = match packet.content {
            Content::Datagram { start, len } => to.add_frames(&mut self.frames[places(start, len)]),
            Content::Segment(place) => to.add_segment(self.segment_at(place)),
        };
        self.free(packet);
        Packet { content, ..packet }
    }

    /// Frees the content of a packet that has arrived or was dropped.
    #[inline]
    pub(crate) fn free(&mut self, packet: Packet) {
        match packet.content {
            Content::Datagram { start, len } => self.free_runs[class(len)].push(start),
            Content::Segment(place) => self.free_segments.push(place),
        }
    }

    /// Takes frames, and leaves what means nothing in their places.
    #[inline]
    fn add_frames(&mut self, frames: &mut [Frame<Simulated>]) -> Content {
        let len = frames.len() as u16;
        let start = self.free_runs[class(len)].pop().unwrap_or_else(|| {
            let start = self.frames.len();
            self.frames.resize(start + (1 << class(len)), EMPTY);
            start as u32
        });
        self.frames[places(start, len)].swap_with_slice(frames);
        Content::Datagram { start, len }
    }

    #[inline]
    fn add_segment(&mut self, segment: Segment) -> Content {
        Content::Segment(match self.free_segments.pop() {
            Some(place) => {
                self.segments[place as usize] = segment;
                place
            }
            None => {
                self.segments.push(segment);
                self.segments.len() as u32 - 1
            }
        })
    }
}
