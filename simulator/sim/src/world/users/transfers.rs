//! The fetches of a user and how far they are.

use hopflow_overlay::Direction;
use hopflow_units::{Bytes, Duration, Instant};

use crate::spec::Fetch;

/// The fetch under way, and what it continues.
#[derive(Debug)]
pub(super) struct Transfers {
    /// The direction of the data that is measured.
    measured: Direction,
    fetching: Option<Fetching>,
    /// What the exit has received of the request under way.
    requested: Bytes,
    /// The fetches so far of a download that continues.
    begun: Option<Fetched>,
    /// Downloads that are complete.
    completed: u32,
}

/// A fetch under way.
#[derive(Clone, Copy, Debug)]
struct Fetching {
    fetch: Fetch,
    requested: Instant,
    first_byte: Option<Instant>,
    /// Of what is measured.
    received: Bytes,
    /// Of the response.
    answered: Bytes,
}

/// Fetches of one download that are complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fetched {
    /// The number of downloads before this one.
    pub(super) index: u32,
    pub(super) requested: Instant,
    pub(super) first_byte: Instant,
    pub(super) size: Bytes,
}

impl Transfers {
    pub(super) const fn new(measured: Direction) -> Self {
        Self {
            measured,
            fetching: None,
            requested: Bytes::ZERO,
            begun: None,
            completed: 0,
        }
    }

    /// The fetch under way.
    pub(super) fn fetch(&self) -> Option<&Fetch> {
        self.fetching.as_ref().map(|fetching| &fetching.fetch)
    }

    /// A fetch begins.
    pub(super) fn begin(&mut self, fetch: Fetch, now: Instant) {
        self.fetching = Some(Fetching {
            fetch,
            requested: now,
            first_byte: None,
            received: Bytes::ZERO,
            answered: Bytes::ZERO,
        });
    }

    /// Part of what is measured has reached its end: returns the download that is complete with it.
    #[inline]
    pub(super) fn on_measured(&mut self, len: Bytes, now: Instant) -> Option<Fetched> {
        let fetching = self.fetching.as_mut()?;
        fetching.received += len;
        let first_byte = *fetching.first_byte.get_or_insert(now);
        let size = fetching.fetch.size(self.measured);
        if fetching.received < size {
            return None;
        }
        let part = Fetched {
            index: self.completed,
            requested: fetching.requested,
            first_byte,
            size,
        };
        let whole = self.begun.take().map_or(part, |begun| Fetched {
            size: begun.size + size,
            ..begun
        });
        if fetching.fetch.continued {
            self.begun = Some(whole);
            return None;
        }
        Some(whole)
    }

    /// Part of a request has reached the exit: if it is complete, returns how long the server takes
    /// to answer.
    pub(super) fn on_request(&mut self, len: Bytes) -> Option<Duration> {
        self.requested += len;
        let Fetching { fetch, .. } = self.fetching.as_ref()?;
        if self.requested < fetch.request {
            return None;
        }
        self.requested -= fetch.request;
        Some(fetch.server_delay)
    }

    /// Part of a response has reached the client: if it is complete, returns how long the user
    /// waits before the next request.
    #[inline]
    pub(super) fn on_response(&mut self, len: Bytes) -> Option<Duration> {
        let fetching = self.fetching.as_mut()?;
        fetching.answered += len;
        let fetch = fetching.fetch;
        if fetching.answered < fetch.size(Direction::Backward) {
            return None;
        }
        self.completed += u32::from(!fetch.continued);
        self.fetching = None;
        Some(fetch.pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Bytes = Bytes::new(498);
    const RESPONSE: Bytes = Bytes::new(1000);

    fn fetch(continued: bool) -> Fetch {
        Fetch {
            request: REQUEST,
            server_delay: Duration::from_millis(3),
            response: Some(RESPONSE),
            pause: Duration::from_millis(7),
            continued,
        }
    }

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn fetches_that_continue_are_one_download() {
        let mut transfers = Transfers::new(Direction::Backward);
        let half = Bytes::new(500);
        for (begin, continued) in [(10, true), (30, false)] {
            transfers.begin(fetch(continued), at(begin));
            let server_delay = transfers.on_request(REQUEST);
            assert_eq!(server_delay, Some(Duration::from_millis(3)));
            assert_eq!(transfers.on_measured(half, at(begin + 5)), None);
            assert_eq!(transfers.on_response(half), None);
            let whole = transfers.on_measured(half, at(begin + 6));
            let expected = Fetched {
                index: 0,
                requested: at(10),
                first_byte: at(15),
                size: RESPONSE + RESPONSE,
            };
            assert_eq!(whole, (!continued).then_some(expected));
            let pause = transfers.on_response(half);
            assert_eq!(pause, Some(Duration::from_millis(7)));
        }
        assert_eq!(transfers.fetch(), None);
        assert_eq!(transfers.on_response(half), None, "nothing is under way");
    }

    #[test]
    fn a_request_is_answered_when_all_of_it_has_arrived() {
        let mut transfers = Transfers::new(Direction::Forward);
        transfers.begin(fetch(false), at(0));
        let part = Bytes::new(200);
        for (len, complete) in [(part, false), (REQUEST - part, true)] {
            let download = transfers.on_measured(len, at(4));
            assert_eq!(download.is_some(), complete, "the upload is measured");
            assert_eq!(transfers.on_request(len).is_some(), complete);
        }
    }
}
