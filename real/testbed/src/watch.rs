//! Telling whoever watches how far a measurement has come.

use hopflow_units::{Bytes, Duration, Rate};

/// What one relay does at the moment.
#[derive(Clone, Debug, PartialEq)]
pub struct RelayNow {
    /// Its name.
    pub name: &'static str,
    /// Bytes of cells that it sends per second, both directions together.
    pub rate: Option<Rate>,
    /// Cells that wait in it, of all circuits.
    pub queue: u64,
    /// The windows of its hops towards the client, all circuits together; `None` where the
    /// transport sets none.
    pub window: Option<u64>,
    /// Circuits that carry data.
    pub circuits: usize,
}

/// How far a measurement has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Time since the downloads began.
    pub elapsed: Duration,
    /// Bytes that have arrived.
    pub received: Bytes,
    /// Bytes that are to arrive; zero where nobody knows.
    pub wanted: Bytes,
    /// Downloads that are complete.
    pub complete: u32,
    /// The relays, from the guard to the exit.
    pub relays: Vec<RelayNow>,
}

/// Watches a measurement, and may interrupt it.
pub trait Watch {
    /// Circuits are being built, of which so many are ready.
    fn building(&self, ready: u32, of: u32);

    /// Downloads are under way; called ten times a second.
    fn show(&self, snapshot: &Snapshot);

    /// Whether the user wants to stop.
    fn interrupted(&self) -> bool;
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn building(&self, _: u32, _: u32) {}

    fn show(&self, _: &Snapshot) {}

    fn interrupted(&self) -> bool {
        false
    }
}
