//! Who asks for runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use hopflow_results::Fingerprint;

use crate::failure::Failure;

/// Who asks for runs: what reports name as the command, and the program that makes them.
#[derive(Clone, Debug)]
pub struct Caller {
    command: String,
    program: PathBuf,
}

impl Caller {
    /// Runs that `command` asks for; `program` is the file that holds the simulator's code.
    pub fn new(command: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            program: program.into(),
        }
    }

    /// Runs that the command line `name` with these arguments asks for.
    pub fn of_arguments(name: &str, arguments: &[OsString], program: impl Into<PathBuf>) -> Self {
        let arguments = arguments.iter().map(|it| quoted(&it.to_string_lossy()));
        let words: Vec<_> = std::iter::once(name.to_owned()).chain(arguments).collect();
        Self::new(words.join(" "), program)
    }

    /// The command as a reader may give it again.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The commit that the program was built from: the environment variable `HOPFLOW_COMMIT` of the
    /// build, where it was set.
    pub const fn commit() -> Option<&'static str> {
        option_env!("HOPFLOW_COMMIT")
    }

    /// Identifies the very program, so that results of one that was changed since are made again.
    ///
    /// Its file is read once: what takes the file's place later is not the program that runs.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn build(&self) -> Result<String, Failure> {
        static BUILDS: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
        let mut builds = BUILDS.lock().expect("no thread panics with the lock");
        if let Some(build) = builds.get(&self.program) {
            return Ok(build.clone());
        }
        let bytes = fs::read(&self.program).map_err(|error| {
            Failure::defect(format_args!(
                "cannot read the program's own file \"{}\", by which its results are recognised: \
                 {error}",
                self.program.display()
            ))
        })?;
        let build = Fingerprint::of_bytes(&bytes).to_string();
        builds.insert(self.program.clone(), build.clone());
        Ok(build)
    }
}

/// An argument as a shell takes it.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+%@".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_one_that_was_there_first() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let build = || Caller::new("", &program).build();
        let message = build().unwrap_err().message().to_owned();
        let named = program.display().to_string();
        assert!(message.contains(&named), "{message}");
        fs::write(&program, "old").unwrap();
        let old = build().unwrap();
        fs::write(&program, "new").unwrap();
        assert_eq!(build().unwrap(), old);
        let other = folder.path().join("other");
        fs::write(&other, "new").unwrap();
        assert_ne!(Caller::new("", other).build().unwrap(), old);
    }

    #[test]
    fn a_command_can_be_given_to_a_shell_again() {
        let arguments = ["run", "my file.toml", "it's", ""].map(OsString::from);
        let caller = Caller::of_arguments("hopflow", &arguments, "");
        assert_eq!(caller.command(), r"hopflow run 'my file.toml' 'it'\''s' ''");
    }
}
