//! Hashes that identify inputs and results.

use std::fmt;
use std::hash::Hasher as _;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

/// A 64-bit hash of logical content, the same on every machine and in every version.
///
/// It is xxHash64 (seed 0) over a canonical encoding: integers in little-endian order, floats by
/// their bits, text behind its length. It recognises what is equal; it does not protect against
/// someone who wants a collision. Written as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of a sequence of texts; their boundaries count.
    ///
    /// ```
    /// use hopflow_results::Fingerprint;
    /// assert_ne!(Fingerprint::of(&["ab", "c"]), Fingerprint::of(&["a", "bc"]));
    /// ```
    pub fn of(texts: &[&str]) -> Self {
        let mut hasher = Hasher::new();
        for text in texts {
            hasher.text(text);
        }
        hasher.finish()
    }

    /// The fingerprint of a file's bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(XxHash64::oneshot(0, bytes))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Text that is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFingerprintError(String);

impl fmt::Display for ParseFingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a fingerprint of 16 hexadecimal digits",
            self.0
        )
    }
}

impl std::error::Error for ParseFingerprintError {}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits
            .then(|| u64::from_str_radix(text, 16).ok().map(Self))
            .flatten()
            .ok_or_else(|| ParseFingerprintError(text.to_owned()))
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = ParseFingerprintError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

/// Collects content in its canonical encoding.
#[derive(Debug)]
pub struct Hasher(XxHash64);

impl Hasher {
    pub(crate) fn new() -> Self {
        Self(XxHash64::with_seed(0))
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.0.write(&number.to_le_bytes());
    }

    pub(crate) fn float(&mut self, float: f64) {
        self.number(float.to_bits());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.write(text.as_bytes());
    }

    pub(crate) fn finish(self) -> Fingerprint {
        Fingerprint(self.0.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_written_as_sixteen_digits_and_read_back() {
        let fingerprint = Fingerprint(0xab);
        assert_eq!(fingerprint.to_string(), "00000000000000ab");
        assert_eq!("00000000000000ab".parse(), Ok(fingerprint));
        for wrong in ["", "ab", "00000000000000ag", "+0000000000000ab"] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_hash_is_xxhash64() {
        // Test vector of the reference implementation for empty input and seed 0.
        assert_eq!(Fingerprint::of_bytes(b"").to_string(), "ef46db3751d8e999");
    }
}
