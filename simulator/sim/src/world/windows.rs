//! Running partitions side by side, window by window.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread::Builder;

use hopflow_units::{Duration, Instant};

use super::gate::{Gate, Looks};
use super::grid::Grid;
use super::mail::Mail;
use super::meter::{Meter, Parallelism, Phase};
use super::partition::Partition;
use super::trunks::Trunks;

/// How a run of windows ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    /// There is more to run.
    Paused,
    /// Nothing is left to run.
    Reached,
    /// The observer stopped it.
    Stopped,
}

/// Which windows to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// So many at most.
    pub(super) windows: u64,
    /// Those that begin before this time, and not after the end of the simulation; the last is cut
    /// there.
    pub(super) until: Instant,
    /// By which clock to measure what partitions do, if at all: the time that a thread has run.
    pub(super) clock: Option<fn() -> Duration>,
}

/// What was run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) ended: Ended,
    /// Events of the partitions.
    pub(super) events: u64,
    /// What the partitions did side by side, if that was measured.
    pub(super) parallelism: Parallelism,
}

impl Span {
    /// Whether no window is to be run that begins at a time or later.
    fn is_over(&self, begin: u64, grid: &Grid) -> bool {
        begin > grid.end.as_nanos() || begin >= self.until.as_nanos()
    }
}

/// Runs windows of all partitions, each partition on a thread of its own.
///
/// `observe` is called on this thread before each window, with the events of all partitions so far and
/// the time at which the window begins; it stops the run by returning true.
pub(super) fn run(
    grid: &Grid,
    partitions: &mut [Partition],
    trunks: Option<&mut Trunks>,
    span: Span,
    observe: &mut dyn FnMut(u64, Instant) -> bool,
) -> Done {
    let meter = span.clock.map(Meter::new);
    let exchange = Exchange::new(partitions.len(), trunks.is_some(), meter);
    let looks = Looks::new(partitions.len());
    let worker = |(number, partition)| Worker {
        grid,
        exchange: &exchange,
        number,
        partition,
        trunks: None,
        looks,
        done: 0,
        from: 0,
        panic: None,
    };
    let mut workers: Vec<_> = partitions.iter_mut().enumerate().map(worker).collect();
    workers[0].trunks = trunks;
    if let Some(panic) = side_by_side(workers, span, observe).into_iter().next() {
        resume_unwind(panic);
    }
    let next = exchange.next().saturating_mul(grid.window.as_nanos());
    let ended = if exchange.stop.load(Ordering::Relaxed) {
        Ended::Stopped
    } else if span.is_over(next, grid) {
        Ended::Reached
    } else {
        Ended::Paused
    };
    Done {
        ended,
        events: exchange.events.load(Ordering::Relaxed),
        parallelism: exchange.meter.as_ref().map(Meter::read).unwrap_or_default(),
    }
}

/// Lets all workers run, the first on this thread and each other on one of its own; returns what made
/// threads give up.
///
/// # Panics
/// If a thread cannot be started.
fn side_by_side(
    workers: Vec<Worker<'_>>,
    span: Span,
    observe: &mut dyn FnMut(u64, Instant) -> bool,
) -> Vec<Box<dyn Any + Send>> {
    // Whether all threads are there: none waits at the gate for one that could not be started.
    let complete: OnceLock<bool> = OnceLock::new();
    std::thread::scope(|scope| {
        let mut workers = workers.into_iter();
        let here = workers.next().expect("there is a partition");
        let complete = &complete;
        let threads: Result<Vec<_>, _> = workers
            .map(|worker| {
                let run = move || complete.wait().then(|| worker.run(span, &mut |_, _| false));
                Builder::new().spawn_scoped(scope, run)
            })
            .collect();
        complete.set(threads.is_ok()).expect("it is set once");
        let threads = threads.unwrap_or_else(|error| {
            panic!(
                "cannot start a thread: {error}; allowed are as many threads as the system gives"
            )
        });
        let first = here.run(span, observe);
        let others = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.map_or_else(Some, Option::flatten)
        });
        std::iter::once(first).chain(others).flatten().collect()
    })
}

/// What threads tell each other between windows.
#[derive(Debug)]
struct Exchange {
    gate: Gate,
    /// The first window in which each partition has something to do, and behind them the links
    /// between routers.
    first: Vec<AtomicU64>,
    /// By receiver, then by sender; the links between routers follow the partitions in both.
    mail: Vec<Vec<Mutex<Mail>>>,
    /// Events of all partitions in this exchange.
    events: AtomicU64,
    /// Whether there are links between routers that are run after the partitions.
    has_trunks: bool,
    /// Set between the first and the last gate of a window only, so that all threads see the same.
    stop: AtomicBool,
    meter: Option<Meter>,
}

/// No window.
const NEVER: u64 = u64::MAX;

impl Exchange {
    fn new(partitions: usize, has_trunks: bool, meter: Option<Meter>) -> Self {
        let row = |_| (0..=partitions).map(|_| Mutex::default()).collect();
        Self {
            gate: Gate::new(partitions),
            first: (0..=partitions).map(|_| AtomicU64::new(NEVER)).collect(),
            mail: (0..=partitions).map(row).collect(),
            events: AtomicU64::new(0),
            has_trunks,
            stop: AtomicBool::new(false),
            meter,
        }
    }

    fn publish(&self, who: usize, first: Option<u64>) {
        self.first[who].store(first.unwrap_or(NEVER), Ordering::Relaxed);
    }

