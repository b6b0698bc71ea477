//! What both sides of a DTLS channel offer and accept.

use std::sync::{Arc, LazyLock};

use dimpl::crypto::Buf;
use dimpl::crypto::{CryptoProvider, KeyProvider, SigningKey};
use dimpl::{
    Config, ConfigBuilder, CryptoError, CryptoOperation, DtlsCertificate, HashAlgorithm,
    NamedGroup, SignatureAlgorithm,
};

use super::DatagramChannel;
use super::suite;
use crate::state::HANDSHAKE_TIMEOUT;

static INITIATOR: LazyLock<Arc<Config>> = LazyLock::new(|| {
    build(CryptoProvider {
        key_provider: &NoKeys,
        ..suite::provider()
    })
});
static RESPONDER: LazyLock<Arc<Config>> = LazyLock::new(|| build(suite::provider()));

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

fn build(provider: CryptoProvider) -> Arc<Config> {
    let config: ConfigBuilder = Config::builder()
        .with_crypto_provider(provider)
        .mtu(DatagramChannel::MAX_DATAGRAM)
        .kx_groups(&[NamedGroup::X25519])
        .dtls12_cipher_suites(&[])
        .require_client_certificate(false)
        .use_server_cookie(true)
        .handshake_timeout(std::time::Duration::from_nanos(
            HANDSHAKE_TIMEOUT.as_nanos(),
        ));
    Arc::new(config.build().expect("the configuration is sound"))
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
