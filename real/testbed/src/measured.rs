//! What was measured, for real or in the simulator.

use hopflow_units::{Bytes, Cells, Duration};

/// A complete download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Download {
    /// Its number, from zero; with circuits of their own also the circuit's.
    pub number: u32,
    /// When its request was sent, since the downloads began.
    pub start: Duration,
    /// From the request to the first byte of the answer.
    pub ttfb: Duration,
    /// From the request to the last byte of the answer.
    pub ttlb: Duration,
    /// Bytes of the file.
    pub bytes: Bytes,
}

/// A download that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Its number, from zero; with circuits of their own also the circuit's.
    pub number: u32,
    /// When its request was sent, since the downloads began.
    pub start: Duration,
    /// From the request until it was cut off.
    pub waited: Duration,
    /// From the request to the first byte of the answer; `None` if none had come.
    pub ttfb: Option<Duration>,
    /// Bytes of the file that had come.
    pub bytes: Bytes,
}

/// What a circuit has taken in and given out since the downloads began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When, since the downloads began.
    pub at: Duration,
    /// The circuit's number.
    pub circuit: u32,
    /// Application bytes cut into cells at the exit: R(t) of the BackTap paper.
    pub packaged: Bytes,
    /// Application bytes that the application has: W(t).
    pub delivered: Bytes,
}

/// A hop of a circuit, towards the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopState {
    /// When, since the downloads began.
    pub at: Duration,
    /// The circuit's number.
    pub circuit: u32,
    /// The hop, counted from the exit's sending side.
    pub hop: u32,
    /// Cells that wait at the hop's sender.
    pub queue: Cells,
    /// Cells that are sent and not yet released by feedback.
    pub outstanding: Cells,
    /// The hop's window; `None` where the transport sets none.
    pub window: Option<Cells>,
}

/// What a node has done since it was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayTotals {
    /// Its name.
    pub name: String,
    /// Cells sent for the first time.
    pub sent: u64,
    /// Cells sent again.
    pub resent: u64,
    /// Cells dropped beyond a queue limit.
    pub dropped: u64,
    /// The most cells that waited in one circuit's queue.
    pub largest_queue: u64,
}

/// Everything that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Complete downloads, in the order of their completion.
    pub downloads: Vec<Download>,
    /// Downloads that were cut off, in the order of their numbers.
    pub unfinished: Vec<Unfinished>,
    /// R(t) and W(t), ordered by time, then circuit, until the last download was complete or cut off: ten times a
    /// second, in the simulator more often where that would be fewer than fifty times.
    pub moments: Vec<Moment>,
    /// Hops, ordered by time, then circuit, then hop.
    pub hops: Vec<HopState>,
    /// The relays, from the guard to the exit.
    pub relays: Vec<RelayTotals>,
    /// Time from the first request until the last download was complete or cut off.
    pub span: Duration,
}

/// When the last of some downloads was complete or cut off; `None` if there are none.
pub(crate) fn last_end<'a>(
    complete: impl Iterator<Item = &'a Download>,
    unfinished: impl Iterator<Item = &'a Unfinished>,
) -> Option<Duration> {
    let complete = complete.map(|it| it.start + it.ttlb);
    complete
        .chain(unfinished.map(|it| it.start + it.waited))
        .max()
}
