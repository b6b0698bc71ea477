//! What is delivered of the data that is measured of a user.

use std::collections::VecDeque;

use hopflow_overlay::Direction;
use hopflow_units::{Bytes, Cells, Duration, Instant};

use super::journal::Journal;
use crate::histogram::LatencyHistogram;
use crate::outcome::{Download, FailCause, Failure, Latencies, OpenRequest};
use crate::payload::Simulated;
use crate::spec::{Class, Fetch};
use crate::world::outbox::{Left, Request};

/// The end at which the data arrives that is measured of a user.
#[derive(Clone, Debug)]
pub(crate) struct Sink {
    /// The user's number.
    user: u32,
    class: Class,
    /// The direction of the data that is measured.
    measured: Direction,
    pub(crate) bytes: Bytes,
    /// What came over circuits that were closed before.
    pub(crate) before: Bytes,
    /// How many such circuits there were.
    pub(crate) turn: u32,
    pub(crate) cells: Cells,
    pub(crate) latency: LatencyHistogram,
    /// The transfer under way.
    transfer: Option<Transfer>,
    /// The transfers so far of a download that continues.
    begun: Option<Whole>,
    /// Downloads that are complete.
    completed: u32,
    /// How long cells are under way, if that is recorded.
    course: Option<Box<Course>>,
}

/// What is measured of a fetch under way.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    fetch: Fetch,
    requested: Instant,
    first_byte: Option<Instant>,
    received: Bytes,
}

/// Transfers of one download that are complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Whole {
    requested: Instant,
    first_byte: Instant,
    size: Bytes,
}

/// The cells of a user that are under way.
#[derive(Clone, Debug)]
struct Course {
    from: Instant,
    /// The offset behind the last cell that was delivered.
    delivered: u32,
    /// When cells first left their source, in the order of their offsets.
    left: VecDeque<(u32, Instant)>,
    latencies: Latencies,
}

impl Sink {
    pub(crate) fn new(user: u32, class: Class, measured: Direction) -> Self {
        Self {
            user,
            class,
            measured,
            bytes: Bytes::ZERO,
            before: Bytes::ZERO,
            turn: 0,
            cells: Cells::ZERO,
            latency: LatencyHistogram::default(),
            transfer: None,
            begun: None,
            completed: 0,
            course: None,
        }
    }

    /// Records the latencies of cells that are delivered from a time on.
    pub(crate) fn record_latency(&mut self, from: Instant) {
        self.course = Some(Box::new(Course {
            from,
            delivered: 0,
            left: VecDeque::new(),
            latencies: Latencies::default(),
        }));
    }

    /// The latencies of cells, if they were recorded.
    pub(crate) fn latencies(&mut self) -> Option<Latencies> {
        self.course.take().map(|course| course.latencies)
    }

    /// A fetch begins.
    pub(crate) fn begin(&mut self, request: Request) {
        self.transfer = Some(Transfer {
            fetch: request.fetch,
            requested: request.at,
            first_byte: None,
            received: Bytes::ZERO,
        });
    }

    /// The download that is not complete, if there is one that has an end.
    pub(crate) fn open(&self) -> Option<OpenRequest> {
        let endless = |transfer: &Transfer| transfer.fetch.size(self.measured) == Fetch::ENDLESS;
        let under_way = self.transfer.filter(|transfer| !endless(transfer));
        let (requested, first_byte) = match (self.begun, under_way) {
            (Some(begun), _) => (begun.requested, Some(begun.first_byte)),
            (None, transfer) => transfer.map(|it| (it.requested, it.first_byte))?,
        };
        let complete = self.begun.map_or(Bytes::ZERO, |begun| begun.size);
        Some(OpenRequest {
            circuit: self.user,
            class: self.class,
            index: self.completed,
            requested,
            ttfb: first_byte.map(|at| at - requested),
            received: complete + under_way.map_or(Bytes::ZERO, |it| it.received),
        })
    }

    /// The fetch under way: when it was requested, what has arrived of it, and its size; `None` of an
    /// endless one.
    pub(crate) fn under_way(&self) -> Option<(Instant, Bytes, Option<Bytes>)> {
        self.transfer.map(|transfer| {
            let size = transfer.fetch.size(self.measured);
            let finite = (size != Fetch::ENDLESS).then_some(size);
            (transfer.requested, transfer.received, finite)
        })
    }

    /// Notes when a cell left its source. A cell that the source sends again has its time already,
    /// or was delivered.
    pub(crate) fn on_left(&mut self, left: Left) {
        let Some(course) = &mut self.course else {
            return;
        };
        if left.turn == self.turn {
            course.on_left(left.offset, left.at);
        }
    }

