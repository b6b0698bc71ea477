//! The sending end: cells until they are acknowledged.

use std::collections::VecDeque;

use hopflow_tcp::{Connection, Segment};
use hopflow_units::{Instant, StreamId};
use hopflow_wire::{CellAck, CellFlags, CellSeq, Payload, RelayCommand, RelayHeader};

use super::segment::{CELL, EndToEnd, Tag};
use crate::Violation;
use crate::circuit::rest;

/// So many time-outs and questions in a row may stay without any acknowledgement before the sink counts as
/// gone: that takes two and a half hours. Linux gives up after 15 (`tcp_retries2`), but losses of all hops, there
/// and back, add up: where nine of ten go unanswered, two in 10,000 of such rows are chance.
const SILENCES: u64 = 80;

/// So many times of sending a cell again are known one by one; the last one stands for later ones.
const MOST_AGAIN: usize = 15;

/// The sending end of a circuit's connection.
#[derive(Clone, Debug)]
pub(crate) struct Source<P> {
    connection: Connection,
    buffer: u64,
    /// Cells that are not acknowledged, sent or not, in their order.
    kept: VecDeque<Kept<P>>,
    /// The number of the first of these.
    first: u64,
    /// Cells that were sent so far.
    sent: u64,
    /// Time-outs and questions since the last acknowledgement that had not come before.
    silences: u64,
    /// The number after the highest of the control cells that acknowledged.
    heard: u64,
}

/// A cell, and when it was sent.
#[derive(Clone, Debug)]
struct Kept<P> {
    payload: P,
    first: Instant,
    again: Vec<Instant>,
}

impl<P> Kept<P> {
    fn sent_at(&self, attempt: u8) -> Option<Instant> {
        match attempt {
            0 => Some(self.first),
            again => self.again.get(usize::from(again) - 1).copied(),
        }
    }

    /// Notes another transmission.
    fn send_again(&mut self, now: Instant) -> u8 {
        if self.again.len() == MOST_AGAIN {
            self.again.pop();
        }
        self.again.push(now);
        self.again.len() as u8
    }
}

impl<P: Payload> Source<P> {
    pub(crate) fn new(config: &EndToEnd) -> Self {
        Self {
            connection: Connection::established(&config.tcp),
            buffer: config.send_buffer.get(),
            kept: VecDeque::new(),
            first: 0,
            sent: 0,
            silences: 0,
            heard: 0,
        }
    }

    /// Takes a cell that is to be sent.
    pub(crate) fn push(&mut self, payload: P) {
        self.kept.push_back(Kept {
            payload,
            first: Instant::ZERO,
            again: Vec::new(),
        });
        self.connection.write(CELL);
    }

    /// Cells that wait to be sent for the first time.
    pub(crate) fn unsent(&self) -> u64 {
        self.first + self.kept.len() as u64 - self.sent
    }

    /// Cells that were sent and not acknowledged.
    pub(crate) const fn outstanding(&self) -> u64 {
        self.sent - self.first
    }

