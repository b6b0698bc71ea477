//! Users: clients that fetch or upload, and the servers that answer them.

use hopflow_overlay::{CircuitHandle, Direction, StreamHandle};
use hopflow_random::Stream;
use hopflow_units::{Bytes, Cells, CircuitId, Instant, LinkId};

use super::{End, Rare, World};
use crate::payload::{DataOffset, Simulated};
use crate::spec::{CircuitSpec, Class, Fetch, Session};
use crate::{Download, LatencyHistogram, Visit};

/// A user of one or several circuits and its server.
#[derive(Debug)]
pub(super) struct User {
    pub(super) class: Class,
    session: Box<dyn Session>,
    /// The direction of the data that is measured.
    pub(super) measured: Direction,
    /// The circuits that the user's stream has.
    pub(super) ways: Vec<Way>,
    pub(super) client: StreamHandle,
    pub(super) exit: StreamHandle,
    pub(super) rng: Stream,
    pub(super) closed: bool,
    pub(super) latency: LatencyHistogram,
    pub(super) delivered: Bytes,
    pub(super) delivered_cells: Cells,
    requests_received: Bytes,
    fetching: Option<Fetching>,
    /// What the fetches of a download that goes on have fetched.
    begun: Option<Fetched>,
    fetched: u32,
    /// The page being visited, by its position among all visits.
    visit: Option<usize>,
}

/// A circuit's way through the network.
#[derive(Debug)]
pub(super) struct Way {
    /// The circuit at each of its nodes, from the client to the exit.
    pub(super) hops: Vec<(u32, CircuitHandle)>,
    /// For each direction, the link and the circuit's name there of each node that sends, from the
    /// source on.
    pub(super) names: [Vec<(LinkId, CircuitId)>; 2],
}

/// A transfer under way.
#[derive(Clone, Copy, Debug)]
struct Fetching {
    fetch: Fetch,
    requested: Instant,
    first_byte: Option<Instant>,
    /// Of what is measured.
    received: Bytes,
    answered: Bytes,
}

/// Fetches of one download that are complete.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    requested: Instant,
    first_byte: Instant,
    size: Bytes,
}

impl Fetched {
    /// These fetches and a later one.
    fn and(self, later: Self) -> Self {
        Self {
            size: self.size + later.size,
            ..self
        }
    }
}

impl Way {
    /// The circuit at one of its ends.
    pub(super) fn end(&self, end: End) -> (u32, CircuitHandle) {
        match end {
            End::Client => self.hops[0],
            End::Exit => self.hops[self.hops.len() - 1],
        }
    }

    /// Where what flows in `direction` begins: the node, its link, and the circuit there.
    pub(super) fn source(&self, direction: Direction) -> (u32, LinkId, CircuitId) {
        let (link, circuit) = self.names[direction as usize][0];
        (self.end(End::source(direction)).0, link, circuit)
    }

    /// The nodes that send what flows in `direction`, from its source on.
    pub(super) fn senders(&self, direction: Direction) -> Vec<(u32, CircuitHandle)> {
        match direction {
            Direction::Forward => self.hops[..self.hops.len() - 1].to_vec(),
            Direction::Backward => self.hops[1..].iter().rev().copied().collect(),
        }
    }
}

impl End {
    /// The end where what flows in `direction` begins.
    const fn source(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::Client,
            Direction::Backward => Self::Exit,
        }
    }
}

impl User {
    pub(super) fn new(
        spec: &CircuitSpec,
        ways: Vec<Way>,
        (client, exit): (StreamHandle, StreamHandle),
        rng: Stream,
    ) -> Self {
        Self {
            class: spec.class,
            session: spec.workload.session(),
            measured: spec.workload.measured(),
            ways,
            client,
            exit,
            rng,
            closed: false,
            latency: LatencyHistogram::default(),
            delivered: Bytes::ZERO,
            delivered_cells: Cells::ZERO,
            requests_received: Bytes::ZERO,
            fetching: None,
            begun: None,
            fetched: 0,
            visit: None,
        }
    }

    fn client_node(&self) -> usize {
        self.ways[0].end(End::Client).0 as usize
    }

    fn exit_node(&self) -> usize {
        self.ways[0].end(End::Exit).0 as usize
    }

    /// The node and the stream where the data that is measured begins.
    pub(super) fn source(&self) -> (usize, StreamHandle) {
        match End::source(self.measured) {
            End::Client => (self.client_node(), self.client),
            End::Exit => (self.exit_node(), self.exit),
        }
    }

