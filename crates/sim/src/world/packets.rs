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
    Datagram(u32),
    Segment(u32),
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

/// The contents of all packets; freed places keep their memory for the next.
#[derive(Debug, Default)]
pub(super) struct Packets {
    datagrams: Vec<Vec<Frame<Simulated>>>,
    free_datagrams: Vec<u32>,
    segments: Vec<Segment>,
    free_segments: Vec<u32>,
}

impl Packets {
    /// An empty datagram to be filled.
    #[inline]
    pub(super) fn datagram(&mut self) -> u32 {
        self.free_datagrams.pop().unwrap_or_else(|| {
            self.datagrams.push(Vec::new());
            self.datagrams.len() as u32 - 1
        })
    }

    #[inline]
    pub(super) fn frames(&mut self, datagram: u32) -> &mut Vec<Frame<Simulated>> {
        &mut self.datagrams[datagram as usize]
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
            Content::Datagram(original) => {
                let copy = self.datagram();
                self.datagrams[copy as usize] = self.datagrams[original as usize].clone();
                Content::Datagram(copy)
            }
            Content::Segment(original) => self.add_segment(self.segment(original)),
        };
        Packet { content, ..packet }
    }

    /// Frees the content of a packet that has arrived or was dropped.
    #[inline]
    pub(super) fn free(&mut self, content: Content) {
        match content {
            Content::Datagram(place) => {
                self.datagrams[place as usize].clear();
                self.free_datagrams.push(place);
            }
            Content::Segment(place) => self.free_segments.push(place),
        }
    }
}