    /// Cells that were sent so far.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether no more cells are kept.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() as u64 >= self.buffer
    }

    /// The next cell that TCP lets go, with its tag; or a question, without one, where only the sink's
    /// window holds it back.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(Option<Tag>, P)> {
        let segment = self.connection.poll_transmit(now)?;
        if segment.payload().is_zero() {
            self.silences += 1;
            let question = RelayHeader::control(RelayCommand::Ask, StreamId::CIRCUIT);
            return Some((None, P::control(question, now)));
        }
        let number = segment.offset().get() / CELL.get();
        let kept = self.kept.get_mut((number - self.first) as usize)?;
        let attempt = if number >= self.sent {
            self.sent = number + 1;
            kept.first = now;
            0
        } else {
            kept.send_again(now)
        };
        let tag = Tag {
            number: CellSeq::of(number),
            flags: CellFlags::sent_before(attempt),
        };
        Some((Some(tag), kept.payload.clone()))
    }

    /// The sink acknowledges what has arrived, by the control cell with this number.
    ///
    /// # Errors
    /// If it names cells that were never sent.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        number: CellSeq,
        ack: &CellAck,
    ) -> Result<(), Violation> {
        let next = ack.next.widen(self.first);
        if next > self.sent {
            return Err(Violation::BeyondSent);
        }
        // Whoever repeats what a sink said does not speak for it.
        let number = number.widen(self.heard);
        if number >= self.heard {
            self.heard = number + 1;
            self.silences = 0;
        }
        let echo = self.answered(ack, next);
        let mut segment = Segment::acknowledging(CELL * next, CELL * u64::from(ack.window), echo);
        for (start, end) in ack.arrived.into_iter().filter(|range| *range != (0, 0)) {
            let [start, end] = [start, end].map(|edge| next + u64::from(edge));
            if start >= end || end > self.sent {
                return Err(Violation::BeyondSent);
            }
            segment = segment.and_arrived(CELL * start, CELL * end);
        }
        self.connection.receive(now, &segment);
        while self.first < next {
            self.kept.pop_front();
            self.first += 1;
        }
        rest(&mut self.kept);
        Ok(())
    }

    /// When the cell was sent that an acknowledgement answers. Of one that is no longer known, or
    /// never was, the time is that of the last cell that it acknowledges.
    fn answered(&self, ack: &CellAck, next: u64) -> Instant {
        let sent = self.outstanding() as usize;
        let at = |number: u64| {
            let place = number.checked_sub(self.first)? as usize;
            self.kept.get(place).filter(|_| place < sent)
        };
        let back = |cells: u16| at(next.checked_sub(cells.into())?);
        let answered = back(ack.answered).and_then(|kept| kept.sent_at(ack.attempt));
        let last = || back(1);
        let latest = |kept: &Kept<P>| kept.again.last().copied().unwrap_or(kept.first);
        answered
            .or_else(|| last().map(latest))
            .unwrap_or(Instant::ZERO)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    /// Does what is due by the time.
    ///
    /// # Errors
    /// If the sink has been silent for so long that it counts as gone.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Result<(), Violation> {
        let before = self.connection.stats().timeouts;
        self.connection.handle_timeout(now);
        self.silences += self.connection.stats().timeouts - before;
        if self.silences > SILENCES {
            return Err(Violation::Unreachable);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_units::Cells;
    use hopflow_wire::RawPayload;

    fn source() -> Source<RawPayload> {
        let cells = Cells::new(100);
        let config = EndToEnd::new(hopflow_tcp::Config::default(), cells, cells);
        Source::new(&config)
    }

    fn push(source: &mut Source<RawPayload>, count: usize) {
        let header = RelayHeader::control(RelayCommand::Ask, StreamId::CIRCUIT);
        for _ in 0..count {
            source.push(RawPayload::control(header, Instant::ZERO));
        }
    }

    fn ack(next: u64) -> CellAck {
        CellAck {
            next: CellSeq::of(next),
            window: 100,
            ..CellAck::default()
        }
    }

    /// Time-outs until the sink counts as gone, or some 500, while control cells with these numbers
    /// acknowledge the first cell again and again.
    fn timeouts(number: impl Fn(u64) -> u64) -> u64 {
        let mut source = source();
        push(&mut source, 10);
        let mut now = Instant::from_nanos(1);
        for nth in 0..5000 {
            while source.next(now).is_some() {}
            let number = CellSeq::of(number(nth));
            source.on_ack(now, number, &ack(1)).expect("it was sent");
            now = source.deadline().expect("nine cells are outstanding");
            let before = source.connection.stats().timeouts;
            if source.handle_timeout(now).is_err() || before >= 500 {
                return source.connection.stats().timeouts;
            }
        }
        0
    }

    #[test]
    fn what_a_sink_said_before_does_not_say_that_it_is_there() {
        assert_eq!(timeouts(|_| 0), SILENCES + 1);
        assert!(timeouts(|nth| nth) >= 500, "a sink that goes on is there");
    }

    #[test]
    fn a_source_whose_cells_have_arrived_keeps_no_room() {
        let mut source = source();
        push(&mut source, 100);
        let mut now = Instant::from_nanos(1);
        let mut acknowledged = 0;
        while source.outstanding() + source.unsent() > 0 {
            now += hopflow_units::Duration::from_millis(1);
            while source.next(now).is_some() {}
            let all = ack(source.sent());
            source
                .on_ack(now, CellSeq::of(acknowledged), &all)
                .expect("it was sent");
            acknowledged += 1;
        }
        assert!(source.kept.capacity() <= 32);
    }
}
