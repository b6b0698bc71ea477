//! Which directory of each network a relay used last: an older one, which lists relays that are gone, is
//! refused.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use tracing::warn;

use super::{AuthorityId, Directory};
use crate::{InputError, UnixTime, private, write_whole};

/// The file, beside the relay's keys. A line for each network and authority: network, authority, and the beginning
/// of the directory's validity. The last line is the one that was written last.
const FILE: &str = "newest-directory";
/// Lines of the file at most; beyond that the first one goes.
const MOST: usize = 64;

/// The text of the file; empty if there is none.
fn read(folder: &Path) -> Result<String, InputError> {
    let path = folder.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(InputError::new(format!("cannot be read: {error}")).in_file(&path)),
    }
}

/// What the text of the file says of the network whose lines begin with `name`.
fn newest_of(text: &str, name: &str, folder: &Path) -> Result<Option<UnixTime>, InputError> {
    let lines = text.lines().enumerate();
    let of_name = lines.filter_map(|(index, line)| Some((index, line.strip_prefix(name)?)));
    let mut times = of_name.map(|(index, time)| {
        time.trim().parse::<UnixTime>().map_err(|_| {
            let problem = format!(
                "line {}: \"{time}\" is no such time: allowed is what the relay wrote, or no line of this network",
                index + 1
            );
            InputError::new(problem).in_file(&folder.join(FILE))
        })
    });
    times.try_fold(None, |newest: Option<UnixTime>, time| {
        Ok(newest.max(Some(time?)))
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
    let newest = newest_of(&read(folder)?, &name(directory, authority), folder)?;
    let after = directory.valid_after;
    match newest.filter(|newest| after < *newest) {
        None => Ok(()),
        Some(newest) => {
            let problem = format!(
                "{after}: the relay used a newer directory: allowed are those that are valid from {newest} on; \
                 to go back all the same, remove the line of this network from {FILE} in the folder of its keys"
            );
            Err(InputError::at("valid-after", problem))
        }
    }
}

/// Notes that a directory is used, if it is newer than the one before of its network. A folder that cannot be read
/// or written to is no reason not to run.
pub(crate) fn note(folder: &Path, directory: &Directory, authority: &AuthorityId) {
    let name = name(directory, authority);
    let noted = read(folder)
        .and_then(|text| Ok((newest_of(&text, &name, folder)?, text)))
        .map_err(|error| error.to_string());
    let written = noted.and_then(|(newest, text)| {
        if newest >= Some(directory.valid_after) {
            return Ok(());
        }
        let text = with_line(&text, &name, directory.valid_after);
        let written = write_whole(&folder.join(FILE), text.as_bytes(), private::OWNERS);
        written.map_err(|error| error.to_string())
    });
    if let Err(error) = written {
        warn!(%error, "the relay cannot note which directory it uses");
    }
}

/// The text of the file with this line about a network in place of the one before.
fn with_line(text: &str, name: &str, after: UnixTime) -> String {
    let others = text.lines().filter(|line| !line.starts_with(name));
    let mut lines: Vec<String> = others.map(str::to_owned).collect();
    lines.push(format!("{name}{after}"));
    let last = lines.split_off(lines.len().saturating_sub(MOST));
    last.join("\n") + "\n"
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
    fn another_network_of_the_same_authority_has_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, authority) = (folder.path(), AuthorityKey::generate().id());
        let of = |network: &str, secs| Directory {
            network: network.to_owned(),
            ..valid_from(secs)
        };
        note(folder, &of("n", 500), &authority);
        note(folder, &of("other", 900), &authority);
        assert!(refuse_older(folder, &of("n", 499), &authority).is_err());
        note(folder, &of("n", 600), &authority);
        assert!(refuse_older(folder, &of("n", 599), &authority).is_err());
        assert!(refuse_older(folder, &of("other", 899), &authority).is_err());
        let lines = || {
            fs::read_to_string(folder.join(FILE))
                .unwrap()
                .lines()
                .count()
        };
        assert_eq!(lines(), 2);
        for index in 0..2 * MOST {
            note(folder, &of(&format!("n-{index}"), 1), &authority);
        }
        assert_eq!(lines(), MOST);
        let last = format!("n-{}", 2 * MOST - 1);
        assert!(refuse_older(folder, &of(&last, 0), &authority).is_err());
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
        assert!(error.to_string().contains("\"never\""), "{error}");
        // Where a line is of another network, that does not matter.
        let other = AuthorityKey::generate().id();
        assert!(refuse_older(folder, &directory, &other).is_ok());
        note(folder, &directory, &other);
        let before = valid_from(0);
        assert!(refuse_older(folder, &before, &other).is_err());
        assert!(refuse_older(folder, &directory, &authority).is_err());
    }
}
