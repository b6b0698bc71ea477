//! How many runs fit into memory.

use std::sync::Arc;
use std::{env, fs};

use hopflow_units::Bytes;

use super::needs::Needs;
use super::{Error, Job};
use crate::scenario::InputError;

/// Names the memory that runs may use together, in place of what the system has.
const MEMORY: &str = "HOPFLOW_MEMORY";

/// How many of these runs fit into memory side by side; `None` if the memory is not known.
///
/// # Errors
/// If not even one does.
pub fn that_fit<'a>(jobs: impl Iterator<Item = &'a Job>) -> Result<Option<usize>, Error> {
    let mut scenarios: Vec<_> = jobs.map(|job| &job.scenario).collect();
    scenarios.dedup_by(|one, other| Arc::ptr_eq(one, other));
    let needed = scenarios.iter().map(|of| Needs::memory_of(of)).max();
    let (Some(available), Some(needed)) = (memory()?, needed) else {
        return Ok(None);
    };
    match available.get() / needed.get() {
        0 => Err(Error::Memory { needed, available }),
        runs => Ok(Some(runs as usize)),
    }
}

/// Memory that runs may use: what the user says, or else what the system can give to new programs.
fn memory() -> Result<Option<Bytes>, InputError> {
    if let Ok(text) = env::var(MEMORY) {
        let memory = text.parse().map_err(|error| {
            InputError::new(format!(
                "{MEMORY} is \"{text}\": {error}; such as \"16 GB\""
            ))
        })?;
        return Ok(Some(memory));
    }
    let Ok(text) = fs::read_to_string("/proc/meminfo") else {
        return Ok(None);
    };
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    Ok(kibibytes.map(|kibibytes| Bytes::new(kibibytes * 1024)))
}
