//! The server of a user, behind the exit of its circuit.

use hopflow_overlay::Direction;
use hopflow_units::{Bytes, Duration, Instant};

use super::endpoint::{Endpoint, StreamWrite};
use super::journal::Journal;
use super::sink::Sink;
use crate::outcome::FailCause;
use crate::payload::Simulated;
use crate::spec::Fetch;
use crate::world::outbox::Request;

/// A user's server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    requests: Requests,
    /// What is measured, if that is what the server receives.
    pub(crate) sink: Option<Sink>,
    /// When its circuit closed, and why.
    closed: Option<(Instant, FailCause)>,
}

/// What a user has asked for.
#[derive(Clone, Debug, Default)]
struct Requests {
    /// The fetch under way.
    fetch: Option<Fetch>,
    /// What has arrived of its request.
    arrived: Bytes,
}

impl Server {
    pub(crate) fn new(endpoint: Endpoint, sink: Option<Sink>) -> Self {
        Self {
            endpoint,
            requests: Requests::default(),
            sink,
            closed: None,
        }
    }

    /// Its circuit is closed. Of what the user asks for in the same window of the simulation it may have heard
    /// or not, so what is broken off is told [at the end](Self::end).
    pub(crate) const fn on_closed(&mut self, now: Instant, cause: FailCause) {
        self.closed = Some((now, cause));
    }

    /// The run is over: notes an upload that was broken off.
    pub(crate) fn end(&mut self, journal: &mut Journal) {
        if let (Some(sink), Some((closed, cause))) = (&mut self.sink, self.closed) {
            sink.fail(closed, cause, journal);
        }
    }

    /// The user begins a fetch, whose request will arrive.
    pub(crate) fn begin(&mut self, request: Request) {
        self.requests.fetch = Some(request.fetch);
        if let Some(sink) = &mut self.sink {
            sink.begin(request);
        }
    }

    /// The answer reaches the exit.
    pub(crate) fn respond(&self) -> Option<StreamWrite> {
        let fetch = self.requests.fetch.as_ref();
        let fetch = fetch.filter(|_| !self.endpoint.closed)?;
        Some(self.endpoint.write(fetch.size(Direction::Backward)))
    }

    /// A cell has reached the exit: returns when the answer follows, if the request is complete.
    pub(crate) fn on_delivered(
        &mut self,
        cell: &Simulated,
        now: Instant,
        journal: &mut Journal,
    ) -> Option<Instant> {
        if let Some(sink) = &mut self.sink {
            sink.on_delivered(cell, now, journal);
        }
        let delay = self.requests.on_arrived(Bytes::new(u64::from(cell.len())));
        delay.map(|delay| now + delay)
    }
}

impl Requests {
    /// Part of a request has arrived: if it is complete, returns how long the server takes to
    /// answer.
    fn on_arrived(&mut self, len: Bytes) -> Option<Duration> {
        self.arrived += len;
        let fetch = self.fetch.as_ref()?;
        if self.arrived < fetch.request {
            return None;
        }
        self.arrived -= fetch.request;
        Some(fetch.server_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_when_all_of_it_has_arrived() {
        let delay = Duration::from_millis(3);
        let mut requests = Requests::default();
        assert_eq!(requests.on_arrived(Bytes::ZERO), None, "nobody has asked");
        requests.fetch = Some(Fetch {
            request: Bytes::new(498),
            server_delay: delay,
            response: Some(Bytes::new(1000)),
            pause: Duration::ZERO,
            continued: false,
        });
        for _ in 0..2 {
            assert_eq!(requests.on_arrived(Bytes::new(200)), None);
            assert_eq!(requests.on_arrived(Bytes::new(298)), Some(delay));
        }
    }
}
