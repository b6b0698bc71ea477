//! Tests that need more of a machine than every one has.

/// What the environment may ask for in `HOPFLOW_REQUIRE`, names with commas between them: Linux's TCP over an
/// emulated path, hosts in network namespaces with TUN devices, pages in browsers (the `Makefile` looks for it),
/// and a campaign on SLURM (`python/tests/campaign/test_slurm.py` does).
const NAMES: [&str; 4] = ["linux-tcp", "netns", "browser", "slurm"];

/// What to say where something cannot be tested: an error if `required` asks for it.
fn cannot(required: &str, name: &str, reason: &str) -> Result<String, String> {
    let mut names = required.split(',').map(str::trim);
    if let Some(unknown) = names.find(|name| !name.is_empty() && !NAMES.contains(name)) {
        let names = NAMES.join(", ");
        return Err(format!(
            "HOPFLOW_REQUIRE: there is no \"{unknown}\"; allowed: {names}, or nothing"
        ));
    }
    if required.split(',').any(|asked| asked.trim() == name) {
        return Err(format!(
            "this machine cannot test {name}: {reason}. HOPFLOW_REQUIRE asks for it; with \
             `HOPFLOW_REQUIRE= .ci/run` it is left out"
        ));
    }
    Ok(format!("skipped: {reason}"))
}

/// Says that a test of something cannot be made on this machine.
///
/// # Panics
/// If `HOPFLOW_REQUIRE` in the environment asks for it.
pub fn skip(name: &str, reason: &str) {
    let required = std::env::var("HOPFLOW_REQUIRE").unwrap_or_default();
    match cannot(&required, name, reason) {
        Ok(said) => println!("{said}"),
        Err(problem) => panic!("{problem}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_is_not_skipped() {
        let skipped = Ok("skipped: not root".to_owned());
        assert_eq!(cannot("", "linux-tcp", "not root"), skipped);
        assert_eq!(cannot("netns", "linux-tcp", "not root"), skipped);
        let problem = cannot("netns, linux-tcp", "linux-tcp", "not root").unwrap_err();
        assert!(
            problem.contains("linux-tcp: not root. HOPFLOW_REQUIRE"),
            "{problem}"
        );
        let problem = cannot("linux", "linux-tcp", "not root").unwrap_err();
        assert!(
            problem.contains("no \"linux\"; allowed: linux-tcp, netns, browser, slurm"),
            "{problem}"
        );
    }
}
