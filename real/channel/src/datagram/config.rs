//! What both sides of a DTLS channel offer and accept.

use std::sync::{Arc, LazyLock};

use dimpl::crypto::Buf;
use dimpl::crypto::{CryptoProvider, KeyProvider, SigningKey};
use dimpl::{
    Config, CryptoError, CryptoOperation, DtlsCertificate, HashAlgorithm, NamedGroup,
    SignatureAlgorithm,
};

use super::greeting::HEAD;
use super::records::{MAX_PLAINTEXT, OVERHEAD};
use super::suite;
use crate::state::HANDSHAKE_TIMEOUT;

/// After how many records at the latest a called end renews its keys: AES-GCM would allow 2^24.5
/// (RFC 9147, section 4.5.3).
const RECORDS_PER_KEY: u64 = 1 << 24;

/// How many times sooner a caller does. The renewal of one end makes the other end renew, too, and
/// starts its count again. The library loses its way if both begin within a round trip, several
/// times in a row; with this factor they hardly ever do.
const CALLER_SOONER: u64 = 16;

/// Datagrams that the library of a called end keeps at most which it cannot make use of yet: one that overtook
/// the end of the handshake, and that end.
const KEPT_BY_CALLED: usize = 2;

/// The same of a caller: the called's flight is one datagram, whose messages the library keeps each by itself
/// once it can open them. Four follow the first, five if a certificate is asked for.
const KEPT_BY_CALLER: usize = 5;

static INITIATOR: LazyLock<Arc<Config>> =
    LazyLock::new(|| build(&NoKeys, RECORDS_PER_KEY / CALLER_SOONER, KEPT_BY_CALLER));
static RESPONDER: LazyLock<Arc<Config>> = LazyLock::new(|| {
    build(
        suite::provider().key_provider,
        RECORDS_PER_KEY,
        KEPT_BY_CALLED,
    )
});

/// For callers, together with the certificate of nobody.
pub(super) fn initiator() -> (Arc<Config>, DtlsCertificate) {
    let nobody = DtlsCertificate {
        certificate: Vec::new(),
        private_key: Vec::new(),
    };
    (Arc::clone(&INITIATOR), nobody)
}

/// For those who are called.
pub(super) fn responder() -> Arc<Config> {
    Arc::clone(&RESPONDER)
}

fn build(key_provider: &'static dyn KeyProvider, records_per_key: u64, kept: usize) -> Arc<Config> {
    let provider = CryptoProvider {
        key_provider,
        ..suite::provider()
    };
    let config = Config::builder()
        .with_crypto_provider(provider)
        .mtu(MAX_PLAINTEXT + OVERHEAD - HEAD)
        .kx_groups(&[NamedGroup::X25519])
        .dtls12_cipher_suites(&[])
        .require_client_certificate(false)
        // The cookie exchange stands before the handshake.
        .use_server_cookie(false)
        .max_queue_rx(kept)
        .aead_encryption_limit(records_per_key)
        .handshake_timeout(std::time::Duration::from_nanos(
            HANDSHAKE_TIMEOUT.as_nanos(),
        ))
        .build();
    Arc::new(config.expect("the configuration is sound"))
}

/// For callers and called with the usual proportion, whose keys last for few records.
#[cfg(test)]
pub(super) fn short_lived() -> [Arc<Config>; 2] {
    const FEW: u64 = 200;
    let keys = suite::provider().key_provider;
    [
        build(&NoKeys, FEW, KEPT_BY_CALLER),
        build(keys, FEW * CALLER_SOONER, KEPT_BY_CALLED),
    ]
}

/// Keys of an initiator: it has none.
///
/// A neighbour that asks for a certificate gets an empty one (RFC 8446, section 4.4.2).
#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: &[u8]) -> Result<Box<dyn SigningKey>, CryptoError> {
        Ok(Box::new(Self))
    }
}

impl SigningKey for NoKeys {
    fn sign(&mut self, _: &[u8], _: HashAlgorithm, _: &mut Buf) -> Result<(), CryptoError> {
        Err(CryptoError::OperationFailed(CryptoOperation::Sign))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }

    fn supported_hash_algorithms(&self) -> &[HashAlgorithm] {
        &[HashAlgorithm::SHA256]
    }
}
