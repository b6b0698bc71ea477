//! Keeping the counts of what a relay moves, and letting its workers rest when it has moved what it may.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::Waker;
use tracing::{info, warn};

use super::shared::Shared;
use crate::UnixTime;
use crate::accounting::{Ledger, Standing, Traffic};

/// What tells the time of the calendar.
pub type Calendar = fn() -> UnixTime;

/// How often bytes are counted.
const TICK: Duration = Duration::from_secs(1);
/// Ticks from one time that the counts are written to the next.
const SAVE: u32 = 10;

/// Counts until it is ended.
#[derive(Debug)]
pub(super) struct Keeper {
    ending: Arc<AtomicBool>,
    handle: JoinHandle<()>,
}

/// Counts, and whom they concern.
struct Counting {
    ledger: Ledger,
    standing: Arc<Mutex<Standing>>,
    workers: Vec<(Arc<Shared>, Arc<Waker>)>,
    calendar: Calendar,
    /// What was counted.
    seen: Traffic,
    resting: bool,
}

impl Keeper {
    /// Counts what these workers move, and tells it to others in `standing`.
    pub(super) fn start(
        ledger: Ledger,
        standing: Arc<Mutex<Standing>>,
        workers: Vec<(Arc<Shared>, Arc<Waker>)>,
        calendar: Calendar,
    ) -> io::Result<Self> {
        let ending = Arc::new(AtomicBool::new(false));
        let mut counting = Counting {
            ledger,
            standing,
            workers,
            calendar,
            seen: Traffic::default(),
            resting: false,
        };
        counting.count();
        let ends = ending.clone();
        let count = move || {
            for tick in 1.. {
                thread::park_timeout(TICK);
                let is_end = ends.load(Ordering::Acquire);
                if counting.count() || tick % SAVE == 0 || is_end {
                    counting.save();
                }
                if is_end {
                    return;
                }
            }
        };
        let handle = thread::Builder::new()
            .name("accounting".to_owned())
            .spawn(count)?;
        Ok(Self { ending, handle })
    }

    /// Counts and writes for the last time.
    pub(super) fn end(self) {
        self.ending.store(true, Ordering::Release);
        self.handle.thread().unpark();
        // What it says is in the log.
        let _ = self.handle.join();
    }
}

impl Counting {
    /// Counts what was moved; true if the workers begin or end to rest.
    fn count(&mut self) -> bool {
        let workers = self.workers.iter().map(|(worker, _)| worker.traffic());
        let moved = workers.fold(Traffic::default(), Traffic::with);
        let more = moved.since(self.seen);
        self.seen = moved;
        self.ledger.advance((self.calendar)(), more);
        let standing = self.ledger.standing();
        if let Ok(mut told) = self.standing.lock() {
            *told = standing;
        }
        if standing.spent == self.resting {
            return false;
        }
        self.resting = standing.spent;
        if standing.spent {
            info!(%standing, "the limit of this period is reached: no new circuits until its end");
        } else {
            info!(%standing, "a new period has begun");
        }
        for (worker, waker) in &self.workers {
            worker.rest(standing.spent);
            // A worker that cannot be woken looks a tenth of a second later.
            let _ = waker.wake();
        }
        true
    }

    fn save(&mut self) {
        if let Err(error) = self.ledger.save() {
            warn!("what the relay moved is not kept: {error}");
        }
    }
}