    /// Counts a delivered cell, and notes the download that is complete with it.
    #[inline]
    pub(crate) fn on_delivered(&mut self, cell: &Simulated, now: Instant, journal: &mut Journal) {
        assert!(
            cell.offset() == (self.bytes.get() - self.before.get()) as u32,
            "cells are delivered once and in order"
        );
        let len = Bytes::new(u64::from(cell.len()));
        self.bytes += len;
        self.cells += Cells::new(1);
        self.latency.record(now.saturating_since(cell.packaged()));
        if let Some(course) = &mut self.course {
            course.on_delivered(cell, now);
        }
        if let Some(download) = self.advance(len, now) {
            journal.downloads.push(download);
        }
    }

    /// The user has a new circuit, whose stream begins anew.
    pub(crate) fn renew(&mut self) {
        self.before = self.bytes;
        self.turn += 1;
        if let Some(course) = &mut self.course {
            course.delivered = 0;
            course.left.clear();
        }
    }

    /// The circuit is closed: notes the download that will not be complete, if there is one. What was
    /// requested later fails at once.
    pub(crate) fn fail(&mut self, now: Instant, cause: FailCause, journal: &mut Journal) {
        let (transfer, begun) = (self.transfer.take(), self.begun.take());
        let first = begun.map(|begun| (begun.requested, Some(begun.first_byte)));
        let second = transfer.map(|transfer| (transfer.requested, transfer.first_byte));
        let Some((requested, first_byte)) = first.or(second) else {
            return;
        };
        let before = begun.map_or(Bytes::ZERO, |begun| begun.size);
        let size = transfer.map(|transfer| transfer.fetch.size(self.measured));
        journal.failures.push(Failure {
            circuit: self.user,
            class: self.class,
            index: self.completed,
            requested,
            failed: now.max(requested),
            ttfb: first_byte.map(|at| at - requested),
            received: before + transfer.map_or(Bytes::ZERO, |transfer| transfer.received),
            endless: size == Some(Fetch::ENDLESS),
            cause,
        });
    }

    /// Counts what has arrived of the transfer; returns the download that is complete with it.
    #[inline]
    fn advance(&mut self, len: Bytes, now: Instant) -> Option<Download> {
        let transfer = self.transfer.as_mut()?;
        transfer.received += len;
        let first_byte = *transfer.first_byte.get_or_insert(now);
        let size = transfer.fetch.size(self.measured);
        if transfer.received < size {
            return None;
        }
        let (requested, continued) = (transfer.requested, transfer.fetch.continued);
        self.transfer = None;
        let part = Whole {
            requested,
            first_byte,
            size,
        };
        let whole = self.begun.take().map_or(part, |begun| Whole {
            size: begun.size + size,
            ..begun
        });
        if continued {
            self.begun = Some(whole);
            return None;
        }
        let index = self.completed;
        self.completed += 1;
        Some(Download {
            circuit: self.user,
            class: self.class,
            index,
            requested: whole.requested,
            ttfb: whole.first_byte - whole.requested,
            ttlb: now - whole.requested,
            size: whole.size,
        })
    }
}

impl Course {
    /// Notes when a cell left, unless it left before.
    fn on_left(&mut self, offset: u32, at: Instant) {
        // Offsets wrap.
        let ahead = |offset: u32| offset.wrapping_sub(self.delivered);
        if ahead(offset) > u32::MAX / 2 {
            return;
        }
        let first = |(last, _): &(u32, Instant)| ahead(*last) < ahead(offset);
        if self.left.back().is_none_or(first) {
            return self.left.push_back((offset, at));
        }
        // With several circuits cells leave in any order.
        let place = self.left.partition_point(first);
        if self.left[place].0 != offset {
            self.left.insert(place, (offset, at));
        }
    }

