//! Options of transports on the command line.

use hopflow_api::Failure;
use toml::{Table, Value};

/// Options of a transport, each `key=value`: a value of TOML, or else a text.
///
/// # Errors
/// If an option has no `=`.
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
        table.insert(key.trim().to_owned(), value);
    }
    Ok(table)
}
