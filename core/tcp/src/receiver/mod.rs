//! The receiving half: order, acknowledgements, and the advertised window.

mod ack_schedule;
mod reassembly;
mod sack_list;
mod window;

use hopflow_units::Instant;

use crate::Config;
use crate::ranges::Range;
use crate::segment::{Flags, SackBlocks, Segment};
use ack_schedule::AckSchedule;
use reassembly::{Placement, Reassembly};
use sack_list::SackList;
use window::AdvertisedWindow;

/// The acknowledgement fields of an outgoing segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) next: u64,
    pub(crate) window: u32,
    pub(crate) echo: Instant,
    pub(crate) sack: SackBlocks,
}

/// The receiving half of a connection: routes between the parts that keep its state.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    reassembly: Reassembly,
    sack: SackList,
    window: AdvertisedWindow,
    acks: AckSchedule,
    /// Timestamp of the segment that the next acknowledgement is for (RFC 7323, section 4.3,
    /// `TS.Recent`).
    echo: Instant,
    /// The cumulative acknowledgement sent last (RFC 7323, section 4.3, `Last.ACK.sent`).
    acked: u64,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            reassembly: Reassembly::default(),
            sack: SackList::new(config.sack),
            window: AdvertisedWindow::new(config),
            acks: AckSchedule::new(config),
            echo: Instant::ZERO,
            acked: 0,
        }
    }

    /// Bytes that have arrived in order and were not read.
    pub(crate) fn readable(&self) -> u64 {
        self.reassembly.readable()
    }

    /// Whether the other side's stream has ended and all of it has arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.reassembly.is_finished()
    }

    /// Takes `len` bytes out of the buffer, at most what is readable.
    pub(crate) fn read(&mut self, len: u64) {
        self.reassembly.read(len);
        let (read, nxt) = (self.reassembly.read_up_to(), self.reassembly.nxt());
        if self.window.wants_update(read, nxt) {
            self.acks.demand();
        }
        if self.readable() == 0 {
            self.acks.on_all_read();
        }
    }

    /// Notes that data goes the other way: if it answers data, acknowledgements can wait for it.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.acks.on_answer(now);
    }

    /// Notes the timestamp of a segment that opens the connection, and that it wants an answer.
    pub(crate) fn opened(&mut self, timestamp: Instant) {
        self.echo = self.echo.max(timestamp);
        self.acks.demand();
    }

    /// Takes in the data of a segment.
    pub(crate) fn receive(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.has(Flags::PROBE) {
            self.acks.demand();
        }
        if segment.seq <= self.acked {
            self.echo = self.echo.max(segment.timestamp);
        }
        let range = segment.range();
        if range.start == range.end {
            return;
        }
        if segment.is_fin() {
            self.reassembly.end_at(range.end - 1);
        }
        let end = self.window.admit(range.end, segment.is_fin());
        match self.reassembly.insert(Range::new(range.start, end)) {
            Placement::Nothing => self.acks.demand(),
            // The duplicate acknowledgement goes at once (RFC 5681, section 4.2).
            Placement::OutOfOrder(merged) => {
                self.sack.add(merged);
                self.acks.demand();
            }
            Placement::InOrder { hole } => self.on_in_order(now, segment, hole),
        }
    }

    /// Schedules the acknowledgement of data in order; `hole`: there was data above a hole.
    fn on_in_order(&mut self, now: Instant, segment: &Segment, hole: bool) {
        let nxt = self.reassembly.nxt();
        if hole {
            // Filling a hole, wholly or in part, is acknowledged at once (RFC 5681, section 4.2).
            self.acks.demand();
            self.sack.remove_below(nxt);
        }
        let pushed = segment.flags.has(Flags::PUSH);
        self.acks.on_segment(now, u64::from(segment.len), pushed);
        let (waiting, finished) = (nxt - self.acked, self.is_finished());
        self.acks.schedule(now, waiting, finished);
    }

    /// Whether an acknowledgement is due even without data to carry it.
    pub(crate) const fn ack_due(&self) -> bool {
        self.acks.is_due()
    }

    /// When a delayed acknowledgement is due.
    pub(crate) const fn deadline(&self) -> Instant {
        self.acks.deadline()
    }

    /// Makes a delayed acknowledgement due if its time has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.acks.handle_timeout(now);
    }

    /// The acknowledgement that the next segment carries.
    pub(crate) fn acknowledge(&mut self) -> Ack {
        let nxt = self.reassembly.nxt();
        self.acks.on_sent();
        self.acked = nxt;
        Ack {
            next: nxt,
            window: self.window.advertise(self.reassembly.read_up_to(), nxt),
            echo: self.echo,
            sack: self.sack.blocks(nxt),
        }
    }
}

#[cfg(test)]
mod tests;
