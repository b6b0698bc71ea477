//! How many runs fit into memory.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
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

/// A run's part of the memory, among the runs that this process makes side by side without knowing of each
/// other. It is given back when dropped.
#[derive(Debug)]
pub struct Share {
    _taken: Option<Taken<'static>>,
}

impl Share {
    /// Takes what a run needs; waits for other runs to end where it does not fit beside them.
    ///
    /// # Errors
    /// If it would not fit alone, or `interrupted` says that the user does.
    pub fn take(job: &Job, interrupted: &dyn Fn() -> bool) -> Result<Self, Error> {
        static ALL: Ledger = Ledger::new();
        let needed = Needs::memory_of(&job.scenario);
        let taken = ALL.take(needed, memory, interrupted)?;
        Ok(Self { _taken: taken })
    }
}

/// Who holds what of the memory.
#[derive(Debug)]
struct Ledger {
    held: Mutex<Held>,
    returned: Condvar,
}

#[derive(Debug)]
struct Held {
    /// What there was when nobody held anything.
    available: Bytes,
    taken: Bytes,
}

/// What is taken from a ledger until it is dropped.
#[derive(Debug)]
struct Taken<'a> {
    from: &'a Ledger,
    amount: Bytes,
}

impl Ledger {
    /// Between two looks whether the user interrupts.
    const GLANCE: Duration = Duration::from_millis(100);

    const fn new() -> Self {
        Self {
            held: Mutex::new(Held {
                available: Bytes::ZERO,
                taken: Bytes::ZERO,
            }),
            returned: Condvar::new(),
        }
    }

    /// Takes memory as soon as there is enough; nothing where `memory` does not know how much there is.
    fn take(
        &self,
        needed: Bytes,
        memory: impl Fn() -> Result<Option<Bytes>, InputError>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<Taken<'_>>, Error> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if held.taken.is_zero() {
                let Some(available) = memory()? else {
                    return Ok(None);
                };
                if needed > available {
                    return Err(Error::Memory { needed, available });
                }
                held.available = available;
            }
            if held.taken + needed <= held.available {
                held.taken += needed;
                let (from, amount) = (self, needed);
                return Ok(Some(Taken { from, amount }));
            }
            if interrupted() {
                let (finished, planned) = (0, 1);
                return Err(Error::Interrupted { finished, planned });
            }
            let waited = self.returned.wait_timeout(held, Self::GLANCE);
            held = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let held = self.from.held.lock();
        held.unwrap_or_else(PoisonError::into_inner).taken -= self.amount;
        self.from.returned.notify_all();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn take(ledger: &Ledger, needed: u64, stop: bool) -> Result<Option<Taken<'_>>, Error> {
        let memory = || Ok(Some(Bytes::new(100)));
        ledger.take(Bytes::new(needed), memory, &|| stop)
    }

    #[test]
    fn runs_wait_for_memory_until_others_end_or_the_user_interrupts() {
        let ledger = Ledger::new();
        let first = take(&ledger, 60, false).unwrap();
        let beside = take(&ledger, 40, false).unwrap();
        let stopped = take(&ledger, 1, true);
        assert!(matches!(stopped, Err(Error::Interrupted { .. })));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| take(&ledger, 50, false).unwrap().unwrap().amount);
            drop((first, beside));
            assert_eq!(waits.join().unwrap(), Bytes::new(50));
        });
        assert_eq!(ledger.held.lock().unwrap().taken, Bytes::ZERO);
    }

    #[test]
    fn what_does_not_fit_alone_is_refused_and_what_nobody_knows_is_not() {
        let ledger = Ledger::new();
        assert!(matches!(
            take(&ledger, 101, false),
            Err(Error::Memory { .. })
        ));
        let taken = ledger.take(Bytes::new(101), || Ok(None), &|| false);
        assert!(taken.unwrap().is_none());
    }
}
