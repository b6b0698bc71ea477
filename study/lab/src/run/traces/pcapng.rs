//! The packets of a node as pcapng (draft-ietf-opsawg-pcapng): one interface, times in nanoseconds, and
//! the names of nodes.

use std::collections::BTreeMap;

use hopflow_sim::spec::WorldSpec;
use hopflow_sim::trace::{LinkAt, NodeCapture};

use super::packet::{self, Streams};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const NAMES: u32 = 4;
const PACKET: u32 = 6;
/// Packets begin with the header of IP.
const LINKTYPE_RAW: u16 = 101;

/// The file of a node.
pub(super) fn encode(world: &WorldSpec, capture: &NodeCapture) -> Vec<u8> {
    let node = &world.nodes[capture.node.index()];
    let mut file = Vec::new();
    let mut section = Vec::new();
    section.extend(0x1a2b_3c4d_u32.to_le_bytes());
    section.extend(1_u16.to_le_bytes());
    section.extend(0_u16.to_le_bytes());
    section.extend(u64::MAX.to_le_bytes()); // of unknown length
    option(&mut section, 4, b"hopflow");
    end_options(&mut section);
    block(&mut file, SECTION, &section);

    let mut interface = Vec::new();
    interface.extend(LINKTYPE_RAW.to_le_bytes());
    interface.extend([0; 6]); // no limit to what is taken down
    option(&mut interface, 2, node.name.as_bytes());
    let bits = node.access.rate.bytes_per_sec().saturating_mul(8);
    option(&mut interface, 8, &bits.to_le_bytes());
    option(&mut interface, 9, &[9]); // nanoseconds
    end_options(&mut interface);
    block(&mut file, INTERFACE, &interface);

    block(&mut file, NAMES, &names(world, capture));
    let streams = capture.streams.iter();
    let streams: BTreeMap<LinkAt, _> = streams.map(|it| (it.near, Streams::new(it))).collect();
    for packet in &capture.packets {
        let bytes = packet::encode(packet, streams.get(&packet.near));
        let time = packet.at.as_nanos();
        let mut content = vec![0; 4]; // of the first interface
        content.extend(((time >> 32) as u32).to_le_bytes());
        content.extend((time as u32).to_le_bytes());
        content.extend((bytes.known.len() as u32).to_le_bytes());
        content.extend((bytes.len as u32).to_le_bytes());
        content.extend(&bytes.known);
        pad(&mut content);
        let flags: u32 = if packet.sent { 2 } else { 1 }; // outbound, inbound
        option(&mut content, 2, &flags.to_le_bytes());
        end_options(&mut content);
        block(&mut file, PACKET, &content);
    }
    file
}

/// The names of all nodes that send or receive one of the packets.
fn names(world: &WorldSpec, capture: &NodeCapture) -> Vec<u8> {
    let mut names = BTreeMap::new();
    for at in capture.packets.iter().flat_map(|it| [it.near, it.far]) {
        let name = &world.nodes[at.node.index()].name;
        names.insert(packet::address(at), name);
    }
    let mut content = Vec::new();
    for (address, name) in names {
        let mut value = address.to_vec();
        value.extend(name.bytes().chain([0]));
        option(&mut content, 1, &value);
    }
    end_options(&mut content);
    content
}

/// A block: type, length, content, length.
fn block(file: &mut Vec<u8>, kind: u32, content: &[u8]) {
    let len = (12 + content.len()) as u32;
    file.extend(kind.to_le_bytes());
    file.extend(len.to_le_bytes());
    file.extend(content);
    file.extend(len.to_le_bytes());
}

/// An option, or a record of names, which has the same form.
fn option(content: &mut Vec<u8>, code: u16, value: &[u8]) {
    content.extend(code.to_le_bytes());
    content.extend((value.len() as u16).to_le_bytes());
    content.extend(value);
    pad(content);
}

fn end_options(content: &mut Vec<u8>) {
    content.extend([0; 4]);
}

/// Fills up to a multiple of four bytes.
fn pad(content: &mut Vec<u8>) {
    content.resize(content.len().next_multiple_of(4), 0);
}
