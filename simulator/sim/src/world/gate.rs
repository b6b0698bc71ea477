//! Where threads wait for each other between windows.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::{available_parallelism, yield_now};

/// How often a thread looks at most, and at least, before it sleeps: some 50 microseconds, about what it
/// takes to wake it, and one.
const MOST: u32 = 2048;
const LEAST: u32 = 64;
/// How often a thread lets others run before it sleeps, where threads share cores.
const YIELDS: u32 = 32;

/// A barrier that threads pass some thousand times a second. The difference to the standard library's
/// is that they look for a while before they sleep, where each has a core of its own: many waits are
/// shorter than it takes to wake a thread.
#[derive(Debug)]
pub(super) struct Gate {
    threads: usize,
    /// Threads that wait for the gate to open.
    here: AtomicUsize,
    /// How often the gate has opened; it wraps.
    opened: AtomicUsize,
    /// How many of those that wait sleep.
    asleep: Mutex<usize>,
    wake: Condvar,
}

/// How often a thread looks whether a gate has opened before it sleeps: more often after it was
/// worth it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks(u32);

impl Looks {
    /// None where threads share cores, for looking then keeps others from coming: they let others run.
    pub(super) fn new(threads: usize) -> Self {
        static CORES: OnceLock<usize> = OnceLock::new();
        let cores = *CORES.get_or_init(|| available_parallelism().map_or(1, usize::from));
        Self(if threads <= cores { MOST } else { 0 })
    }

    /// Looks; whether the gate has opened.
    fn see(&mut self, is_open: impl Fn() -> bool) -> bool {
        if self.0 == 0 {
            return (0..YIELDS).any(|_| {
                yield_now();
                is_open()
            });
        }
        let seen = (0..self.0).any(|_| {
            spin_loop();
            is_open()
        });
        let looks = if seen { self.0 * 2 } else { self.0 / 2 };
        self.0 = looks.clamp(LEAST, MOST);
        seen
    }
}

impl Gate {
    /// A gate that opens when so many threads are there.
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads,
            here: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            asleep: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Waits for all threads. What they did before, each sees afterwards.
    pub(super) fn wait(&self, looks: &mut Looks) {
        if self.threads == 1 {
            return;
        }
        let before = self.opened.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.open(before);
        } else if !looks.see(|| self.opened.load(Ordering::Acquire) != before) {
            self.sleep(before);
        }
    }

    /// The last thread is there.
    fn open(&self, before: usize) {
        // Nobody comes here again before the gate is open.
        self.here.store(0, Ordering::Relaxed);
        let asleep = self.asleep();
        self.opened.store(before.wrapping_add(1), Ordering::Release);
        if *asleep > 0 {
            self.wake.notify_all();
        }
    }

    fn sleep(&self, before: usize) {
        let mut asleep = self.asleep();
        *asleep += 1;
        while self.opened.load(Ordering::Acquire) == before {
            asleep = self.wake.wait(asleep).expect("nobody panics here");
        }
        *asleep -= 1;
    }

    fn asleep(&self) -> MutexGuard<'_, usize> {
        self.asleep.lock().expect("nobody panics here")
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Threads count rounds in turn between two gates; each sees what all others have counted.
    fn rounds(gate: &Gate, looks: Looks) {
        let counted = AtomicUsize::new(0);
        let run = || {
            let mut looks = looks;
            for round in 1..=200 {
                counted.fetch_add(1, Ordering::Relaxed);
                gate.wait(&mut looks);
                assert_eq!(counted.load(Ordering::Relaxed), round * gate.threads);
                gate.wait(&mut looks);
            }
        };
        thread::scope(|scope| {
            for _ in 0..gate.threads {
                scope.spawn(run);
            }
        });
    }

    #[test]
    fn nobody_passes_before_all_are_there_whether_they_look_or_sleep() {
        for threads in [1, 2, 5] {
            for looks in [0, 1, MOST] {
                rounds(&Gate::new(threads), Looks(looks));
            }
        }
    }

    #[test]
    fn who_looks_in_vain_looks_less_often() {
        let mut looks = Looks(MOST);
        assert!(!looks.see(|| false));
        assert_eq!(looks.0, MOST / 2);
        assert!(looks.see(|| true));
        assert_eq!(looks.0, MOST);
        for _ in 0..9 {
            assert!(!looks.see(|| false));
        }
        assert_eq!(looks.0, LEAST);
    }
}
