//! What holds for any input, which tests and fuzz targets share.

use hopflow_daemon::config::{ClientConfig, RelayConfig};
use hopflow_daemon::directory::{AuthorityKey, Directory};
use hopflow_daemon::keys::KeyStore;
use hopflow_daemon::socks::{Request, SocksError, SocksHandshake};
use hopflow_daemon::{Target, UnixTime};

/// What an application that sent `pieces` is answered, and what becomes of it.
fn socks_in<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<u8>, Result<Option<Request>, SocksError>) {
    let (mut handshake, mut answer) = (SocksHandshake::new(), Vec::new());
    let mut outcome = Ok(None);
    for piece in pieces {
        match &mut outcome {
            Ok(None) => outcome = handshake.receive(piece, &mut answer),
            Ok(Some(request)) => request.rest.extend_from_slice(piece),
            Err(_) => break,
        }
    }
    (answer, outcome)
}

/// Bytes of an application mean the same whole and one by one.
pub(crate) fn socks(bytes: &[u8]) {
    let whole = socks_in(std::iter::once(bytes));
    let pieces = socks_in(bytes.chunks(1));
    assert_eq!(whole, pieces);
    if let Ok(Some(request)) = whole.1 {
        target(request.target.to_string().as_bytes());
    }
}

/// A target is written as it is read.
pub(crate) fn target(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(target) = text.parse::<Target>() {
        assert_eq!(target.to_string().parse(), Ok(target));
    }
}

/// A directory is not believed unless it is signed; one that is, is written as it is read.
pub(crate) fn directory(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (authority, now) = (
        AuthorityKey::from_bytes([1; 32]),
        UnixTime::from_secs(1_800_000_000),
    );
    let verify = |text: &str| Directory::verify(text, &authority.id(), now);
    assert!(verify(&text).is_err(), "nobody else has the key");
    if let Ok(directory) = verify(&authority.sign_text(text)) {
        let again = directory.sign(&authority).expect("it makes sense");
        assert_eq!(verify(&again), Ok(directory));
    }
}

/// A configuration is written as it is read.
pub(crate) fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(config) = text.parse::<RelayConfig>() {
        let text = toml::to_string(&config).expect("it has a TOML form");
        assert_eq!(text.parse(), Ok(config));
    }
    if let Ok(config) = text.parse::<ClientConfig>() {
        let text = toml::to_string(&config).expect("it has a TOML form");
        assert_eq!(text.parse(), Ok(config));
    }
}

/// A folder of key files with any content is read or refused, and what is read is kept.
pub(crate) fn keys(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("there is room");
    let cut = bytes
        .len()
        .min(usize::from(bytes.first().copied().unwrap_or(0)) * 4);
    for (file, content) in [
        ("onion.key", &bytes[..cut]),
        ("identity.key", &bytes[cut..]),
        ("authority.key", bytes),
    ] {
        let path = folder.path().join(file);
        let options = &mut std::fs::OpenOptions::new();
        let file = std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
            .write(true)
            .create_new(true)
            .open(path);
        let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, content));
        written.expect("there is room");
    }
    let store = KeyStore::open(folder.path()).expect("the folder is there");
    if let Ok(onion) = store.onion() {
        let again = store.onion().expect("it was read before");
        assert_eq!(onion.public(), again.public());
    }
    if let Ok(identity) = store.identity() {
        let again = store.identity().expect("it was read before");
        assert_eq!(identity.fingerprint(), again.fingerprint());
    }
    if let Ok(authority) = store.authority() {
        let again = store.authority().expect("it was read before");
        assert_eq!(authority.id(), again.id());
    }
}