    /// Counts a delivered cell; they are delivered in order.
    fn on_delivered(&mut self, cell: &Simulated, now: Instant) {
        self.delivered = cell.offset().wrapping_add(u32::from(cell.len()));
        let left = self.left.pop_front();
        let left = left.filter(|(offset, _)| *offset == cell.offset());
        let (_, left) = left.expect("what is delivered has left its source");
        if now < self.from {
            return;
        }
        let Latencies { packaged, sent } = &mut self.latencies;
        let since = |then: Instant| -> Duration { now.saturating_since(then) };
        packaged.record(since(cell.packaged()));
        sent.record(since(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESPONSE: Bytes = Bytes::new(1000);

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_download_that_fails_is_noted_with_all_that_arrived_of_it() {
        let mut sink = Sink::new(3, Class::Web, Direction::Backward);
        let mut journal = Journal::default();
        sink.fail(at(5), FailCause::Closed, &mut journal);
        assert!(journal.failures.is_empty(), "nothing was under way");
        for (begin, received) in [(10, RESPONSE), (30, Bytes::new(400))] {
            sink.begin(Request {
                at: at(begin),
                fetch: Fetch {
                    request: Bytes::new(498),
                    server_delay: Duration::ZERO,
                    response: Some(RESPONSE),
                    pause: Duration::ZERO,
                    continued: true,
                },
            });
            assert_eq!(sink.advance(received, at(begin + 5)), None);
        }
        sink.fail(at(40), FailCause::Left, &mut journal);
        let expected = Failure {
            circuit: 3,
            class: Class::Web,
            index: 0,
            requested: at(10),
            failed: at(40),
            ttfb: Some(Duration::from_millis(5)),
            received: Bytes::new(1400),
            endless: false,
            cause: FailCause::Left,
        };
        assert_eq!(journal.failures, [expected]);
    }

    #[test]
    fn what_is_requested_after_the_end_of_the_circuit_fails_at_once() {
        let mut sink = Sink::new(3, Class::Web, Direction::Forward);
        let mut journal = Journal::default();
        sink.begin(Request {
            at: at(10),
            fetch: Fetch {
                request: RESPONSE,
                server_delay: Duration::ZERO,
                response: None,
                pause: Duration::ZERO,
                continued: false,
            },
        });
        sink.fail(at(7), FailCause::Closed, &mut journal);
        let failure = journal.failures[0];
        assert_eq!((failure.requested, failure.failed), (at(10), at(10)));
        assert_eq!(sink.open(), None);
    }

    #[test]
    fn fetches_that_continue_are_one_download() {
        let mut sink = Sink::new(3, Class::Web, Direction::Backward);
        let half = Bytes::new(500);
        for (begin, continued) in [(10, true), (30, false)] {
            sink.begin(Request {
                at: at(begin),
                fetch: Fetch {
                    request: Bytes::new(498),
                    server_delay: Duration::from_millis(3),
                    response: Some(RESPONSE),
                    pause: Duration::from_millis(7),
                    continued,
                },
            });
            assert_eq!(sink.advance(half, at(begin + 5)), None);
            let download = sink.advance(half, at(begin + 6));
            let expected = Download {
                circuit: 3,
                class: Class::Web,
                index: 0,
                requested: at(10),
                ttfb: Duration::from_millis(5),
                ttlb: Duration::from_millis(26),
                size: RESPONSE + RESPONSE,
            };
            assert_eq!(download, (!continued).then_some(expected));
        }
        assert_eq!(sink.advance(half, at(40)), None, "nothing is under way");
    }

    #[test]
    fn what_is_not_complete_is_open_since_its_first_request() {
        let fetch = |response, continued| Fetch {
            request: Bytes::new(498),
            server_delay: Duration::from_millis(3),
            response,
            pause: Duration::from_millis(7),
            continued,
        };
        let begin = |sink: &mut Sink, millis, fetch| {
            sink.begin(Request {
                at: at(millis),
                fetch,
            });
        };
        let mut sink = Sink::new(3, Class::Web, Direction::Backward);
        assert_eq!(sink.open(), None, "nothing was requested");
        begin(&mut sink, 10, fetch(Some(RESPONSE), true));
        let open = sink.open().unwrap();
        assert_eq!((open.ttfb, open.received), (None, Bytes::ZERO));
        assert_eq!(sink.advance(RESPONSE, at(15)), None);
        let between = sink.open().unwrap();
        assert_eq!(between.ttfb, Some(Duration::from_millis(5)));
        begin(&mut sink, 30, fetch(Some(RESPONSE), false));
        sink.advance(Bytes::new(1), at(31));
        let open = sink.open().unwrap();
        assert_eq!((open.requested, open.index), (at(10), 0));
        assert_eq!(open.received, RESPONSE + Bytes::new(1));
        sink.advance(RESPONSE, at(40));
        assert_eq!(sink.open(), None, "all is complete");
        begin(&mut sink, 50, fetch(None, false));
        assert_eq!(sink.open(), None, "it has no end");
    }

    #[test]
    fn cells_that_leave_in_any_order_stand_in_that_of_their_offsets() {
        let start = 0_u32.wrapping_sub(498);
        let mut course = Course {
            from: Instant::ZERO,
            delivered: start,
            left: VecDeque::new(),
            latencies: Latencies::default(),
        };
        let before = start.wrapping_sub(498);
        for (offset, millis) in [(0, 2), (start, 1), (498, 3), (start, 9), (before, 4)] {
            course.on_left(offset, at(millis));
        }
        let left: Vec<_> = course.left.into_iter().collect();
        assert_eq!(left, [(start, at(1)), (0, at(2)), (498, at(3))]);
    }
}
