//! Downloads through a testbed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};
use std::{fmt, io};

use hopflow_units::Bytes;

use crate::clock;
use crate::fetch::{Fetcher, Times};
use crate::measured::{Download, Measured, Unfinished};
use crate::network::Testbed;
use crate::record::Recorder;
use crate::server::head;
use crate::watch::{Snapshot, Watch};

/// Time between samples.
pub(crate) const SAMPLE: Duration = Duration::from_millis(100);
/// Time between two circuits that begin to be built: the relays then have them in one order.
const STAGGER: Duration = Duration::from_millis(15);
/// Silence between the last preparation and the downloads.
pub(crate) const SETTLE: Duration = Duration::from_millis(500);
/// How long the relays' accounts of the last cells are waited for: they come a tenth of a second behind them, and
/// later where the machine is busy.
const LAST_ACCOUNT: Duration = Duration::from_secs(5);

/// Why there is no measurement.
#[derive(Debug)]
pub enum Error {
    /// A download failed.
    Download {
        /// Its number, from zero.
        number: u32,
        /// Why.
        cause: io::Error,
    },
    /// The user interrupted.
    Interrupted,
    /// The network between the nodes has failed; [`Testbed::end`] says why.
    Network,
    /// The system gives no thread.
    System(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Download { number, cause } => write!(f, "download {number} failed: {cause}"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Network => f.write_str("the network between the nodes has failed"),
            Self::System(cause) => write!(f, "cannot start a thread: {cause}"),
        }
    }
}

impl std::error::Error for Error {}

/// Builds the circuits, makes all downloads at the same time, and records what happens.
///
/// A download connects by SOCKS and is connected before the downloads begin: its times count from
/// the moment at which its HTTP request is sent.
///
/// # Errors
/// If a download fails or the user interrupts.
pub fn measure(testbed: &Testbed, watch: &dyn Watch) -> Result<Measured, Error> {
    let count = testbed.settings().downloads;
    let shared = Shared {
        stop: AtomicBool::new(false),
        received: (0..count).map(|_| AtomicU64::new(0)).collect(),
    };
    thread::scope(|scope| {
        let (tell, said) = mpsc::channel();
        let mut crew = Crew {
            testbed,
            shared: &shared,
            watch,
            said,
            go: Vec::new(),
            cut: None,
        };
        let measured = crew.prepare(scope, &tell).and_then(|()| crew.download());
        shared.stop.store(true, Ordering::Relaxed);
        measured
    })
}

/// Lets a testbed run, for whatever applications use it, until the user interrupts.
pub fn keep(testbed: &Testbed, watch: &dyn Watch) {
    let mut recorder = Recorder::new(testbed);
    while !watch.interrupted() {
        recorder.account();
        watch.show(&Snapshot {
            wanted: Bytes::ZERO,
            ..recorder.snapshot(0)
        });
        clock::sleep(SAMPLE);
    }
}

/// What downloads and the measurement share.
struct Shared {
    /// Whether downloads are to be cut off.
    stop: AtomicBool,
    /// Bytes that each download has received.
    received: Vec<AtomicU64>,
}

/// What a download says.
enum Word {
    /// It is connected, or not.
    Ready(u32, io::Result<()>),
    /// It is over, cut off or complete.
    Done(u32, io::Result<Times>),
}

/// The downloads' threads.
struct Crew<'a> {
    testbed: &'a Testbed,
    shared: &'a Shared,
    watch: &'a dyn Watch,
    said: Receiver<Word>,
    go: Vec<Sender<()>>,
    /// When downloads were cut off, since they began.
    cut: Option<hopflow_units::Duration>,
}

