//! A relay's certificate and key.

use std::fmt;
use std::sync::Arc;

use dimpl::DtlsCertificate;
use dimpl::crypto::aws_lc_rs::default_provider;
use rcgen::{CertificateParams, DistinguishedName, KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::ServerConfig;

use crate::Fingerprint;
use crate::stream::responder_config;

/// Who a relay is on its links: a self-signed certificate and its P-256 key.
///
/// Cheap to clone. The same identity serves datagrams and streams.
#[derive(Clone)]
pub struct Identity(Arc<Inner>);

struct Inner {
    fingerprint: Fingerprint,
    pair: DtlsCertificate,
    tls: Arc<ServerConfig>,
}

/// Why a certificate and a key make no [`Identity`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentityError {
    /// The key is no P-256 key in PKCS #8 form.
    Key(String),
    /// The certificate cannot be read, or is not that of the key.
    Certificate(String),
}

impl Identity {
    /// A new identity from the system's randomness.
    pub fn generate() -> Self {
        let key =
            KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("the system has randomness");
        let mut params = CertificateParams::default();
        // No name: the fingerprint is the identity, and a name would only mark the traffic.
        params.distinguished_name = DistinguishedName::new();
        let certificate = params.self_signed(&key).expect("the parameters are sound");
        Self::from_der(certificate.der(), key.serialized_der()).expect("the pair was just made")
    }

    /// The identity of a certificate (X.509) and its key (PKCS #8), both in DER form.
    ///
    /// # Errors
    ///
    /// If one of the two cannot be used, or they do not belong together.
    pub fn from_der(certificate: &[u8], key: &[u8]) -> Result<Self, IdentityError> {
        default_provider()
            .key_provider
            .load_private_key(key)
            .map_err(|error| IdentityError::Key(error.to_string()))?;
        let tls = responder_config(certificate, key)
            .map_err(|error| IdentityError::Certificate(error.to_string()))?;
        Ok(Self(Arc::new(Inner {
            fingerprint: Fingerprint::of_certificate(certificate),
            pair: DtlsCertificate {
                certificate: certificate.to_vec(),
                private_key: key.to_vec(),
            },
            tls: Arc::new(tls),
        })))
    }

    /// What callers know this identity by.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.fingerprint
    }

    /// The certificate in DER form.
    pub fn certificate_der(&self) -> &[u8] {
        &self.0.pair.certificate
    }

    /// The secret key as PKCS #8 in DER form.
    pub fn key_der(&self) -> &[u8] {
        &self.0.pair.private_key
    }

    pub(crate) fn dtls(&self) -> DtlsCertificate {
        self.0.pair.clone()
    }

    pub(crate) fn tls(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.tls)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity")
            .field(&self.fingerprint())
            .finish()
    }
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(why) => write!(f, "the key is no P-256 key in PKCS #8 DER form: {why}"),
            Self::Certificate(why) => {
                write!(f, "the certificate does not go with the key: {why}")
            }
        }
    }
}

impl std::error::Error for IdentityError {}
