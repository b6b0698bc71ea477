//! Files that others see whole or not at all.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::private;

/// Writes a file that others see as it was or as it is, also if the machine stops meanwhile. Where there are modes,
/// it has `mode`, less what the process's mask takes away.
///
/// # Errors
/// If it cannot be written; then the file is as it was.
pub fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let draft = path.with_extension("new");
    let written = write(&draft, bytes, mode).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // What failed before is what matters.
        let _ = fs::remove_file(&draft);
    }
    written.and_then(|()| sync_folder_of(path))
}

/// Makes a file that only its owner can read and that appears whole or not at all; one that is there already stays.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn create_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Several processes may make it at once.
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let linked =
        write(&draft, bytes, private::OWNERS).and_then(|()| match fs::hard_link(&draft, path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        });
    let removed = fs::remove_file(&draft);
    linked.and(removed).and_then(|()| sync_folder_of(path))
}

/// Lets the name of a file reach the disk, too.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Elsewhere folders cannot be opened.
    if cfg!(unix) {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn write(draft: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    // What a process left that was ended.
    let _ = fs::remove_file(draft);
    let mut file = private::create(draft, mode)?;
    file.write_all(bytes)?;
    file.sync_all()
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
        fs::write(
            path.with_extension("new"),
            "what a process left that was ended",
        )
        .unwrap();
        write_whole(&path, b"first", 0o600).unwrap();
        write_whole(&path, b"second", 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names(folder.path()), ["a.toml"]);
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
    }
}
