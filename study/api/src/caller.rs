//! Who asks for runs.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use hopflow_results::Fingerprint;

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
    pub fn build(&self) -> String {
        Fingerprint::of_bytes(&fs::read(&self.program).unwrap_or_default()).to_string()
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
    fn a_command_can_be_given_to_a_shell_again() {
        let arguments = ["run", "my file.toml", "it's", ""].map(OsString::from);
        let caller = Caller::of_arguments("hopflow", &arguments, "");
        assert_eq!(caller.command(), r"hopflow run 'my file.toml' 'it'\''s' ''");
    }
}
