//! Bytes written in hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::read;

/// Public bytes that users read and write in hexadecimal digits: keys, fingerprints, signatures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hex<const N: usize>(pub [u8; N]);

/// A text that is no such number of hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotHex {
    text: String,
    digits: usize,
}

impl fmt::Display for NotHex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, digits } = self;
        write!(f, "\"{text}\": allowed are {digits} hexadecimal digits")
    }
}

impl std::error::Error for NotHex {}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const N: usize> FromStr for Hex<N> {
    type Err = NotHex;
    fn from_str(text: &str) -> Result<Self, NotHex> {
        let bytes = decode(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| NotHex {
            text: text.to_owned(),
            digits: 2 * N,
        })
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read::text(deserializer)
    }
}

/// The digits of `bytes`.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digit = |value: u8| char::from_digit(value.into(), 16).expect("four bits are a digit");
    digits.map(digit).collect()
}

/// The bytes that `text` writes, if it is an even number of digits.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs
        .iter()
        .map(|[high, low]| Some((digit(*high)? << 4 | digit(*low)?) as u8));
    bytes.collect::<Option<_>>().filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let bytes = Hex([0x00, 0x9f, 0xf0]);
        assert_eq!(bytes.to_string(), "009ff0");
        assert_eq!("009FF0".parse(), Ok(bytes));
        assert_eq!(encode(&bytes.0), "009ff0");
    }

    #[test]
    fn everything_else_is_refused() {
        for text in ["", "009f", "009ff", "009ff00", "009fg0", "+09ff0", "äää"] {
            let message = text.parse::<Hex<3>>().unwrap_err().to_string();
            assert!(
                message.ends_with("allowed are 6 hexadecimal digits"),
                "{message}"
            );
        }
    }
}
