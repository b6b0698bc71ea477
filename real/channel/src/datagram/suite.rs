//! The one cipher suite, with cheaper record numbers.
//!
//! DTLS 1.3 masks each record's number with one block of AES (RFC 9147, section 4.2.3). The library
//! makes a cipher context on the heap for that block, which costs more than sealing 1,000 bytes
//! does; a key schedule on the stack costs a tenth, and a thread keeps the last one, for records mostly
//! come and go in bursts. Everything else is the library's own.

use std::cell::RefCell;
use std::sync::LazyLock;

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use dimpl::crypto::aws_lc_rs::default_provider;
use dimpl::crypto::{Cipher, CryptoProvider, Dtls13CipherSuite, SupportedDtls13CipherSuite};
use dimpl::{CryptoError, HashAlgorithm};

const SUITE: Dtls13CipherSuite = Dtls13CipherSuite::AES_128_GCM_SHA256;

/// `TLS_AES_128_GCM_SHA256`.
#[derive(Debug)]
struct Aes128Gcm;

thread_local! {
    /// The key that masked a number last, and its schedule.
    static LAST: RefCell<Option<([u8; 16], Aes128Enc)>> = const { RefCell::new(None) };
}

static BASE: LazyLock<&'static dyn SupportedDtls13CipherSuite> = LazyLock::new(|| {
    *default_provider()
        .dtls13_cipher_suites
        .iter()
        .find(|suite| suite.suite() == SUITE)
        .expect("every implementation has this suite (RFC 8446, section 9.1)")
});

impl SupportedDtls13CipherSuite for Aes128Gcm {
    fn suite(&self) -> Dtls13CipherSuite {
        SUITE
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        BASE.hash_algorithm()
    }

    fn key_len(&self) -> usize {
        BASE.key_len()
    }

    fn iv_len(&self) -> usize {
        BASE.iv_len()
    }

    fn tag_len(&self) -> usize {
        BASE.tag_len()
    }

    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        BASE.create_cipher(key)
    }

    fn encrypt_sn(&self, sn_key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        LAST.with_borrow_mut(|last| {
            if last.as_ref().is_none_or(|(key, _)| key != sn_key) {
                *last = None;
            }
            let (_, cipher) = last.get_or_insert_with(|| {
                let key: [u8; 16] = sn_key.try_into().expect("the key has key_len bytes");
                (key, Aes128Enc::new(&key.into()))
            });
            let mut block = (*sample).into();
            cipher.encrypt_block(&mut block);
            block.into()
        })
    }
}

/// The library's cryptography with the suite above alone.
pub(super) fn provider() -> CryptoProvider {
    CryptoProvider {
        dtls13_cipher_suites: &[&Aes128Gcm],
        ..default_provider()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_numbers_are_masked_as_by_the_library() {
        for seed in 0..=255u8 {
            let (key, sample) = ([seed; 16], [seed.wrapping_mul(7); 16]);
            for key in [key, key, [!seed; 16]] {
                assert_eq!(
                    Aes128Gcm.encrypt_sn(&key, &sample),
                    BASE.encrypt_sn(&key, &sample)
                );
            }
        }
    }
}
