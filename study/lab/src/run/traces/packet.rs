//! Simulated packets as bytes: IPv4 with UDP or TCP, as long as they are in the simulation.

use std::ops::Range;

use hopflow_sim::Simulated;
use hopflow_sim::trace::{CapturedPacket, CapturedStream, LinkAt, PacketContent, Segment};
use hopflow_trace::ip::{self, TCP, UDP};
use hopflow_wire::{Carrier, Frame};

/// Ports of hopflow's links, from this one on by the link's number, and of other connections. The
/// dissector knows the former (`tools/wireshark/hopflow.lua`).
const LINK_PORTS: (u16, u32) = (20_000, 40_000);
const OTHER_PORTS: (u16, u32) = (1024, 16_000);
/// Shift of TCP's windows (RFC 7323, section 2).
const WINDOW_SHIFT: u8 = 8;

/// The bytes of a TCP connection: frames one behind the other.
pub(super) struct Stream<'a> {
    frames: &'a [Frame<Simulated>],
    /// Where each frame ends.
    ends: Vec<u64>,
}

/// The streams of a connection, in both directions.
pub(super) struct Streams<'a> {
    pub(super) sent: Stream<'a>,
    pub(super) received: Stream<'a>,
}

impl<'a> Stream<'a> {
    fn new(frames: &'a [Frame<Simulated>]) -> Self {
        let ends = frames.iter().scan(0, |end, frame| {
            *end += frame.wire_len(Carrier::Stream).get();
            Some(*end)
        });
        Self {
            frames,
            ends: ends.collect(),
        }
    }

    /// A part of the stream, as far as it is known.
    fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        let first = self.ends.partition_point(|end| *end <= range.start);
        let begin = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        let mut bytes = Vec::new();
        for frame in &self.frames[first..] {
            if begin + bytes.len() as u64 >= range.end {
                break;
            }
            frame.encode(Carrier::Stream, &mut bytes);
        }
        bytes.truncate((range.end - begin) as usize);
        let start = ((range.start - begin) as usize).min(bytes.len());
        bytes.split_off(start)
    }
}

impl<'a> Streams<'a> {
    pub(super) fn new(stream: &'a CapturedStream) -> Self {
        Self {
            sent: Stream::new(&stream.sent),
            received: Stream::new(&stream.received),
        }
    }
}

/// The address of a node.
pub(super) fn address(at: LinkAt) -> [u8; 4] {
    ip::address(at.node, at.position)
}

/// The bytes of a packet; `streams` are those of its connection, if it is of one of the overlay. What
/// others carry is not known, nor what nobody read of a connection that broke.
pub(super) fn encode(packet: &CapturedPacket, streams: Option<&Streams<'_>>) -> ip::Packet {
    let (from, to) = if packet.sent {
        (packet.near, packet.far)
    } else {
        (packet.far, packet.near)
    };
    let addresses = [address(from), address(to)];
    let ports =
        |(first, count): (u16, u32)| [from, to].map(|at| first + (at.link.get() % count) as u16);
    let (segment, ports) = match &packet.content {
        PacketContent::Datagram(frames) => {
            let mut data = Vec::new();
            for frame in frames {
                frame.encode(Carrier::Datagram, &mut data);
            }
            return ip::packet(UDP, addresses, &ip::udp(ports(LINK_PORTS), &data), 0);
        }
        PacketContent::Segment(segment) => (segment, ports(LINK_PORTS)),
        PacketContent::Cross(segment) => (segment, ports(OTHER_PORTS)),
    };
    let (offset, len) = (segment.offset().get(), segment.payload().get());
    let stream = streams.map(|both| {
        if packet.sent {
            &both.sent
        } else {
            &both.received
        }
    });
    let data = stream.map_or(Vec::new(), |stream| stream.bytes(offset..offset + len));
    let unknown = len as usize - data.len();
    let bytes = with_checksum(addresses, tcp(ports, segment, &data));
    ip::packet(TCP, addresses, &bytes, unknown)
}

/// A TCP segment (RFC 9293) without its checksum. Unlike in the simulator the SYN has a sequence number,
/// zero.
fn tcp([from, to]: [u16; 2], segment: &Segment, data: &[u8]) -> Vec<u8> {
    let options = tcp_options(segment);
    let seq = if segment.is_syn() {
        0
    } else {
        1 + segment.offset().get() as u32
    };
    let ack = if segment.is_ack() {
        1 + segment.acknowledged().get() as u32
    } else {
        0
    };
    let flags = [
        (segment.is_fin(), 1),
        (segment.is_syn(), 2),
        (segment.is_push(), 8),
        (segment.is_ack(), 16),
    ];
    let flags = flags.into_iter().filter(|(set, _)| *set);
    let shift = if segment.is_syn() { 0 } else { WINDOW_SHIFT };
    let window = (segment.window().get() >> shift).min(u64::from(u16::MAX)) as u16;
    let mut bytes = Vec::with_capacity(20 + options.len() + data.len());
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.push(((20 + options.len()) as u8) << 2);
    bytes.push(flags.map(|(_, bit)| bit).sum());
    bytes.extend(window.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(options);
    bytes.extend(data);
    bytes
}

/// The options that Linux sends: on a SYN maximum segment size, SACK permitted, timestamps, window
/// scale; otherwise timestamps, and ranges that have arrived.
fn tcp_options(segment: &Segment) -> Vec<u8> {
    let mut bytes = if segment.is_syn() {
        vec![2, 4, 0x05, 0xb4, 4, 2]
    } else {
        vec![1, 1]
    };
    bytes.extend([8, 10]);
    for time in [segment.timestamp(), segment.echo()] {
        bytes.extend(((time.as_nanos() / 1_000_000) as u32).to_be_bytes());
    }
    if segment.is_syn() {
        bytes.extend([1, 3, 3, WINDOW_SHIFT]);
    }
    let edges: Vec<_> = segment
        .arrived()
        .flat_map(|(start, end)| [start, end])
        .map(|edge| 1 + edge.get() as u32)
        .collect();
    if !edges.is_empty() {
        bytes.extend([1, 1, 5, (2 + 4 * edges.len()) as u8]);
        bytes.extend(edges.into_iter().flat_map(u32::to_be_bytes));
    }
    bytes
}

/// A TCP segment with its checksum, which covers addresses, too.
fn with_checksum(addresses: [[u8; 4]; 2], mut segment: Vec<u8>) -> Vec<u8> {
    let mut covered = addresses.concat();
    covered.extend([0, TCP]);
    covered.extend((segment.len() as u16).to_be_bytes());
    covered.extend(&segment);
    let sum = ip::checksum(&covered);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    segment
}
