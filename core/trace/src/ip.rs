//! IPv4 packets around what is taken down, for programs that read captures.

use hopflow_units::NodeId;

/// The number of TCP among the protocols on IP.
pub const TCP: u8 = 6;
/// The number of UDP among the protocols on IP.
pub const UDP: u8 = 17;

/// A packet as it is taken down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Its bytes, as far as they are known.
    pub known: Vec<u8>,
    /// How many there are.
    pub len: usize,
}

/// The address of a node: 10, then 22 bits of its machine's number, which count from 1, and 2 of its
/// position there.
pub fn address(node: NodeId, position: u16) -> [u8; 4] {
    let number = (node.get() + 1) << 2 | u32::from(position & 3);
    let [_, a, b, c] = number.to_be_bytes();
    [10, a, b, c]
}

/// An IPv4 packet (RFC 791) with this content, behind which so many bytes are not known.
pub fn packet(protocol: u8, [from, to]: [[u8; 4]; 2], content: &[u8], unknown: usize) -> Packet {
    let len = 20 + content.len() + unknown;
    debug_assert!(
        u16::try_from(len).is_ok(),
        "IPv4 has no packets of {len} bytes"
    );
    // Version and length of the header, identification, "don't fragment", time to live.
    let mut bytes = vec![0x45, 0];
    bytes.extend((len as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    bytes.extend(from);
    bytes.extend(to);
    let sum = checksum(&bytes);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(content);
    Packet { known: bytes, len }
}

/// A UDP datagram (RFC 768), without the checksum that IPv4 makes optional.
pub fn udp([from, to]: [u16; 2], data: &[u8]) -> Vec<u8> {
    let words = [from, to, (8 + data.len()) as u16, 0];
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u16::to_be_bytes).collect();
    bytes.extend(data);
    bytes
}

/// The Internet's checksum (RFC 1071).
pub fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2);
    let words = words.map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
