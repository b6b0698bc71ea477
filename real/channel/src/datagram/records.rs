//! The records that a datagram holds, by their heads.

/// The largest plaintext of a record, in bytes.
pub(super) const MAX_PLAINTEXT: usize = 1400;

/// What a record adds to its plaintext, in bytes: a header of 5 (RFC 9147, section 4, Figure 3),
/// the content type, and a tag of 16.
pub(super) const OVERHEAD: usize = 22;

/// What begins with less is plaintext: these are content types (RFC 9147, section 4.1).
pub(super) const CIPHERTEXT: u8 = 32;

/// The longest record that is sent, in bytes.
const LONGEST: usize = MAX_PLAINTEXT + OVERHEAD;

/// The length of the first record of `bytes`, with its head, which says that; of plaintext, or of
/// ciphertext with two bytes of the number and a length, as the library makes it (RFC 9147, section 4).
#[inline]
pub(super) fn first(bytes: &[u8]) -> Option<usize> {
    let (head, high, low) = match *bytes {
        [flags, _, _, high, low, ..] if flags & 0b1111_1100 == 0b0010_1100 => (5, high, low),
        [kind, _, _, _, _, _, _, _, _, _, _, high, low, ..] if kind < CIPHERTEXT => (13, high, low),
        _ => return None,
    };
    Some(head + usize::from(u16::from_be_bytes([high, low])))
}

/// Whether `bytes` are whole records and nothing else, at most so many and none longer than what is sent. The
/// library keeps 9 kB of each that holds a message of its handshakes for as long as an earlier one is missing.
#[inline]
pub(super) fn are_few(mut bytes: &[u8], most: usize) -> bool {
    for _ in 0..most {
        let record = first(bytes).filter(|len| *len <= LONGEST);
        let Some(rest) = record.and_then(|len| bytes.get(len..)) else {
            return false;
        };
        if rest.is_empty() {
            return true;
        }
        bytes = rest;
    }
    false
}
