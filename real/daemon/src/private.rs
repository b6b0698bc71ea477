//! Files and folders that only their owner may see.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use crate::InputError;

pub(crate) use system::{check, create, make_folder};

/// The mode of a file that only its owner reads and writes.
pub(crate) const OWNERS: u32 = 0o600;

#[cfg(unix)]
mod system {
    use std::fs::DirBuilder;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};

    use super::{File, InputError, OpenOptions, Path, fs, io};

    /// The bits of a file's mode that let others than its owner at it.
    const OTHERS: u32 = 0o077;

    pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    pub(crate) fn create(path: &Path, mode: u32) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)
    }

    pub(crate) fn check(path: &Path) -> Result<(), InputError> {
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
mod system {
    use super::{File, InputError, OpenOptions, Path, fs, io};

    pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    pub(crate) fn create(path: &Path, _: u32) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    pub(crate) fn check(_: &Path) -> Result<(), InputError> {
        Ok(())
    }
}
