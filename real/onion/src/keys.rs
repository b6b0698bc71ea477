//! The static keys by which relays are known.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::agreement::{PrivateKey, X25519};
use zeroize::Zeroizing;

/// Bytes of an X25519 key (RFC 7748, section 5).
pub(crate) const KEY: usize = 32;

/// A relay's secret X25519 key; wiped from memory when dropped.
#[derive(Clone)]
pub struct OnionSecret {
    secret: Zeroizing<[u8; KEY]>,
    public: OnionPublic,
}

/// A relay's public X25519 key, as the directory lists it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OnionPublic(pub [u8; KEY]);

/// A text that is not a public key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseKeyError;

impl OnionSecret {
    /// A new key from the operating system's random numbers.
    pub fn generate() -> Self {
        let mut secret = [0; KEY];
        aws_lc_rs::rand::fill(&mut secret).expect("the system has random numbers");
        Self::from_bytes(secret)
    }

    /// The key with these bytes; any 32 bytes are one (RFC 7748, section 5).
    pub fn from_bytes(secret: [u8; KEY]) -> Self {
        let public = public_of(&secret);
        Self {
            secret: Zeroizing::new(secret),
            public: OnionPublic(public),
        }
    }

    /// The key's bytes, to be kept as secret as the key.
    pub fn to_bytes(&self) -> [u8; KEY] {
        *self.secret
    }

    /// The public key that belongs to it.
    pub const fn public(&self) -> OnionPublic {
        self.public
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY] {
        &self.secret
    }
}

/// The public key of the secret key `secret`.
pub(crate) fn public_of(secret: &[u8; KEY]) -> [u8; KEY] {
    let key = PrivateKey::from_private_key(&X25519, secret).expect("any 32 bytes are a key");
    let public = key.compute_public_key().expect("X25519 keys have one");
    public.as_ref().try_into().expect("it has 32 bytes")
}

impl fmt::Debug for OnionSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnionSecret(of {})", self.public)
    }
}

impl fmt::Debug for OnionPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnionPublic({self})")
    }
}

/// 64 hexadecimal digits.
impl fmt::Display for OnionPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Reads 64 hexadecimal digits of either case.
impl FromStr for OnionPublic {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let digits = text.as_bytes();
        if digits.len() != 2 * KEY {
            return Err(ParseKeyError);
        }
        let digit = |byte: u8| (byte as char).to_digit(16).ok_or(ParseKeyError);
        let mut key = [0; KEY];
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Ok(Self(key))
    }
}

impl fmt::Display for ParseKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an onion key is written as {} hexadecimal digits",
            2 * KEY
        )
    }
}

impl std::error::Error for ParseKeyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_being_written_and_read() {
        let secret = OnionSecret::generate();
        assert_eq!(
            OnionSecret::from_bytes(secret.to_bytes()).public(),
            secret.public()
        );
        let public = secret.public();
        assert_eq!(public.to_string().parse(), Ok(public));
        assert_eq!(public.to_string().to_uppercase().parse(), Ok(public));
    }

    #[test]
    fn what_is_not_a_key_is_refused() {
        let long = "0".repeat(66);
        let signed = format!("+{}", "0".repeat(63));
        for text in ["", "00", long.as_str(), signed.as_str(), &"g0".repeat(32)] {
            assert_eq!(text.parse::<OnionPublic>(), Err(ParseKeyError), "{text}");
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        let secret = OnionSecret::from_bytes([7; KEY]);
        assert!(!format!("{secret:?}").contains("0707"));
    }
}