    /// Counts a delivered cell.
    #[inline]
    fn count(&mut self, now: Instant, cell: &Simulated) {
        assert!(
            cell.offset() == self.delivered.get() as u32,
            "cells are delivered once and in order"
        );
        self.delivered += Bytes::new(u64::from(cell.len()));
        self.delivered_cells += Cells::new(1);
        self.latency.record(now.saturating_since(cell.packaged()));
    }
}

impl World {
    /// A user asks for a response.
    pub(super) fn request(&mut self, index: usize) {
        let user = &mut self.users[index];
        if user.closed {
            return;
        }
        let Some(fetch) = user.session.next(&mut user.rng) else {
            return;
        };
        user.fetching = Some(Fetching {
            fetch,
            requested: self.now,
            first_byte: None,
            received: Bytes::ZERO,
            answered: Bytes::ZERO,
        });
        if let Some(page) = user.session.page().filter(|page| page.begins) {
            user.visit = Some(self.recorder.visits.len());
            let visit = Visit::new(index as u32, self.now, &page);
            self.recorder.visits.push(visit);
        }
        let (node, stream) = (user.client_node(), user.client);
        self.nodes[node]
            .host
            .write(self.now, stream, DataOffset::default(), fetch.request);
        self.pump(node);
    }

    /// Part of a request has reached the exit.
    pub(super) fn on_request(&mut self, index: usize, cell: &Simulated) {
        self.trace_request(index, cell);
        if self.users[index].measured == Direction::Forward {
            self.on_measured(index, cell);
        }
        let user = &mut self.users[index];
        user.requests_received += Bytes::new(u64::from(cell.len()));
        let Some(Fetching { fetch, .. }) = user.fetching else {
            return;
        };
        if user.requests_received < fetch.request {
            return;
        }
        user.requests_received -= fetch.request;
        let delay = fetch.server_delay;
        self.add_rare(self.now + delay, Rare::Respond(index as u32));
    }

    /// The server's answer reaches the exit.
    pub(super) fn respond(&mut self, index: usize) {
        let user = &self.users[index];
        if user.closed {
            return;
        }
        let Some(Fetching { fetch, .. }) = user.fetching else {
            return;
        };
        let (node, stream) = (user.exit_node(), user.exit);
        let size = fetch.size(Direction::Backward);
        self.nodes[node]
            .host
            .write(self.now, stream, DataOffset::default(), size);
        self.pump(node);
    }

    /// Part of a response has reached the client.
    #[inline]
    pub(super) fn on_response(&mut self, index: usize, cell: &Simulated) {
        if self.users[index].measured == Direction::Backward {
            self.on_measured(index, cell);
        }
        let user = &mut self.users[index];
        let Some(fetching) = &mut user.fetching else {
            return;
        };
        fetching.answered += Bytes::new(u64::from(cell.len()));
        let Fetching {
            fetch, answered, ..
        } = *fetching;
        if answered < fetch.size(Direction::Backward) {
            return;
        }
        user.fetched += u32::from(!fetch.continued);
        user.fetching = None;
        if let Some(visit) = user.visit {
            self.recorder.visits[visit].end = self.now;
        }
        self.add_rare(self.now + fetch.pause, Rare::Request(index as u32));
    }

    /// Part of what is measured has reached its end.
    #[inline]
    fn on_measured(&mut self, index: usize, cell: &Simulated) {
        let now = self.now;
        self.users[index].count(now, cell);
        self.note_delivered(index, cell);
        let user = &mut self.users[index];
        let Some(fetching) = &mut user.fetching else {
            return;
        };
        fetching.received += Bytes::new(u64::from(cell.len()));
        let first_byte = *fetching.first_byte.get_or_insert(now);
        let size = fetching.fetch.size(user.measured);
        if fetching.received < size {
            return;
        }
        let part = Fetched {
            requested: fetching.requested,
            first_byte,
            size,
        };
        let whole = user.begun.take().map_or(part, |begun| begun.and(part));
        if fetching.fetch.continued {
            user.begun = Some(whole);
            return;
        }
        self.recorder.downloads.push(Download {
            circuit: index as u32,
            class: user.class,
            index: user.fetched,
            requested: whole.requested,
            ttfb: whole.first_byte - whole.requested,
            ttlb: now - whole.requested,
            size: whole.size,
        });
    }
}
