//! The key that signs directories.

use std::fmt;

use aws_lc_rs::rand;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use zeroize::Zeroizing;

use crate::Hex;

/// What is signed begins with this, so that a signature means nothing elsewhere.
const CONTEXT: &[u8] = b"hopflow directory, version 1\n";

/// The public key of a directory authority (Ed25519, RFC 8032).
pub type AuthorityId = Hex<32>;

/// The secret key of a directory authority (Ed25519, RFC 8032).
pub struct AuthorityKey {
    seed: Zeroizing<[u8; 32]>,
    pair: Ed25519KeyPair,
}

impl AuthorityKey {
    /// A new key of the operating system's random numbers.
    pub fn generate() -> Self {
        let mut seed = [0; 32];
        rand::fill(&mut seed).expect("the system has random numbers");
        Self::from_bytes(seed)
    }

    /// The key of this seed.
    pub fn from_bytes(seed: [u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("32 bytes are a seed");
        Self {
            seed: Zeroizing::new(seed),
            pair,
        }
    }

    /// The seed, to be kept secret.
    pub fn to_bytes(&self) -> [u8; 32] {
        *self.seed
    }

    /// The public key, by which nodes know the authority.
    pub fn id(&self) -> AuthorityId {
        let public = self.pair.public_key().as_ref();
        Hex(public.try_into().expect("a public key has 32 bytes"))
    }

    pub(super) fn sign(&self, text: &str) -> Hex<64> {
        let signature = self.pair.sign(&message(text));
        Hex(signature
            .as_ref()
            .try_into()
            .expect("a signature has 64 bytes"))
    }
}

impl fmt::Debug for AuthorityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuthorityKey(of {})", self.id())
    }
}

/// Whether `authority` made `signature` for `text`.
pub(super) fn is_signed(text: &str, signature: &Hex<64>, authority: &AuthorityId) -> bool {
    let key = UnparsedPublicKey::new(&ED25519, &authority.0);
    key.verify(&message(text), &signature.0).is_ok()
}

fn message(text: &str) -> Vec<u8> {
    [CONTEXT, text.as_bytes()].concat()
}
