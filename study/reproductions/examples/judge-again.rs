//! Judges values that are measured already by the rules of [`judge`]: after a change of a rule, or of
//! the claims of a family.
//!
//! ```sh
//! cargo run -p hopflow-reproductions --example judge-again -- study/reproductions/records/*/
//! ```
//!
//! Each argument is a folder with a `values.csv`. Only verdicts change, and how many runs an undecided
//! value asks for: means, intervals and bands stay as they are. Whatever must be measured anew needs
//! `hopflow reproduce`.

use std::process::ExitCode;

use hopflow_reproductions::judge;
use hopflow_results::{Folder, Value};

fn main() -> ExitCode {
    let folders: Vec<String> = std::env::args().skip(1).collect();
    if folders.is_empty() {
        eprintln!("name one folder with a values.csv or more");
        return ExitCode::FAILURE;
    }
    for path in folders {
        match again(&Folder::open(path.as_ref())) {
            Ok(changed) => changed
                .iter()
                .for_each(|change| println!("{path}: {change}")),
            Err(problem) => {
                eprintln!("{path}: {problem}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Judges the values of a folder, writes them, and says whose verdict is another one.
fn again(folder: &Folder) -> Result<Vec<String>, hopflow_results::Error> {
    let before = folder.read_values()?;
    let mut values = before.clone();
    judge(&mut values);
    // What stays as it is keeps its bytes, which a record has a hash of.
    if values != before {
        folder.write_values(&values)?;
    }
    let changed = before.iter().zip(&values);
    let changed = changed.filter(|(old, new)| old.verdict != new.verdict);
    Ok(changed.map(|(old, new)| line(old, new)).collect())
}

fn line(old: &Value, new: &Value) -> String {
    let at = new.x.map_or(String::new(), |x| format!(" at {x}"));
    let interval = new.ci_low.zip(new.ci_high);
    let interval = interval.map_or(String::new(), |(low, high)| {
        format!(" [{low:.3}, {high:.3}]")
    });
    format!(
        "{}{at}, {}: {:.3}{interval} {}: {}, was {}",
        new.quantity, new.transport, new.mean, new.unit, new.verdict, old.verdict
    )
}
