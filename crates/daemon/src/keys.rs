//! The files of a node's secret keys.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use hopflow_onion::OnionSecret;
use zeroize::Zeroizing;

use crate::directory::AuthorityKey;
use crate::{InputError, hex, read};

/// A folder of files with secret keys, one a file, made where they are missing.
///
/// A file holds what kind of key it is and the key in hexadecimal digits. Only its owner may read
/// it; a file that others may read is refused.
#[derive(Clone, Debug)]
pub struct KeyStore {
    folder: PathBuf,
}

/// A kind of key: the name of its file, and how often it has how many bytes.
struct Kind {
    file: &'static str,
    label: &'static str,
}

const ONION: Kind = Kind {
    file: "onion.key",
    label: "x25519-secret",
};

const AUTHORITY: Kind = Kind {
    file: "authority.key",
    label: "ed25519-seed",
};

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

    /// The key with which circuits are extended to a relay, from `onion.key`.
    ///
    /// # Errors
    /// If the file cannot be read or made, or holds something else.
    pub fn onion(&self) -> Result<OnionSecret, InputError> {
        let key = self.get(&ONION, || OnionSecret::generate().to_bytes())?;
        Ok(OnionSecret::from_bytes(*key))
    }

    /// The key with which an authority signs directories, from `authority.key`.
    ///
    /// # Errors
    /// If the file cannot be read or made, or holds something else.
    pub fn authority(&self) -> Result<AuthorityKey, InputError> {
        let seed = self.get(&AUTHORITY, || AuthorityKey::generate().to_bytes())?;
        Ok(AuthorityKey::from_bytes(*seed))
    }

    /// The key of a file, which is made of what `make` returns if there is none.
    fn get<const N: usize>(
        &self,
        kind: &Kind,
        make: impl FnOnce() -> [u8; N],
    ) -> Result<Zeroizing<[u8; N]>, InputError> {
        let path = self.folder.join(kind.file);
        if !path.exists() {
            let key = Zeroizing::new(hex::encode(&*Zeroizing::new(make())));
            let text = Zeroizing::new(format!("{} {}\n", kind.label, *key));
            create(&path, text.as_bytes())
                .map_err(|cause| failure(&path, "cannot be made", &cause))?;
        }
        kind.read(&path).map_err(|error| error.in_file(&path))
    }
}

impl Kind {
    fn read<const N: usize>(&self, path: &Path) -> Result<Zeroizing<[u8; N]>, InputError> {
        private::check(path)?;
        let text = Zeroizing::new(read::file(path)?);
        let digits = text.trim_end().strip_prefix(self.label);
        digits
            .and_then(|digits| hex::decode(digits.trim_start()).map(Zeroizing::new))
            .and_then(|bytes| bytes.as_slice().try_into().ok())
            .map(Zeroizing::new)
            .ok_or_else(|| {
                let (label, digits) = (self.label, 2 * N);
                InputError::new(format!(
                    "holds no such key: allowed is `{label}` and {digits} hexadecimal digits"
                ))
            })
    }
}

/// Makes a file of `bytes` that appears whole or not at all; one that is there already stays.
fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let written = private::create(&draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let linked = written.and_then(|()| match fs::hard_link(&draft, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    fs::remove_file(&draft)?;
    linked
}

fn failure(path: &Path, what: &str, cause: &io::Error) -> InputError {
    InputError::new(format!("{what}: {cause}")).in_file(path)
}

/// What only the owner may see.
#[cfg(unix)]
mod private {
    use std::fs::DirBuilder;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};

    use super::{File, InputError, OpenOptions, Path, fs, io};

    /// The bits of a file's mode that let others than its owner at it.
    const OTHERS: u32 = 0o077;

    pub(super) fn make_folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    pub(super) fn create(path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    }

    pub(super) fn check(path: &Path) -> Result<(), InputError> {
        let cannot = |cause| InputError::new(format!("cannot be read: {cause}"));
        let mode = fs::metadata(path).map_err(cannot)?.permissions().mode() & 0o777;
        if mode & OTHERS != 0 {
            return Err(InputError::new(format!(
                "has the mode {mode:03o}, which lets others read the key: allowed are 600 and 400"
            )));
        }
        Ok(())
    }
}

/// Systems without the modes of Unix: access is as the folder's.
#[cfg(not(unix))]
mod private {
    use super::{File, InputError, OpenOptions, Path, fs, io};

    pub(super) fn make_folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    pub(super) fn create(path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    pub(super) fn check(_: &Path) -> Result<(), InputError> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
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
        for text in ["", "x25519-secret 00", "ed25519-seed 00", &"0".repeat(64)] {
            create(&path, text.as_bytes()).unwrap();
            let message = store.onion().unwrap_err().to_string();
            assert!(
                message.contains("allowed is `x25519-secret` and 64"),
                "{message}"
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_file_that_is_there_is_never_replaced() {
        let (_folder, store) = store();
        let path = store.folder.join("any.key");
        create(&path, b"first").unwrap();
        create(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }
}
