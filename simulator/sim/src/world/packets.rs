//! Packets under way: links carry small handles, arenas hold the contents.

use hopflow_tcp::Segment;
use hopflow_units::{Bytes, LinkId};
use hopflow_wire::Frame;

use crate::payload::Simulated;

/// A packet under way. All that the hub needs to know travels in the handle, so that it touches
/// no content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// The node that the packet is for, and that node's end of the link.
    pub(super) node: u32,
    pub(super) link: LinkId,
    size: u32,
    content: Content,
}

/// Where a packet's content is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    Datagram(Run),
    Segment(u32),
}

/// The frames of a datagram: so many, from a place on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    start: u32,
    len: u16,
}

impl Run {
    /// Places are handed out in powers of two.
    const fn class(self) -> usize {
        self.len.next_power_of_two().trailing_zeros() as usize
    }

    const fn places(self) -> std::ops::Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }
}

impl Packet {
    pub(super) fn new(node: u32, link: LinkId, size: Bytes, content: Content) -> Self {
        Self {
            node,
            link,
            size: size.get() as u32,
            content,
        }
    }

    #[inline]
    pub(super) const fn size(&self) -> Bytes {
        Bytes::new(self.size as u64)
    }

    #[inline]
    pub(super) const fn content(&self) -> Content {
        self.content
    }
}

/// The contents of all packets.
///
/// Freed places are used again, the latest first, so that what is under way stays close together.
#[derive(Debug, Default)]
pub(super) struct Packets {
    frames: Vec<Frame<Simulated>>,
    /// Starts of free runs, by class.
    free_runs: [Vec<u32>; 16],
    segments: Vec<Segment>,
    free_segments: Vec<u32>,
}

impl Packets {
    /// A datagram of these frames, at least one.
    #[inline]
    pub(super) fn add_datagram(&mut self, frames: &[Frame<Simulated>]) -> Content {
        let mut run = Run {
            start: self.frames.len() as u32,
            len: frames.len() as u16,
        };
        if let Some(start) = self.free_runs[run.class()].pop() {
            run.start = start;
            self.frames[run.places()].clone_from_slice(frames);
        } else {
            self.frames.extend_from_slice(frames);
            let end = run.start as usize + (1 << run.class());
            self.frames.resize(end, frames[0].clone());
        }
        Content::Datagram(run)
    }

    #[inline]
    pub(super) fn frames(&self, datagram: Run) -> &[Frame<Simulated>] {
        &self.frames[datagram.places()]
    }

    /// A segment on its way.
    #[inline]
    pub(super) fn add_segment(&mut self, segment: Segment) -> Content {
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

    #[inline]
    pub(super) fn segment(&self, place: u32) -> Segment {
        self.segments[place as usize]
    }

    /// A packet like this one, with a content of its own.
    pub(super) fn duplicate(&mut self, packet: Packet) -> Packet {
        let content = match packet.content {
            Content::Datagram(run) => {
                let frames = self.frames(run).to_vec();
                self.add_datagram(&frames)
            }
            Content::Segment(original) => self.add_segment(self.segment(original)),
        };
        Packet { content, ..packet }
    }

    /// Frees the content of a packet that has arrived or was dropped.
    #[inline]
    pub(super) fn free(&mut self, content: Content) {
        match content {
            Content::Datagram(run) => self.free_runs[run.class()].push(run.start),
            Content::Segment(place) => self.free_segments.push(place),
        }
    }
}
