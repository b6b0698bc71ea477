//! The primitives that the Noise handshake needs, all from aws-lc-rs.
//!
//! snow brings the protocol; its own primitives would add a second cryptographic library to the
//! one that seals cells and links.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::digest;
use snow::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};
use zeroize::Zeroizing;

use crate::TAG;
use crate::keys::{KEY, public_of};

/// X25519, AES-256-GCM and SHA-256 by aws-lc-rs; nothing else.
pub(crate) struct Primitives;

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(SystemRandom))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        if *choice != DHChoice::Curve25519 {
            return None;
        }
        Some(Box::new(X25519::default()))
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        if *choice != HashChoice::SHA256 {
            return None;
        }
        Some(Box::new(Sha256(digest::Context::new(&digest::SHA256))))
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        if *choice != CipherChoice::AESGCM {
            return None;
        }
        Some(Box::new(Aes256Gcm(None)))
    }
}

struct SystemRandom;

impl Random for SystemRandom {
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        aws_lc_rs::rand::fill(out).map_err(|_| Error::Rng)
    }
}

#[derive(Default)]
struct X25519 {
    secret: Zeroizing<[u8; KEY]>,
    public: [u8; KEY],
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        KEY
    }

    fn priv_len(&self) -> usize {
        KEY
    }

    fn set(&mut self, secret: &[u8]) {
        self.secret.copy_from_slice(secret);
        self.public = public_of(&self.secret);
    }

    fn generate(&mut self, rng: &mut dyn Random) -> Result<(), Error> {
        rng.try_fill_bytes(&mut *self.secret)?;
        self.public = public_of(&self.secret);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &*self.secret
    }

    /// Fails for peers' keys of low order, with which the result would not be secret
    /// (RFC 7748, section 6.1).
    fn dh(&self, peer: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let peer = peer.get(..KEY).ok_or(Error::Dh)?;
        let secret = PrivateKey::from_private_key(&agreement::X25519, &*self.secret)
            .map_err(|_| Error::Dh)?;
        let peer = UnparsedPublicKey::new(&agreement::X25519, peer);
        agreement::agree(&secret, peer, Error::Dh, |shared| {
            out[..KEY].copy_from_slice(shared);
            Ok(())
        })
    }
}

struct Sha256(digest::Context);

impl Hash for Sha256 {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn block_len(&self) -> usize {
        digest::SHA256.block_len()
    }

    fn hash_len(&self) -> usize {
        digest::SHA256_OUTPUT_LEN
    }

    fn reset(&mut self) {
        self.0 = digest::Context::new(&digest::SHA256);
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        let digest = self.0.clone().finish();
        out[..digest::SHA256_OUTPUT_LEN].copy_from_slice(digest.as_ref());
        self.reset();
    }
}

struct Aes256Gcm(Option<LessSafeKey>);

impl Aes256Gcm {
    /// Noise specification, revision 34, section 12.4: 32 bits of zeros, then the counter.
    fn nonce(counter: u64) -> Nonce {
        let mut nonce = [0; aead::NONCE_LEN];
        nonce[4..].copy_from_slice(&counter.to_be_bytes());
        Nonce::assume_unique_for_key(nonce)
    }

    fn key(&self) -> &LessSafeKey {
        self.0.as_ref().expect("snow sets a key before it uses it")
    }
}

impl Cipher for Aes256Gcm {
    fn name(&self) -> &'static str {
        "AESGCM"
    }

    fn set(&mut self, key: &[u8; KEY]) {
        let key = UnboundKey::new(&aead::AES_256_GCM, key).expect("the key has 32 bytes");
        self.0 = Some(LessSafeKey::new(key));
    }

    fn encrypt(&self, counter: u64, aad: &[u8], plain: &[u8], out: &mut [u8]) -> usize {
        let (sealed, tag) = out[..plain.len() + TAG].split_at_mut(plain.len());
        sealed.copy_from_slice(plain);
        let made = self
            .key()
            .seal_in_place_separate_tag(Self::nonce(counter), Aad::from(aad), sealed)
            .expect("handshake messages are short");
        tag.copy_from_slice(made.as_ref());
        plain.len() + TAG
    }

    fn decrypt(
        &self,
        counter: u64,
        aad: &[u8],
        sealed: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let len = sealed.len().checked_sub(TAG).ok_or(Error::Decrypt)?;
        let (sealed, tag) = sealed.split_at(len);
        let plain = out.get_mut(..len).ok_or(Error::Decrypt)?;
        plain.copy_from_slice(sealed);
        self.key()
            .open_in_place_separate_tag(Self::nonce(counter), Aad::from(aad), tag, plain)
            .map_err(|_| Error::Decrypt)?;
        Ok(len)
    }
}

#[cfg(test)]
mod tests;
