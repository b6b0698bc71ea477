//! The files of a node's secret keys.

use std::io;
use std::path::{Path, PathBuf};

use hopflow_channel::Identity;
use hopflow_onion::OnionSecret;
use zeroize::Zeroizing;

use crate::directory::AuthorityKey;
use crate::whole::create_whole;
use crate::{InputError, hex, private, read};

/// A folder of files with secret keys, which are made where they are missing.
///
/// A line of a file holds what kind of key it is and the key in hexadecimal digits. Only its owner
/// may read a file; one that others may read is refused.
#[derive(Clone, Debug)]
pub struct KeyStore {
    folder: PathBuf,
}

/// A kind of file: its name, and what its lines hold.
struct Kind<const LINES: usize> {
    file: &'static str,
    labels: [&'static str; LINES],
}

const ONION: Kind<1> = Kind {
    file: "onion.key",
    labels: ["x25519-secret"],
};

const AUTHORITY: Kind<1> = Kind {
    file: "authority.key",
    labels: ["ed25519-seed"],
};

const IDENTITY: Kind<2> = Kind {
    file: "identity.key",
    labels: ["certificate", "pkcs8-key"],
};

/// Secret bytes, wiped from memory when dropped.
type Secret = Zeroizing<Vec<u8>>;

impl KeyStore {
    /// The store in `folder`, which is made if it is missing.
    ///
    /// # Errors
    /// If it can be neither found nor made.
    pub fn open(folder: &Path) -> Result<Self, InputError> {
        private::make_folder(folder).map_err(|cause| failure(folder, "cannot be made", &cause))?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Whether `folder` has the keys of a relay; nothing is made.
    ///
    /// # Errors
    /// If it has one of the two files only: a directory lists both keys, so that another one in the place of the
    /// missing one would keep all clients away.
    pub fn has_relay(folder: &Path) -> Result<bool, InputError> {
        let [onion, identity] = [ONION.file, IDENTITY.file].map(|file| folder.join(file).exists());
        let (missing, there) = match (onion, identity) {
            (true, false) => (IDENTITY.file, ONION.file),
            (false, true) => (ONION.file, IDENTITY.file),
            (both, _) => return Ok(both),
        };
        let problem = format!(
            "has {there}, but not {missing}: allowed are both files, or neither, for a relay with new keys"
        );
        Err(InputError::new(problem).in_file(folder))
    }

    /// Whether `folder` has the key of an authority already.
    pub fn has_authority(folder: &Path) -> bool {
        folder.join(AUTHORITY.file).exists()
    }

    /// The key with which circuits are extended to a relay, from `onion.key`.
    ///
    /// # Errors
    /// If the file cannot be read or made, or holds something else.
    pub fn onion(&self) -> Result<OnionSecret, InputError> {
        let make = || [OnionSecret::generate().to_bytes().to_vec()];
        let [key] = self.get(&ONION, make)?;
        self.understood(&ONION, to_array(&key).map(OnionSecret::from_bytes))
    }

    /// The certificate and key of a relay's links, from `identity.key`.
    ///
    /// # Errors
    /// If the file cannot be read or made, or holds something else.
    pub fn identity(&self) -> Result<Identity, InputError> {
        let make = || {
            let made = Identity::generate();
            [made.certificate_der().to_vec(), made.key_der().to_vec()]
        };
        let [certificate, key] = self.get(&IDENTITY, make)?;
        let identity = Identity::from_der(&certificate, &key);
        self.understood(&IDENTITY, identity.map_err(|error| error.to_string()))
    }

    /// The key with which an authority signs directories, from `authority.key`.
    ///
    /// # Errors
    /// If the file cannot be read or made, or holds something else.
    pub fn authority(&self) -> Result<AuthorityKey, InputError> {
        let make = || [AuthorityKey::generate().to_bytes().to_vec()];
        let [seed] = self.get(&AUTHORITY, make)?;
        self.understood(&AUTHORITY, to_array(&seed).map(AuthorityKey::from_bytes))
    }

    /// What the lines of a file hold, which is made of what `make` returns if it is missing.
    fn get<const LINES: usize>(
        &self,
        kind: &Kind<LINES>,
        make: impl FnOnce() -> [Vec<u8>; LINES],
    ) -> Result<[Secret; LINES], InputError> {
        let path = self.folder.join(kind.file);
        if !path.exists() {
            let text = kind.write(&make().map(Zeroizing::new));
            create_whole(&path, text.as_bytes())
                .map_err(|cause| failure(&path, "cannot be made", &cause))?;
        }
        private::check(&path).map_err(|error| error.in_file(&path))?;
        let text = Zeroizing::new(read::file(&path)?);
        self.understood(kind, kind.read(&text))
    }

    fn understood<T, const LINES: usize>(
        &self,
        kind: &Kind<LINES>,
        outcome: Result<T, String>,
    ) -> Result<T, InputError> {
        outcome.map_err(|problem| {
            let path = self.folder.join(kind.file);
            InputError::new(format!("holds no such key: {problem}")).in_file(&path)
        })
    }
}

impl<const LINES: usize> Kind<LINES> {
    fn write(&self, secrets: &[Secret; LINES]) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::new());
        for (label, secret) in self.labels.iter().zip(secrets) {
            let digits = Zeroizing::new(hex::encode(secret));
            text.extend([label, " ", &digits, "\n"]);
        }
        text
    }

