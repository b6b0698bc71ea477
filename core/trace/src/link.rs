//! What passes over the links of a real node, after decryption and without the payload of cells.

use hopflow_units::{CircuitId, Instant, NodeId};
use hopflow_wire::{CELL_PAYLOAD, Carrier, Feedback, Frame, RawPayload};

use crate::event::Contents;
use crate::ip::{self, UDP};
use crate::watch::Way;

/// Ports of links whose frames have no payload, by their carrier. The dissector knows them
/// (`tools/wireshark/hopflow.lua`).
const PORTS: [(Carrier, u16); 2] = [(Carrier::Datagram, 60_000), (Carrier::Stream, 60_001)];
/// The type of a frame that builds circuits.
const TYPE_SETUP: u8 = 14;
/// The type of a cell.
const TYPE_CELL: u8 = 3;
/// Bytes of frames in one packet at most: with its headers it is no longer than IPv4 allows.
const LONGEST: usize = 60_000;

/// A frame as it is taken down.
#[derive(Clone, PartialEq, Debug)]
pub enum Seen {
    /// One of an open circuit.
    Frame(Frame<Contents>),
    /// One that builds this circuit.
    Setup(CircuitId),
}

/// Frames that left in one datagram or one write, or arrived together.
#[derive(Clone, PartialEq, Debug)]
pub struct Packet {
    /// When.
    pub at: Instant,
    /// The link's number, counted from zero as links come up.
    pub link: u32,
    /// Whether the node sent it.
    pub way: Way,
    /// What carries the link.
    pub carrier: Carrier,
    /// The frames.
    pub frames: Vec<Seen>,
}

impl Packet {
    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let frames = self.frames.iter().map(|frame| match frame {
            Seen::Frame(Frame::Message(message)) => message.body.capacity(),
            _ => 0,
        });
        size_of::<Self>() + self.frames.capacity() * size_of::<Seen>() + frames.sum::<usize>()
    }
}

/// The node's own address.
pub fn own_address() -> [u8; 4] {
    ip::address(NodeId::new(0), 0)
}

/// The address that stands for the neighbour on a link: it says nothing about the real one.
pub fn neighbour_address(link: u32) -> [u8; 4] {
    // 22 bits, of which one number is the node's own.
    ip::address(NodeId::new(1 + link % ((1 << 22) - 2)), 0)
}

/// The name that stands for the neighbour on a link.
pub fn neighbour_name(link: u32) -> String {
    format!("link-{link}")
}

/// The packet as IPv4 and UDP, whatever carries the link; several where one would be too long.
pub fn encode(packet: &Packet) -> Vec<ip::Packet> {
    let mut parts = vec![Vec::new()];
    let mut frame_bytes = Vec::new();
    for frame in &packet.frames {
        encode_frame(packet.carrier, frame, &mut frame_bytes);
        match parts.last_mut() {
            Some(last) if last.len() + frame_bytes.len() <= LONGEST => {
                last.append(&mut frame_bytes);
            }
            _ => parts.push(std::mem::take(&mut frame_bytes)),
        }
    }
    parts.iter().map(|part| enclose(packet, part)).collect()
}

fn enclose(packet: &Packet, data: &[u8]) -> ip::Packet {
    let port = PORTS.iter().find(|(carrier, _)| *carrier == packet.carrier);
    let port = port.map_or(0, |(_, port)| *port);
    let mut ends = [own_address(), neighbour_address(packet.link)];
    if packet.way == Way::Received {
        ends.reverse();
    }
    ip::packet(UDP, ends, &ip::udp([port, port], data), 0)
}

/// A frame as on the wire, but for what is left out: in place of a cell's payload stand its length, the
/// relay command if it is known or 0, and the length of the data if that is known or 0; in place of a
/// set-up message stands its length; feedback has no padding.
fn encode_frame(carrier: Carrier, frame: &Seen, out: &mut Vec<u8>) {
    let left_out = (CELL_PAYLOAD as u16).to_be_bytes();
    match frame {
        Seen::Setup(circuit) => {
            out.extend(circuit.get().to_be_bytes());
            out.push(TYPE_SETUP);
            out.extend(left_out);
        }
        Seen::Frame(Frame::Cell(cell)) => {
            out.extend(cell.circuit.get().to_be_bytes());
            out.push(TYPE_CELL);
            if carrier == Carrier::Datagram {
                out.push(cell.flags.0);
                out.extend(cell.seq.to_wire().to_be_bytes());
            }
            out.extend(left_out);
            out.push(cell.payload.command.map_or(0, |command| command as u8));
            out.extend(cell.payload.length.unwrap_or(0).to_be_bytes());
        }
        Seen::Frame(Frame::Feedback(feedback)) => {
            let feedback = Feedback {
                padded: false,
                ..*feedback
            };
            Frame::<RawPayload>::Feedback(feedback).encode(carrier, out);
        }
        Seen::Frame(Frame::Sack(sack)) => {
            let mut sack = **sack;
            sack.feedback.padded = false;
            Frame::<RawPayload>::Sack(Box::new(sack)).encode(carrier, out);
        }
        Seen::Frame(Frame::Probe(circuit)) => {
            Frame::<RawPayload>::Probe(*circuit).encode(carrier, out);
        }
        Seen::Frame(Frame::Destroy(destroy)) => {
            Frame::<RawPayload>::Destroy(*destroy).encode(carrier, out);
        }
        Seen::Frame(Frame::Message(message)) => {
            Frame::<RawPayload>::Message(message.clone()).encode(carrier, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_are_too_many_for_a_packet_are_in_several() {
        let frames = vec![Seen::Frame(Frame::Probe(CircuitId::new(7))); 30_000];
        let mut packet = Packet {
            at: Instant::ZERO,
            link: 0,
            way: Way::Received,
            carrier: Carrier::Datagram,
            frames,
        };
        assert!(packet.memory() > 30_000 * size_of::<Seen>());
        let parts = encode(&packet);
        // 20 and 8 bytes of headers, and 3 of each probe.
        let probes = parts.iter().map(|part| (part.len - 28) / 3);
        assert_eq!((parts.len(), probes.sum::<usize>()), (2, 30_000));
        packet.frames.truncate(1);
        assert_eq!(encode(&packet).len(), 1);
    }
}
