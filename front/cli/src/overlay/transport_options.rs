//! Options of transports on the command line.

use hopflow_api::Failure;
use toml::{Table, Value};

/// Options of a transport, each `key=value`: a value of TOML, or else a text.
///
/// # Errors
/// If an option has no `=`, or its key is given twice.
pub(crate) fn transport_options(options: &[String]) -> Result<Table, Failure> {
    let mut table = Table::new();
    for option in options {
        let Some((key, value)) = option.split_once('=') else {
            return Err(Failure::bad_input(format_args!(
                "--option: \"{option}\": allowed is KEY=VALUE, such as tolerance=5ms"
            )));
        };
        let value = value.trim();
        let text = || Value::String(value.to_owned());
        let value = value.parse::<Value>().unwrap_or_else(|_| text());
        let key = key.trim();
        if table.insert(key.to_owned(), value).is_some() {
            return Err(Failure::bad_input(format_args!(
                "--option: \"{key}\" is given twice; allowed is once"
            )));
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_given_twice_is_refused() {
        let options = |texts: &[&str]| texts.iter().copied().map(str::to_owned).collect::<Vec<_>>();
        let once = transport_options(&options(&["tolerance=1ms", "alpha=2"])).unwrap();
        assert_eq!(once.len(), 2);
        let failure = transport_options(&options(&["tolerance=x", "tolerance = 1ms"]));
        let failure = failure.unwrap_err();
        assert_eq!(
            failure.message(),
            "--option: \"tolerance\" is given twice; allowed is once"
        );
    }
}
