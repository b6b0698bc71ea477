//! Users: clients that fetch, and the servers that answer them.

use hopflow_overlay::{CircuitHandle, StreamHandle};
use hopflow_random::Stream;
use hopflow_units::{Bytes, Cells, CircuitId, Instant, LinkId};

use super::{Rare, World};
use crate::payload::{Place, Simulated};
use crate::spec::{Class, Fetch, Session};
use crate::{Download, LatencyHistogram};

/// More than any simulation transfers.
const ENDLESS: Bytes = Bytes::new(1 << 62);

/// A user of a circuit and its server.
#[derive(Debug)]
pub(super) struct User {
    pub(super) class: Class,
    session: Box<dyn Session>,
    /// The circuit at each of its nodes, from the client to the exit.
    pub(super) hops: Vec<(u32, CircuitHandle)>,
    /// Where responses begin: the link of the exit towards the client, and the circuit there.
    pub(super) source: (LinkId, CircuitId),
    pub(super) client: StreamHandle,
    pub(super) exit: StreamHandle,
    pub(super) rng: Stream,
    pub(super) closed: bool,
    pub(super) latency: LatencyHistogram,
    pub(super) delivered: Bytes,
    pub(super) delivered_cells: Cells,
    requests_received: Bytes,
    fetching: Option<Fetching>,
    fetched: u32,
}

/// A circuit's way through the network.
#[derive(Debug)]
pub(super) struct Way {
    /// The circuit at each of its nodes, from the client to the exit.
    pub(super) hops: Vec<(u32, CircuitHandle)>,
    /// The link of the exit towards the client, and the circuit there.
    pub(super) source: (LinkId, CircuitId),
}

/// A download under way.
#[derive(Clone, Copy, Debug)]
struct Fetching {
    fetch: Fetch,
    requested: Instant,
    first_byte: Option<Instant>,
    received: Bytes,
}

impl User {
    pub(super) fn new(
        (class, session): (Class, Box<dyn Session>),
        Way { hops, source }: Way,
        (client, exit): (StreamHandle, StreamHandle),
        rng: Stream,
    ) -> Self {
        Self {
            class,
            session,
            hops,
            source,
            client,
            exit,
            rng,
            closed: false,
            latency: LatencyHistogram::default(),
            delivered: Bytes::ZERO,
            delivered_cells: Cells::ZERO,
            requests_received: Bytes::ZERO,
            fetching: None,
            fetched: 0,
        }
    }

    fn client_node(&self) -> usize {
        self.hops[0].0 as usize
    }

    pub(super) fn exit_node(&self) -> usize {
        self.hops[self.hops.len() - 1].0 as usize
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
        });
        let (node, stream) = (user.client_node(), user.client);
        self.nodes[node]
            .host
            .write(self.now, stream, Place::default(), fetch.request);
        self.pump(node);
    }

    /// Part of a request has reached the exit.
    pub(super) fn on_request(&mut self, index: usize, cell: &Simulated) {
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
        let size = fetch.response.unwrap_or(ENDLESS);
        self.nodes[node]
            .host
            .write(self.now, stream, Place::default(), size);
        self.pump(node);
    }

    /// Part of a response has reached the client.
    #[inline]
    pub(super) fn on_response(&mut self, index: usize, cell: &Simulated) {
        let now = self.now;
        let user = &mut self.users[index];
        user.count(now, cell);
        self.note_delivered(index, cell);
        let user = &mut self.users[index];
        let Some(fetching) = &mut user.fetching else {
            return;
        };
        fetching.received += Bytes::new(u64::from(cell.len()));
        let first_byte = *fetching.first_byte.get_or_insert(now);
        let size = fetching.fetch.response.unwrap_or(ENDLESS);
        if fetching.received < size {
            return;
        }
        let download = Download {
            circuit: index as u32,
            class: user.class,
            index: user.fetched,
            requested: fetching.requested,
            ttfb: first_byte - fetching.requested,
            ttlb: now - fetching.requested,
            size,
        };
        let pause = fetching.fetch.pause;
        user.fetched += 1;
        user.fetching = None;
        self.recorder.downloads.push(download);
        self.add_rare(now + pause, Rare::Request(index as u32));
    }
}
