//! Captures (draft-ietf-opsawg-pcapng): one interface of raw IP, times in nanoseconds, names of nodes.

use hopflow_units::Rate;

use crate::ip;
use crate::watch::Way;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const NAMES: u32 = 4;
const PACKET: u32 = 6;
/// Packets begin with the header of IP.
const LINKTYPE_RAW: u16 = 101;

/// The beginning of a file: who wrote it, and whose packets they are. `rate` is that of the access link.
pub fn begin(node: &str, rate: Option<Rate>) -> Vec<u8> {
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
    option(&mut interface, 2, node.as_bytes());
    if let Some(rate) = rate {
        let bits = rate.bytes_per_sec().saturating_mul(8);
        option(&mut interface, 8, &bits.to_le_bytes());
    }
    option(&mut interface, 9, &[9]); // nanoseconds
    end_options(&mut interface);
    block(&mut file, INTERFACE, &interface);
    file
}

/// Appends names of addresses, which hold for the whole file.
pub fn names<'a>(names: impl IntoIterator<Item = ([u8; 4], &'a str)>, file: &mut Vec<u8>) {
    let mut content = Vec::new();
    for (address, name) in names {
        let mut value = address.to_vec();
        value.extend(name.bytes().chain([0]));
        option(&mut content, 1, &value);
    }
    end_options(&mut content);
    block(file, NAMES, &content);
}

/// Appends a packet, `time` nanoseconds after the zero of all times.
pub fn packet(time: u64, way: Way, bytes: &ip::Packet, file: &mut Vec<u8>) {
    let mut content = vec![0; 4]; // of the first interface
    content.extend(((time >> 32) as u32).to_le_bytes());
    content.extend((time as u32).to_le_bytes());
    content.extend((bytes.known.len() as u32).to_le_bytes());
    content.extend((bytes.len as u32).to_le_bytes());
    content.extend(&bytes.known);
    pad(&mut content);
    let flags: u32 = match way {
        Way::Received => 1, // inbound
        Way::Sent => 2,     // outbound
    };
    option(&mut content, 2, &flags.to_le_bytes());
    end_options(&mut content);
    block(file, PACKET, &content);
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
