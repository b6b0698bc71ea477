//! Makes a table of relays from a consensus document of Tor.
//!
//! `hopflow-consensus CONSENSUS > relays.csv` writes the table that scenarios name as
//! `network.source = { population = { relays = 100, table = "relays.csv" } }`.

mod document;

use std::process::ExitCode;
use std::{env, fs};

use document::population;
use hopflow_random::Streams;

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [file] = arguments.as_slice() else {
        eprintln!("usage: hopflow-consensus CONSENSUS > relays.csv");
        return ExitCode::from(2);
    };
    let file = file.to_string_lossy();
    let read = fs::read(&*file).map_err(|error| format!("cannot read {file}: {error}"));
    match read.and_then(|bytes| table(&String::from_utf8_lossy(&bytes), &file)) {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The table of a document's relays; the error calls the document `file`.
fn table(text: &str, file: &str) -> Result<String, String> {
    // The continents that a consensus does not tell belong to its relays: they are always the same.
    let mut stream = Streams::new(0).stream("continents of a consensus", 0);
    let population = population(text, &mut stream).map_err(|why| format!("{file}: {why}"))?;
    Ok(population.to_table())
}

#[cfg(test)]
mod tests;
