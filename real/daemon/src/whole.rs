//! Files that others see whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::private;

/// How many names of drafts are tried. A process of the same number that was ended as it wrote has left one.
const TRIES: u32 = 1000;

/// Writes a file that others see as it was or as it is, also if the machine stops meanwhile. Where there are modes,
/// it has `mode`, less what the process's mask takes away.
///
/// # Errors
/// If it cannot be written; then the file is as it was.
pub fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let draft = draft_of(path, bytes, mode)?;
    let renamed = fs::rename(&draft, path);
    if renamed.is_err() {
        // What failed before is what matters.
        let _ = fs::remove_file(&draft);
    }
    renamed.and_then(|()| sync_folder_of(path))
}

/// Makes a file that only its owner can read and that appears whole or not at all; one that is there already stays.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn create_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = draft_of(path, bytes, private::OWNERS)?;
    let linked = match fs::hard_link(&draft, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    };
    let removed = fs::remove_file(&draft);
    linked.and(removed).and_then(|()| sync_folder_of(path))
}

/// Lets the name of a file reach the disk, too.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Elsewhere folders cannot be opened.
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Writes a draft of a file, beside it, which reaches the disk. There is none after an error.
fn draft_of(path: &Path, bytes: &[u8], mode: u32) -> io::Result<PathBuf> {
    let (draft, mut file) = new_beside(path, mode)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // What failed before is what matters.
        let _ = fs::remove_file(&draft);
        return Err(error);
    }
    Ok(draft)
}

/// A new file beside `path`, under a name that no other file has: whatever is there stays.
fn new_beside(path: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it has no name"));
    };
    let process = std::process::id();
    let mut taken = io::Error::from(ErrorKind::AlreadyExists);
    for number in 0..TRIES {
        let mut draft = OsString::from(".");
        draft.push(name);
        draft.push(format!(".{process}-{number}.new"));
        let draft = path.with_file_name(draft);
        match private::create(&draft, mode) {
            Ok(file) => return Ok((draft, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn a_file_is_replaced_whole_and_no_draft_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        write_whole(&path, b"first", 0o600).unwrap();
        write_whole(&path, b"second", 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names(folder.path()), ["a.toml"]);
    }

    #[test]
    fn other_files_stay_whatever_their_names_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        let (left, _) = new_beside(&path, 0o600).unwrap();
        let keys = format!("a.new-{}", std::process::id());
        let others = [folder.path().join("a.new"), folder.path().join(keys), left];
        for other in &others {
            fs::write(other, "another's").unwrap();
        }
        write_whole(&path, b"one", 0o600).unwrap();
        fs::remove_file(&path).unwrap();
        create_whole(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        for other in &others {
            assert_eq!(fs::read(other).unwrap(), b"another's", "{other:?}");
        }
        assert_eq!(names(folder.path()).len(), 4, "no draft is left");
    }

    #[test]
    fn the_error_is_of_what_failed_and_no_draft_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no/such/folder");
        for error in [
            create_whole(&missing, b"").unwrap_err(),
            write_whole(&missing, b"", 0o600).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::NotFound);
        }
        // A draft cannot take the place of a folder that has something in it.
        let full = folder.path().join("full");
        fs::create_dir_all(full.join("a")).unwrap();
        assert!(write_whole(&full, b"", 0o600).is_err());
        assert_eq!(names(folder.path()), ["full"]);
        let error = write_whole(Path::new(".."), b"", 0o600).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}
