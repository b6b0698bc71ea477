//! The scenarios that come with the program.

/// A scenario that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The name by which the command line finds it.
    pub name: &'static str,
    /// Its TOML text.
    pub text: &'static str,
}

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../../scenarios/", $name, ".toml")),
        }),*]
    };
}

/// The scenarios that come with the program, the first of which is run when none is named.
pub const fn scenarios() -> &'static [Builtin] {
    builtin![
        "quickstart",
        "network",
        "single-circuit",
        "start-up",
        "two-neighbours",
        "design-space",
        "rollout",
        "branch",
        "faults",
        "tor"
    ]
}

/// The built-in scenario of this name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    scenarios().iter().find(|scenario| scenario.name == name)
}
