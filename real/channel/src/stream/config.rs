//! What both sides of a TLS channel offer and accept.

use std::sync::{Arc, LazyLock};

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::{self, cipher_suite, kx_group};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{
    CertificateDer, IpAddr, Ipv4Addr, PrivatePkcs8KeyDer, ServerName, UnixTime,
};
use rustls::server::NoServerSessionStorage;
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, PeerIncompatible, ServerConfig,
    SignatureScheme,
};

use crate::Fingerprint;

static PROVIDER: LazyLock<Arc<CryptoProvider>> = LazyLock::new(|| {
    Arc::new(CryptoProvider {
        cipher_suites: vec![cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![kx_group::X25519],
        ..aws_lc_rs::default_provider()
    })
});

/// Bytes of plaintext in a record at most, as tor fills them (tor 0.4.9, `buffers.c`).
pub(super) const RECORD: usize = 4048;
/// The same as the library counts: with the header.
const FRAGMENT: Option<usize> = Some(RECORD + 5);

/// For a caller of the owner of the certificate `expected`.
pub(super) fn initiator(expected: Fingerprint) -> Arc<ClientConfig> {
    let mut config = ClientConfig::builder_with_details(Arc::clone(&PROVIDER), Arc::new(NoTime))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has a suite of TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned(expected)))
        .with_no_client_auth();
    config.enable_sni = false;
    config.max_fragment_size = FRAGMENT;
    // A resumed session would link a caller's channels.
    config.resumption = Resumption::disabled();
    Arc::new(config)
}

/// The name of the neighbour, which is neither sent nor checked.
pub(super) fn no_name() -> ServerName<'static> {
    ServerName::IpAddress(IpAddr::V4(Ipv4Addr::from([0; 4])))
}

/// For the owner of `certificate` and `key`, both in DER form.
pub(crate) fn responder_config(
    certificate: &[u8],
    key: &[u8],
) -> Result<ServerConfig, rustls::Error> {
    let chain = vec![CertificateDer::from(certificate.to_vec())];
    let key = PrivatePkcs8KeyDer::from(key.to_vec());
    let mut config = ServerConfig::builder_with_details(Arc::clone(&PROVIDER), Arc::new(NoTime))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has a suite of TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(chain, key.into())?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_fragment_size = FRAGMENT;
    Ok(config)
}

/// Certificates are pinned and never expire, so the time does not matter.
#[derive(Debug)]
struct NoTime;

impl TimeProvider for NoTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::ZERO))
    }
}

/// Accepts one certificate.
#[derive(Debug)]
struct Pinned(Fingerprint);

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if Fingerprint::of_certificate(certificate) == self.0 {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &PROVIDER.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}
