//! A user at its client.

use std::collections::VecDeque;

use hopflow_overlay::Direction;
use hopflow_random::Stream;
use hopflow_units::{Bytes, Instant};

use super::endpoint::{Endpoint, StreamWrite};
use super::journal::Journal;
use super::renewal::{Later, Renewal};
use super::sink::Sink;
use crate::outcome::Visit;
use crate::payload::Simulated;
use crate::spec::{Fetch, Session};
use crate::world::address::UserAt;
use crate::world::outbox::Request;

/// A user of one or several circuits.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) endpoint: Endpoint,
    /// Its server.
    server: UserAt,
    session: Box<dyn Session>,
    random: Stream,
    /// The fetch under way, and what has arrived of the response.
    fetching: Option<(Fetch, Bytes)>,
    /// The page being visited, by its number among all visits of the machine.
    visit: Option<usize>,
    /// What is measured, if that is what the client receives.
    pub(crate) sink: Option<Sink>,
    pub(crate) renewal: Renewal,
}

impl Client {
    pub(crate) fn new(
        endpoint: Endpoint,
        server: UserAt,
        session: Box<dyn Session>,
        random: Stream,
        sink: Option<Sink>,
        later: VecDeque<Later>,
    ) -> Self {
        Self {
            renewal: Renewal::new(later),
            endpoint,
            server,
            session,
            random,
            fetching: None,
            visit: None,
            sink,
        }
    }

    /// The user sends its next request, if there is one, of which its server will hear.
    pub(crate) fn request(
        &mut self,
        now: Instant,
        journal: &mut Journal,
        out: &mut Vec<(UserAt, Request)>,
    ) -> Option<StreamWrite> {
        if self.endpoint.closed {
            self.renewal.wanted = true;
            return None;
        }
        let fetch = self.session.next(&mut self.random)?;
        let write = self.begin(now, fetch, out);
        if let Some(page) = self.session.page().filter(|page| page.begins) {
            let visit = Visit::new(self.endpoint.user, now, &page);
            self.visit = Some(journal.begin_visit(visit));
        }
        Some(write)
    }

    /// The client takes its next circuit, on which it asks again for what it was fetching, or for what
    /// it was to ask for when it had none.
    pub(crate) fn renew(
        &mut self,
        now: Instant,
        journal: &mut Journal,
        out: &mut Vec<(UserAt, Request)>,
    ) -> Option<StreamWrite> {
        let later = self.renewal.take()?;
        self.endpoint = later.endpoint;
        self.server = later.server;
        if let Some(sink) = &mut self.sink {
            sink.renew();
        }
        if self.endpoint.closed {
            return None;
        }
        let wanted = std::mem::take(&mut self.renewal.wanted);
        match self.fetching {
            Some((fetch, _)) => Some(self.begin(now, fetch, out)),
            None if wanted => self.request(now, journal, out),
            None => None,
        }
    }

    /// Begins a fetch, of which the server will hear.
    fn begin(
        &mut self,
        now: Instant,
        fetch: Fetch,
        out: &mut Vec<(UserAt, Request)>,
    ) -> StreamWrite {
        let request = Request { at: now, fetch };
        self.fetching = Some((fetch, Bytes::ZERO));
        if let Some(sink) = &mut self.sink {
            sink.begin(request);
        }
        out.push((self.server, request));
        self.endpoint.write(fetch.request)
    }

    /// A cell has reached the client: returns when the next request follows, if the response is
    /// complete.
    #[inline]
    pub(crate) fn on_delivered(
        &mut self,
        cell: &Simulated,
        now: Instant,
        journal: &mut Journal,
    ) -> Option<Instant> {
        if let Some(sink) = &mut self.sink {
            sink.on_delivered(cell, now, journal);
        }
        let (fetch, answered) = self.fetching.as_mut()?;
        *answered += Bytes::new(u64::from(cell.len()));
        if *answered < fetch.size(Direction::Backward) {
            return None;
        }
        let pause = fetch.pause;
        self.fetching = None;
        if let Some(visit) = self.visit {
            journal.extend_visit(visit, now);
        }
        Some(now + pause)
    }
}
