//! Which directory of its network a relay used last: an older one, which lists relays that are gone, is
//! refused.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use tracing::warn;

use super::{AuthorityId, Directory};
use crate::{InputError, UnixTime, private, write_whole};

/// The file, beside the relay's keys: network, authority, and the beginning of the directory's validity.
const FILE: &str = "newest-directory";

/// What the file says of this directory's network.
fn read(folder: &Path, used: &str) -> Result<Option<UnixTime>, InputError> {
    let path = folder.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(InputError::new(format!("cannot be read: {error}")).in_file(&path));
        }
    };
    let Some(rest) = text.strip_prefix(used) else {
        // The relay was in another network.
        return Ok(None);
    };
    rest.trim().parse().map(Some).map_err(|_| {
        let problem = "holds no such time: allowed is what the relay wrote, or no file";
        InputError::new(problem.to_owned()).in_file(&path)
    })
}

fn name(directory: &Directory, authority: &AuthorityId) -> String {
    format!("{} {authority} ", directory.network)
}

/// Refuses a directory that is older than the newest that was used with the keys in `folder`; writes
/// nothing.
///
/// # Errors
/// If it is, or the file that says so cannot be read.
pub(crate) fn refuse_older(
    folder: &Path,
    directory: &Directory,
    authority: &AuthorityId,
) -> Result<(), InputError> {
    let newest = read(folder, &name(directory, authority))?;
    let after = directory.valid_after;
    match newest.filter(|newest| after < *newest) {
        None => Ok(()),
        Some(newest) => {
            let problem = format!(
                "{after}: the relay used a newer directory: allowed are those that are valid from {newest} on; \
                 to go back all the same, remove {FILE} from the folder of its keys"
            );
            Err(InputError::at("valid-after", problem))
        }
    }
}

/// Notes that a directory is used, if it is newer than the one before. A folder that cannot be written to is
/// no reason not to run.
pub(crate) fn note(folder: &Path, directory: &Directory, authority: &AuthorityId) {
    let name = name(directory, authority);
    if read(folder, &name).is_ok_and(|newest| newest >= Some(directory.valid_after)) {
        return;
    }
    let text = format!("{name}{}\n", directory.valid_after);
    let path = folder.join(FILE);
    if let Err(error) = write_whole(&path, text.as_bytes(), private::OWNERS) {
        warn!(%error, "the relay cannot note which directory it uses");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::AuthorityKey;
    use crate::testing::network;

    fn valid_from(secs: u64) -> Directory {
        let mut directory = network(1, 1, 1);
        directory.valid_after = UnixTime::from_secs(secs);
        directory
    }

    #[test]
    fn a_directory_that_is_older_than_one_that_was_used_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, authority) = (folder.path(), AuthorityKey::generate().id());
        let refused = |secs| refuse_older(folder, &valid_from(secs), &authority).is_err();
        assert!(!refused(0));
        note(folder, &valid_from(500), &authority);
        note(folder, &valid_from(400), &authority);
        assert!(refused(499) && !refused(500) && !refused(501));
        let error = refuse_older(folder, &valid_from(499), &authority).unwrap_err();
        assert!(error.to_string().contains("valid-after"), "{error}");
        // Another authority's, or another network's, is another matter.
        let other = AuthorityKey::generate().id();
        assert!(refuse_older(folder, &valid_from(1), &other).is_ok());
        let names: Vec<_> = fs::read_dir(folder).unwrap().collect();
        assert_eq!(names.len(), 1, "no draft is left");
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, authority) = (folder.path(), AuthorityKey::generate().id());
        let directory = valid_from(1);
        fs::write(
            folder.join(FILE),
            format!("{}never", name(&directory, &authority)),
        )
        .unwrap();
        let error = refuse_older(folder, &directory, &authority).unwrap_err();
        assert!(error.to_string().contains(FILE), "{error}");
    }
}
