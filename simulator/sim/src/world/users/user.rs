//! One user and its server.

use hopflow_overlay::{CircuitHandle, Direction, StreamHandle};
use hopflow_random::Stream;
use hopflow_units::{Bytes, Cells, Instant};

use super::journal::Journal;
use super::leg::Leg;
use super::transfers::{Fetched, Transfers};
use crate::histogram::LatencyHistogram;
use crate::outcome::{CircuitOutcome, Download, Visit};
use crate::payload::Simulated;
use crate::spec::{CircuitSpec, Class, Session};
use crate::world::address::{CircuitEnd, NodeAt};
use crate::world::schedule::Scheduled;

/// A user of one or several circuits and its server.
#[derive(Debug)]
pub(crate) struct User {
    number: u32,
    class: Class,
    /// The direction of the data that is measured.
    measured: Direction,
    /// The circuits that the user's stream has.
    legs: Vec<Leg>,
    /// The stream at the client and at the exit.
    streams: [StreamHandle; 2],
    session: Box<dyn Session>,
    random: Stream,
    transfers: Transfers,
    /// The page being visited, by its number among all visits.
    visit: Option<usize>,
    received: Received,
    closed: bool,
}

/// What was delivered of the data that is measured.
#[derive(Debug, Default)]
struct Received {
    bytes: Bytes,
    cells: Cells,
    latency: LatencyHistogram,
}

impl Received {
    /// Counts a delivered cell.
    #[inline]
    fn count(&mut self, now: Instant, cell: &Simulated) {
        assert!(
            cell.offset() == self.bytes.get() as u32,
            "cells are delivered once and in order"
        );
        self.bytes += Bytes::new(u64::from(cell.len()));
        self.cells += Cells::new(1);
        self.latency.record(now.saturating_since(cell.packaged()));
    }
}

/// What a user or its server writes onto its stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamWrite {
    pub(crate) node: NodeAt,
    pub(crate) stream: StreamHandle,
    pub(crate) len: Bytes,
}

impl User {
    pub(crate) fn new(
        number: u32,
        spec: &CircuitSpec,
        legs: Vec<Leg>,
        streams: [StreamHandle; 2],
        random: Stream,
    ) -> Self {
        let measured = spec.workload.measured();
        Self {
            number,
            class: spec.class,
            measured,
            legs,
            streams,
            session: spec.workload.session(),
            random,
            transfers: Transfers::new(measured),
            visit: None,
            received: Received::default(),
            closed: false,
        }
    }

    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    /// The direction of the data that is measured.
    pub(crate) const fn measured(&self) -> Direction {
        self.measured
    }

    /// The circuits that the user's stream has.
    pub(crate) fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Bytes delivered of what is measured.
    pub(crate) const fn delivered(&self) -> Bytes {
        self.received.bytes
    }

    /// The node and the stream at one end.
    pub(crate) fn end(&self, end: CircuitEnd) -> (NodeAt, StreamHandle) {
        (self.legs[0].end(end).0, self.streams[end as usize])
    }

    /// The node and the stream where the data that is measured begins.
    pub(crate) fn source(&self) -> (NodeAt, StreamHandle) {
        self.end(CircuitEnd::source(self.measured))
    }

    /// Notes that a circuit is closed: the user stops if it is one of its own.
    pub(crate) fn on_closed(&mut self, node: NodeAt, circuit: CircuitHandle) {
        let mut hops = self.legs.iter().flat_map(Leg::hops);
        self.closed |= hops.any(|hop| *hop == (node, circuit));
    }

    /// The user sends its next request, if there is one.
    pub(crate) fn request(&mut self, now: Instant, journal: &mut Journal) -> Option<StreamWrite> {
        if self.closed {
            return None;
        }
        let fetch = self.session.next(&mut self.random)?;
        self.transfers.begin(fetch, now);
        if let Some(page) = self.session.page().filter(|page| page.begins) {
            self.visit = Some(journal.begin_visit(Visit::new(self.number, now, &page)));
        }
        Some(self.writes(CircuitEnd::Client, fetch.request))
    }

    /// The server's answer reaches the exit.
    pub(crate) fn respond(&self) -> Option<StreamWrite> {
        let fetch = self.transfers.fetch().filter(|_| !self.closed)?;
        Some(self.writes(CircuitEnd::Exit, fetch.size(Direction::Backward)))
    }

    fn writes(&self, end: CircuitEnd, len: Bytes) -> StreamWrite {
        let (node, stream) = self.end(end);
        StreamWrite { node, stream, len }
    }

    /// A cell has reached one of the ends: returns what happens next because of it, and when.
    #[inline]
    pub(crate) fn on_delivered(
        &mut self,
        end: CircuitEnd,
        cell: &Simulated,
        now: Instant,
        journal: &mut Journal,
    ) -> Option<(Instant, Scheduled)> {
        let len = Bytes::new(u64::from(cell.len()));
        if end.incoming() == self.measured {
            self.received.count(now, cell);
            if let Some(whole) = self.transfers.on_measured(len, now) {
                journal.downloads.push(self.download(&whole, now));
            }
        }
        match end {
            CircuitEnd::Exit => {
                let delay = self.transfers.on_request(len)?;
                Some((now + delay, Scheduled::Respond(self.number)))
            }
            CircuitEnd::Client => {
                let pause = self.transfers.on_response(len)?;
                if let Some(visit) = self.visit {
                    journal.extend_visit(visit, now);
                }
                Some((now + pause, Scheduled::Request(self.number)))
            }
        }
    }

    fn download(&self, whole: &Fetched, now: Instant) -> Download {
        Download {
            circuit: self.number,
            class: self.class,
            index: whole.index,
            requested: whole.requested,
            ttfb: whole.first_byte - whole.requested,
            ttlb: now - whole.requested,
            size: whole.size,
        }
    }

    /// The user's results, of a source that has packaged so much.
    pub(crate) fn outcome(&self, packaged: Bytes) -> CircuitOutcome {
        let Received {
            bytes,
            cells,
            latency,
        } = &self.received;
        CircuitOutcome {
            class: self.class,
            hops: self.legs[0].hops().len() as u32 - 1,
            packaged,
            delivered: *bytes,
            delivered_cells: *cells,
            latency: latency.clone(),
            closed: self.closed,
        }
    }
}