    fn read(&self, text: &str) -> Result<[Secret; LINES], String> {
        let mut lines = text.lines();
        let mut secrets = [(); LINES].map(|()| Secret::default());
        for (label, secret) in self.labels.iter().zip(&mut secrets) {
            let rest = lines.next().and_then(|line| line.strip_prefix(label));
            let digits = rest.and_then(|rest| rest.strip_prefix(' '));
            let bytes = digits.and_then(|digits| hex::decode(digits.trim_end()));
            *secret = bytes.map(Zeroizing::new).ok_or_else(|| {
                format!("allowed is a line of `{label}` and an even number of hexadecimal digits")
            })?;
        }
        Ok(secrets)
    }
}

/// A key of `N` bytes.
fn to_array<const N: usize>(secret: &Secret) -> Result<[u8; N], String> {
    let (found, digits) = (2 * secret.len(), 2 * N);
    secret
        .as_slice()
        .try_into()
        .map_err(|_| format!("{found} digits: allowed are {digits} hexadecimal digits"))
}

fn failure(path: &Path, what: &str, cause: &io::Error) -> InputError {
    InputError::new(format!("{what}: {cause}")).in_file(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn store() -> (tempfile::TempDir, KeyStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = KeyStore::open(&folder.path().join("a/keys")).unwrap();
        (folder, store)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_key_is_made_once_and_kept() {
        let (_folder, store) = store();
        let (onion, authority) = (store.onion().unwrap(), store.authority().unwrap());
        assert_eq!(store.onion().unwrap().to_bytes(), onion.to_bytes());
        assert_eq!(store.authority().unwrap().id(), authority.id());
        let again = KeyStore::open(&store.folder).unwrap();
        assert_eq!(again.onion().unwrap().to_bytes(), onion.to_bytes());
    }

    #[test]
    fn only_the_owner_may_read_folder_and_files() {
        let (_folder, store) = store();
        store.onion().unwrap();
        assert_eq!(mode(&store.folder), 0o700);
        assert_eq!(mode(&store.folder.join("onion.key")), 0o600);
        assert_eq!(
            fs::read_dir(&store.folder).unwrap().count(),
            1,
            "no drafts are left"
        );
    }

    #[test]
    fn a_relay_has_both_keys_or_neither() {
        let (_folder, store) = store();
        let has = || KeyStore::has_relay(&store.folder).map_err(|error| error.to_string());
        assert_eq!(has(), Ok(false));
        store.identity().unwrap();
        let refused = has().unwrap_err();
        assert!(
            refused.contains("has identity.key, but not onion.key"),
            "{refused}"
        );
        store.onion().unwrap();
        assert_eq!(has(), Ok(true));
        fs::remove_file(store.folder.join("identity.key")).unwrap();
        let refused = has().unwrap_err();
        assert!(
            refused.contains("has onion.key, but not identity.key"),
            "{refused}"
        );
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let (_folder, store) = store();
        store.onion().unwrap();
        let path = store.folder.join("onion.key");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let message = store.onion().unwrap_err().to_string();
        assert!(message.contains("onion.key: has the mode 640"), "{message}");
    }

    #[test]
    fn a_file_of_something_else_is_refused_and_kept() {
        let (_folder, store) = store();
        let path = store.folder.join("onion.key");
        for (text, message) in [
            ("", "allowed is a line of `x25519-secret`"),
            ("x25519-secret 00", "2 digits: allowed are 64"),
            ("x25519-secret 0g", "allowed is a line of `x25519-secret`"),
            ("ed25519-seed 00", "allowed is a line of `x25519-secret`"),
            ("00", "allowed is a line of `x25519-secret`"),
        ] {
            create_whole(&path, text.as_bytes()).unwrap();
            let found = store.onion().unwrap_err().to_string();
            assert!(found.contains(message), "{found}");
            assert!(found.starts_with(path.to_str().unwrap()), "{found}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn an_identity_is_made_once_and_its_halves_belong_together() {
        let (folder, store) = store();
        let made = store.identity().unwrap();
        assert_eq!(store.identity().unwrap().fingerprint(), made.fingerprint());
        let other = KeyStore::open(&folder.path().join("other")).unwrap();
        assert_ne!(other.identity().unwrap().fingerprint(), made.fingerprint());
        let path = store.folder.join("identity.key");
        let lines = [&store, &other]
            .map(|store| fs::read_to_string(store.folder.join("identity.key")).unwrap());
        let certificate = lines[0].lines().next().unwrap();
        let key = lines[1].lines().nth(1).unwrap();
        fs::write(&path, format!("{certificate}\n{key}\n")).unwrap();
        let found = store.identity().unwrap_err().to_string();
        assert!(
            found.contains("identity.key: holds no such key: the certificate"),
            "{found}"
        );
    }

    #[test]
    fn a_file_that_is_there_is_never_replaced() {
        let (_folder, store) = store();
        let path = store.folder.join("any.key");
        create_whole(&path, b"first").unwrap();
        create_whole(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }
}
