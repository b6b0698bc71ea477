//! KIST: how much connections take, and when they ask for it.

use std::collections::BTreeSet;
use std::io;

use hopflow_units::{Duration, Instant};
use mio::net::TcpStream;

use super::soon::{Kernel, question};
use super::tokens::CarrierKey;

/// A cell needs no more, with its frame and record: connections with less ask again.
const LEAST: usize = 600;
/// The longest time between two questions about a connection that takes nothing.
const RARELY: Duration = Duration::from_secs(1);

/// Which connections ask the kernel next how much TCP can send soon.
#[derive(Debug)]
pub(super) struct Kist {
    interval: Duration,
    kernel: Kernel,
    waiting: BTreeSet<(Instant, CarrierKey)>,
    /// Whether the kernel has answered, or it was told that it does not.
    told: bool,
}

/// What a connection has of it.
#[derive(Debug)]
pub(super) struct Share {
    /// What TCP could send soon when the kernel was asked last, less what was given since.
    pub(super) soon: usize,
    /// What to ask about the connection, once it is there.
    question: Vec<u8>,
    /// When it asked last.
    asked: Instant,
    /// When it asks next.
    asks: Option<Instant>,
    /// Since when it takes nothing.
    stalled: Option<Instant>,
}

impl Default for Share {
    fn default() -> Self {
        Self {
            soon: usize::MAX,
            question: Vec::new(),
            asked: Instant::ZERO,
            asks: None,
            stalled: None,
        }
    }
}

impl Kist {
    /// `None` if the kernel cannot be asked: connections take what they take without KIST.
    pub(super) fn open(interval: Duration) -> Option<Self> {
        let kernel = Kernel::open().inspect_err(warn);
        Some(Self {
            interval,
            kernel: kernel.ok()?,
            waiting: BTreeSet::new(),
            told: false,
        })
    }

    /// Asks how much a connection takes; it asks again after a while if that is less than a cell.
    pub(super) fn ask(
        &mut self,
        now: Instant,
        key: CarrierKey,
        socket: &TcpStream,
        share: &mut Share,
    ) {
        share.soon = self.soon(socket, &mut share.question);
        share.asked = now;
        if share.soon >= LEAST {
            share.stalled = None;
            return;
        }
        let stalled = now.saturating_since(*share.stalled.get_or_insert(now));
        self.list(now + wait(self.interval, stalled), key, &mut share.asks);
    }

    /// A connection was given something: it asks at once, but once in an interval.
    pub(super) fn on_given(&mut self, now: Instant, key: CarrierKey, share: &mut Share) {
        let at = (share.asked + self.interval).max(now);
        self.list(at, key, &mut share.asks);
    }

    /// The next connection that is to ask now.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<CarrierKey> {
        let first = self.waiting.first()?;
        if first.0 > now {
            return None;
        }
        self.waiting.pop_first().map(|(_, key)| key)
    }

    /// When the next one asks.
    pub(super) fn next(&self) -> Instant {
        self.waiting.first().map_or(Instant::FAR_FUTURE, |it| it.0)
    }

    /// A connection asks at `at`, if it does not sooner: `asks` says when.
    fn list(&mut self, at: Instant, key: CarrierKey, asks: &mut Option<Instant>) {
        if asks.is_some_and(|sooner| sooner <= at) {
            return;
        }
        if let Some(later) = asks.replace(at) {
            self.waiting.remove(&(later, key));
        }
        self.waiting.insert((at, key));
    }

    /// How much TCP can send soon; anything if the kernel does not tell.
    fn soon(&mut self, socket: &TcpStream, about: &mut Vec<u8>) -> usize {
        if about.is_empty() {
            let (Ok(from), Ok(to)) = (socket.local_addr(), socket.peer_addr()) else {
                return usize::MAX;
            };
            *about = question((from, to));
        }
        let soon = self.kernel.sent_soon(about);
        if !std::mem::replace(&mut self.told, true) {
            let _ = soon.as_ref().inspect_err(|error| warn(error));
        }
        soon.unwrap_or(usize::MAX)
    }
}

impl Share {
    /// It is its turn to ask.
    pub(super) fn begin(&mut self) {
        self.asks = None;
    }
}

fn warn(error: &io::Error) {
    tracing::warn!(%error, "KIST: the kernel does not tell how much TCP can send soon");
}

/// How long a connection waits that has taken nothing for some time: however many neighbours read nothing, few of
/// them ask, and none waits for much longer than it has to.
fn wait(interval: Duration, stalled: Duration) -> Duration {
    (stalled / 8).min(RARELY).max(interval)
}

#[cfg(test)]
mod tests {
    use slotmap::SlotMap;

    use super::*;

    #[test]
    fn connections_that_take_nothing_ask_more_and_more_rarely() {
        let waits = |interval: u64, stalled: u64| {
            let [interval, stalled] = [interval, stalled].map(Duration::from_millis);
            wait(interval, stalled)
        };
        for (interval, stalled, expected) in [
            (2, 0, 2),
            (2, 80, 10),
            (2, 60_000, 1000),
            (3000, 60_000, 3000),
        ] {
            assert_eq!(waits(interval, stalled), Duration::from_millis(expected));
        }
    }

    #[test]
    fn a_connection_asks_once_at_the_soonest_of_its_times() {
        let mut keys: SlotMap<CarrierKey, ()> = SlotMap::with_key();
        let [one, other] = [(); 2].map(|()| keys.insert(()));
        let mut kist = Kist::open(Duration::from_millis(2)).unwrap();
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let mut asks = [None; 2];
        kist.list(at(9), one, &mut asks[0]);
        kist.list(at(5), other, &mut asks[1]);
        kist.list(at(7), one, &mut asks[0]);
        kist.list(at(8), one, &mut asks[0]);
        assert_eq!((kist.next(), asks), (at(5), [Some(at(7)), Some(at(5))]));
        assert_eq!(kist.take_due(at(4)), None);
        let due = std::iter::from_fn(|| kist.take_due(at(9)));
        assert_eq!(due.collect::<Vec<_>>(), [other, one]);
        assert_eq!(kist.next(), Instant::FAR_FUTURE);
    }
}
