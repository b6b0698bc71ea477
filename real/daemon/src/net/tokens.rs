//! Which source of events a poll's token means.

use mio::Token;
use slotmap::{Key, KeyData, new_key_type};

new_key_type! {
    /// A connection that carries a link.
    pub(super) struct CarrierKey;

    /// A connection of an application or to a server.
    pub(super) struct PlaceKey;
}

// A token holds a whole key, so that none of a connection that is gone means another one.
const _: () = assert!(usize::BITS >= 64, "tokens hold the keys of slots");

/// A source of events of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// Another thread wakes the worker.
    Waker,
    /// A moment that the poll cannot name precisely enough has come.
    Timer,
    /// Datagrams to the address that the directory lists.
    Listening,
    /// Datagrams of links that we opened.
    Outgoing,
    /// Neighbours or applications that connect.
    Listener,
    /// A connection that carries a link, by its key.
    Carrier(CarrierKey),
    /// A connection of an application or to a server, by its key.
    Pipe(PlaceKey),
}

const FIXED: [Source; 5] = [
    Source::Waker,
    Source::Timer,
    Source::Listening,
    Source::Outgoing,
    Source::Listener,
];

/// Bits of a token that say which kind of source it is.
const KIND_BITS: u32 = 2;
/// Bits for a key's place in its table: more than a process can have connections.
const PLACE_BITS: u32 = 26;
const CARRIER: usize = 1;
const PIPE: usize = 2;

/// A key's version, its place and the kind of its table in one number.
fn pack(key: KeyData, kind: usize) -> Token {
    let (version, place) = (key.as_ffi() >> 32, key.as_ffi() & u64::from(u32::MAX));
    debug_assert!(place < 1 << PLACE_BITS, "place {place} is too high");
    Token(((version << PLACE_BITS | place) << KIND_BITS) as usize | kind)
}

fn unpack(token: Token) -> KeyData {
    let packed = token.0 as u64 >> KIND_BITS;
    let (version, place) = (packed >> PLACE_BITS, packed & ((1 << PLACE_BITS) - 1));
    KeyData::from_ffi(version << 32 | place)
}

impl Source {
    pub(super) fn token(self) -> Token {
        match self {
            Self::Carrier(key) => pack(key.data(), CARRIER),
            Self::Pipe(key) => pack(key.data(), PIPE),
            fixed => {
                let place = FIXED.iter().position(|other| *other == fixed);
                Token(place.unwrap_or(0) << KIND_BITS)
            }
        }
    }

    pub(super) fn of(token: Token) -> Self {
        match token.0 & ((1 << KIND_BITS) - 1) {
            CARRIER => Self::Carrier(unpack(token).into()),
            PIPE => Self::Pipe(unpack(token).into()),
            _ => FIXED[token.0 >> KIND_BITS],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_a_token_of_its_own() {
        let key = |version: u64, place: u64| KeyData::from_ffi(version << 32 | place);
        let keys = [
            key(1, 1),
            key(1, 2),
            key(3, 1),
            key(u32::MAX.into(), (1 << 26) - 1),
        ];
        let carriers = keys.map(|key| Source::Carrier(key.into()));
        let pipes = keys.map(|key| Source::Pipe(key.into()));
        let mut tokens: Vec<Token> = Vec::new();
        for source in FIXED.into_iter().chain(carriers).chain(pipes) {
            assert_eq!(Source::of(source.token()), source);
            assert!(!tokens.contains(&source.token()));
            tokens.push(source.token());
        }
    }
}
