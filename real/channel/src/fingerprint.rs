//! What a neighbour is recognised by.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest;

/// The SHA-256 hash of a certificate in DER form.
///
/// Written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

/// Why a text is no [`Fingerprint`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FingerprintError {
    text: String,
}

impl Fingerprint {
    /// The fingerprint whose bytes are `bytes`.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash's bytes.
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The fingerprint of the certificate `der`.
    pub fn of_certificate(der: &[u8]) -> Self {
        let hash = digest::digest(&digest::SHA256, der);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(hash.as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map(Self).ok_or_else(|| FingerprintError {
            text: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return None;
    }
    for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = (digit(high)? << 4) | digit(low)?;
    }
    Some(bytes)
}

fn digit(letter: u8) -> Option<u8> {
    char::from(letter).to_digit(16).map(|value| value as u8)
}

impl fmt::Display for FingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no fingerprint: 64 hexadecimal digits are wanted",
            self.text
        )
    }
}

impl std::error::Error for FingerprintError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_back_from_its_text() {
        let print = Fingerprint::of_certificate(b"certificate");
        assert_eq!(print.to_string().parse(), Ok(print));
        assert_eq!(print.to_string().to_uppercase().parse(), Ok(print));
    }

    #[test]
    fn the_fingerprint_is_the_sha_256_hash() {
        let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(
            Fingerprint::of_certificate(b"abc").to_string(),
            of_abc,
            "FIPS 180-4, example of the one-block message"
        );
    }

    #[test]
    fn other_texts_are_refused_by_name() {
        let long = "0".repeat(66);
        let odd = "0".repeat(63);
        let sign = format!("+{}", "0".repeat(63));
        for text in ["", "12", "zz", &long, &odd, &sign] {
            let error = text.parse::<Fingerprint>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        }
    }
}