impl<'a> Crew<'a> {
    /// Starts the downloads' threads and waits until all are connected.
    fn prepare<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'a>,
        tell: &Sender<Word>,
    ) -> Result<(), Error> {
        let count = self.testbed.settings().downloads;
        let mut ready = 0;
        for number in 0..count {
            self.start(scope, number, tell.clone())?;
            // The first circuit opens the links that all circuits use.
            if number == 0 {
                ready = self.wait_ready(ready, 1)?;
            }
            clock::sleep(STAGGER);
        }
        self.wait_ready(ready, count)?;
        clock::sleep(SETTLE);
        Ok(())
    }

    fn start<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'a>,
        number: u32,
        tell: Sender<Word>,
    ) -> Result<(), Error> {
        let (testbed, settings) = (self.testbed, self.testbed.settings());
        let (size, shared) = (settings.size.get(), self.shared);
        let user = if settings.shared { 0 } else { number };
        let fetcher = Fetcher {
            socks: self.testbed.socks(),
            server: self.testbed.server(),
            user: format!("download-{user}"),
        };
        let (go, start) = mpsc::channel();
        self.go.push(go);
        let work = move || {
            let arrived = testbed.join_client();
            let connected = arrived.and_then(|()| warm_up(&fetcher, &shared.stop));
            let connected = connected.and_then(|()| fetcher.connect(&shared.stop));
            let mut socket = match connected {
                Ok(socket) => socket,
                // Nobody listens only if all is over anyway; so below.
                Err(cause) => return drop(tell.send(Word::Ready(number, Err(cause)))),
            };
            drop(tell.send(Word::Ready(number, Ok(()))));
            if start.recv().is_ok() {
                let received = &shared.received[number as usize];
                let done = fetcher.get(&mut socket, size, received, &shared.stop);
                drop(tell.send(Word::Done(number, done)));
            }
        };
        let thread = thread::Builder::new().name(format!("download {number}"));
        thread.spawn_scoped(scope, work).map_err(Error::System)?;
        Ok(())
    }

    /// Waits until so many downloads are connected.
    fn wait_ready(&self, mut ready: u32, wanted: u32) -> Result<u32, Error> {
        while ready < wanted {
            self.watch
                .building(ready, self.testbed.settings().downloads);
            match self.said.recv_timeout(SAMPLE) {
                Ok(Word::Ready(_, Ok(()))) => ready += 1,
                Ok(Word::Ready(number, Err(cause)) | Word::Done(number, Err(cause))) => {
                    return Err(Error::Download { number, cause });
                }
                Ok(Word::Done(..)) | Err(_) => {}
            }
            self.check_on()?;
        }
        Ok(ready)
    }

    /// Lets all downloads go, and records until they are over.
    fn download(&mut self) -> Result<Measured, Error> {
        let mut recorder = Recorder::new(self.testbed);
        recorder.account();
        let begin = clock::now();
        recorder.begin(begin);
        for go in &self.go {
            // A download that is gone has said so.
            let _ = go.send(());
        }
        let count = self.testbed.settings().downloads;
        let (mut over, mut sample_at) = (Vec::new(), begin);
        while over.len() < count as usize {
            let wake = self.cut_at(begin).map_or(sample_at, |at| at.min(sample_at));
            let wait = wake.saturating_duration_since(clock::now());
            match self.said.recv_timeout(wait) {
                Ok(Word::Done(number, Ok(times))) => over.push((number, times)),
                Ok(Word::Ready(number, Err(cause)) | Word::Done(number, Err(cause))) => {
                    return Err(Error::Download { number, cause });
                }
                Ok(Word::Ready(..)) | Err(RecvTimeoutError::Disconnected) => {}
                Err(RecvTimeoutError::Timeout) => {
                    recorder.sample(&self.received());
                    let complete = over.iter().filter(|(_, it)| it.last_byte.is_some());
                    self.watch.show(&recorder.snapshot(complete.count() as u32));
                    if wake == sample_at {
                        sample_at += SAMPLE;
                    }
                    self.check_time(begin)?;
                }
            }
        }
        let end = clock::now();
        while !recorder.knows(end) && end.elapsed() < LAST_ACCOUNT {
            clock::sleep(SAMPLE);
            recorder.account();
        }
        let (complete, unfinished) = self.sort(&over, begin);
        Ok(recorder.finish(complete, unfinished))
    }

    /// Bytes that each download has received.
    fn received(&self) -> Vec<u64> {
        let received = self.shared.received.iter();
        received
            .map(|bytes| bytes.load(Ordering::Relaxed))
            .collect()
    }

    /// Whether the measurement can go on.
    fn check_on(&self) -> Result<(), Error> {
        if self.watch.interrupted() {
            return Err(Error::Interrupted);
        }
        if self.testbed.has_failed() {
            return Err(Error::Network);
        }
        Ok(())
    }

    /// When the downloads are to be cut off, if they are and were not.
    fn cut_at(&self, begin: Instant) -> Option<Instant> {
        let limit = self.testbed.settings().duration?;
        let limit = Duration::from_nanos(limit.as_nanos());
        begin.checked_add(limit).filter(|_| self.cut.is_none())
    }

    /// Cuts the downloads off if their time is over.
    fn check_time(&mut self, begin: Instant) -> Result<(), Error> {
        self.check_on()?;
        let now = clock::now();
        if self.cut_at(begin).is_some_and(|at| at <= now) {
            self.shared.stop.store(true, Ordering::Relaxed);
            self.cut = Some(since(begin, now));
        }
        Ok(())
    }

    /// The complete downloads, in the order of their ends, and those that were cut off, in that of their numbers.
    fn sort(&self, over: &[(u32, Times)], begin: Instant) -> (Vec<Download>, Vec<Unfinished>) {
        let (mut complete, mut unfinished) = (Vec::new(), Vec::new());
        let size = self.testbed.settings().size;
        let head = head("200 OK", size.get()).len() as u64;
        for (number, times) in over {
            let (number, start) = (*number, since(begin, times.requested));
            let ttfb = times.first_byte.map(|at| since(times.requested, at));
            match (ttfb, times.last_byte) {
                (Some(ttfb), Some(end)) => complete.push(Download {
                    number,
                    start,
                    ttfb,
                    ttlb: since(times.requested, end),
                    bytes: size,
                }),
                _ => unfinished.push(Unfinished {
                    number,
                    start,
                    waited: self.cut.unwrap_or_default().saturating_sub(start),
                    ttfb,
                    bytes: Bytes::new(self.received()[number as usize].saturating_sub(head)),
                }),
            }
        }
        complete.sort_by_key(|download| (download.start + download.ttlb, download.number));
        unfinished.sort_by_key(|download| download.number);
        (complete, unfinished)
    }
}

fn since(from: Instant, to: Instant) -> hopflow_units::Duration {
    clock::span(to.saturating_duration_since(from))
}

/// Fetches a byte, so that there is a circuit.
fn warm_up(fetcher: &Fetcher, stop: &AtomicBool) -> io::Result<()> {
    let mut socket = fetcher.connect(stop)?;
    fetcher.get(&mut socket, 1, &AtomicU64::new(0), stop)?;
    Ok(())
}
