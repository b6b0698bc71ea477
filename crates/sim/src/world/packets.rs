//! Packets under way, in an arena, so that links carry handles.

use hopflow_tcp::Segment;
use hopflow_units::{Bytes, LinkId};
use hopflow_wire::Frame;

use crate::payload::Simulated;

/// A packet under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PacketId(u32);

/// All packets; freed ones keep their memory for the next.
#[derive(Debug, Default)]
pub(super) struct Packets {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
    /// A free packet to be filled, see [`Packets::spare`].
    spare: Option<PacketId>,
}

#[derive(Clone, Debug, Default)]
struct Packet {
    node: u32,
    link: LinkId,
    size: Bytes,
    frames: Vec<Frame<Simulated>>,
    segment: Option<Segment>,
}

impl Packets {
    fn allocate(&mut self) -> PacketId {
        self.free.pop().unwrap_or_else(|| {
            self.packets.push(Packet::default());
            PacketId(self.packets.len() as u32 - 1)
        })
    }

    /// A packet that may be filled. It stays the spare one until it is addressed.
    #[inline]
    pub(super) fn spare(&mut self) -> PacketId {
        match self.spare {
            Some(packet) => packet,
            None => {
                let packet = self.allocate();
                self.spare = Some(packet);
                packet
            }
        }
    }

    /// Addresses the spare packet to a node's end of a link.
    #[inline]
    pub(super) fn address(&mut self, packet: PacketId, node: u32, link: LinkId, size: Bytes) {
        debug_assert_eq!(self.spare, Some(packet));
        self.spare = None;
        let packet = &mut self.packets[packet.0 as usize];
        (packet.node, packet.link, packet.size) = (node, link, size);
        packet.segment = None;
    }

    /// A packet with a TCP segment.
    #[inline]
    pub(super) fn with_segment(
        &mut self,
        segment: Segment,
        node: u32,
        link: LinkId,
        size: Bytes,
    ) -> PacketId {
        let id = self.allocate();
        let packet = &mut self.packets[id.0 as usize];
        (packet.node, packet.link, packet.size) = (node, link, size);
        packet.segment = Some(segment);
        id
    }

    pub(super) fn duplicate(&mut self, packet: PacketId) -> PacketId {
        let copy = self.allocate();
        self.packets[copy.0 as usize] = self.packets[packet.0 as usize].clone();
        copy
    }

    #[inline]
    pub(super) fn free(&mut self, packet: PacketId) {
        self.packets[packet.0 as usize].frames.clear();
        self.free.push(packet);
    }

    #[inline]
    pub(super) fn destination(&self, packet: PacketId) -> usize {
        self.packets[packet.0 as usize].node as usize
    }

    #[inline]
    pub(super) fn link(&self, packet: PacketId) -> LinkId {
        self.packets[packet.0 as usize].link
    }

    #[inline]
    pub(super) fn size(&self, packet: PacketId) -> Bytes {
        self.packets[packet.0 as usize].size
    }

    #[inline]
    pub(super) fn segment(&self, packet: PacketId) -> Option<Segment> {
        self.packets[packet.0 as usize].segment
    }

    #[inline]
    pub(super) fn frames(&mut self, packet: PacketId) -> &mut Vec<Frame<Simulated>> {
        &mut self.packets[packet.0 as usize].frames
    }
}