    /// The first window in which there is something to do.
    fn next(&self) -> u64 {
        let first = self.first.iter().map(|first| first.load(Ordering::Relaxed));
        first.min().unwrap_or(NEVER)
    }

    /// Hands over what one has for all others.
    fn send(&self, from: usize, mail: &mut [Mail]) {
        for (to, mail) in mail.iter_mut().enumerate() {
            if !mail.is_empty() {
                let mut slot = self.mail[to][from].lock().expect("nobody panics here");
                std::mem::swap(&mut *slot, mail);
            }
        }
    }

    /// Takes what all others have for one.
    fn receive(&self, to: usize, mut each: impl FnMut(&mut Mail)) {
        for slot in &self.mail[to] {
            let mut mail = slot.lock().expect("nobody panics here");
            if !mail.is_empty() {
                each(&mut mail);
            }
        }
    }
}

/// The partition of a thread.
struct Worker<'a> {
    grid: &'a Grid,
    exchange: &'a Exchange,
    number: usize,
    partition: &'a mut Partition,
    /// The links between routers: one thread runs them, after the partitions.
    trunks: Option<&'a mut Trunks>,
    looks: Looks,
    /// Events of the window at work.
    done: u64,
    /// The first window that may be run now: not the one that was cut, though there is more in it.
    from: u64,
    /// What made this thread give up.
    panic: Option<Box<dyn Any + Send>>,
}

impl Worker<'_> {
    /// Runs windows; returns what made this thread give up.
    fn run(
        mut self,
        span: Span,
        observe: &mut dyn FnMut(u64, Instant) -> bool,
    ) -> Option<Box<dyn Any + Send>> {
        let (grid, exchange) = (self.grid, self.exchange);
        let mut stop = false;
        self.guarded(Self::publish);
        self.wait();
        for _ in 0..span.windows {
            let window = exchange.next();
            let begin = window.saturating_mul(grid.window.as_nanos());
            if span.is_over(begin, grid) {
                break;
            }
            let limit = grid.end_of(window).min(span.until);
            self.guarded(|worker| {
                let events = exchange.events.load(Ordering::Relaxed);
                stop = observe(events, Instant::from_nanos(begin));
                if span.until < grid.end_of(window) {
                    worker.from = window + 1;
                }
                worker.measured(Phase::Running, |worker| {
                    worker.run_window(window, span.until);
                });
            });
            self.wait();
            if exchange.has_trunks {
                self.guarded(|worker| {
                    worker.measured(Phase::Trunks, |worker| worker.run_trunks(limit));
                });
                self.wait();
            }
            self.guarded(|worker| worker.measured(Phase::TakingMail, Self::take_mail));
            if stop || self.panic.is_some() {
                exchange.stop.store(true, Ordering::Relaxed);
            }
            self.wait();
            if exchange.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        self.panic
    }

    /// Waits for all others.
    fn wait(&mut self) {
        self.exchange.gate.wait(&mut self.looks);
    }

    /// Does some work. After a panic this thread only keeps step, until all stop with the window.
    fn guarded(&mut self, work: impl FnOnce(&mut Self)) {
        if self.panic.is_none() {
            self.panic = catch_unwind(AssertUnwindSafe(|| work(self))).err();
        }
    }

    /// Does what all partitions do at the same time, and measures it.
    fn measured(&mut self, phase: Phase, work: impl FnOnce(&mut Self)) {
        let Some(meter) = &self.exchange.meter else {
            return work(self);
        };
        if self.number == 0 {
            meter.end_before(phase);
        }
        let (begun, before) = (meter.now(), self.partition.events);
        work(self);
        meter.note(phase, begun, self.partition.events - before);
    }

    /// Runs a window up to a time, and hands over what is for others.
    fn run_window(&mut self, window: u64, until: Instant) {
        let (partition, exchange) = (&mut *self.partition, self.exchange);
        let before = partition.events;
        partition.run_window(window, until);
        self.done = partition.events - before;
        exchange.send(self.number, &mut partition.mail);
    }

    /// Takes what others have sent, and tells what was done: between the gates where nobody asks.
    fn take_mail(&mut self) {
        let done = std::mem::take(&mut self.done);
        self.exchange.events.fetch_add(done, Ordering::Relaxed);
        let partition = &mut *self.partition;
        let receive = |mail: &mut Mail| partition.receive(mail);
        self.exchange.receive(self.number, receive);
        self.publish();
    }

    /// Tells when there is something to do here.
    fn publish(&mut self) {
        let publish = |who, first: Option<u64>| {
            let first = first.map(|first| first.max(self.from));
            self.exchange.publish(who, first);
        };
        publish(self.number, self.partition.first_window());
        if let Some(trunks) = &self.trunks {
            let next = trunks.next().map(|at| self.grid.window_of_trunks(at));
            publish(self.exchange.first.len() - 1, next);
        }
    }

    /// Runs the links between routers up to what partitions may send from a time on.
    fn run_trunks(&mut self, from: Instant) {
        let Some(trunks) = &mut self.trunks else {
            return;
        };
        let (grid, exchange) = (self.grid, self.exchange);
        let last = exchange.first.len() - 1;
        exchange.receive(last, |mail| trunks.receive(mail));
        trunks.run(from + grid.least_up);
        exchange.send(last, trunks.post(&grid.places));
    }
}
