//! What the nodes of a testbed say of themselves, over time.

use std::time::Instant;

use hopflow_daemon::net::Account;
use hopflow_overlay::FlowView;
use hopflow_units::{Bytes, Cells, Duration, Rate};

use crate::clock;
use crate::measured::{Download, HopState, Measured, Moment, RelayTotals, Unfinished, last_end};
use crate::network::Testbed;
use crate::server::head;
use crate::settings::PATH;
use crate::watch::{RelayNow, Snapshot};

/// Application bytes of a full data cell: 509 less the tag and the stream's header.
const CELL_DATA: u64 = 488;
/// The same of a cell with a number: of a stream over several circuits.
const NUMBERED_DATA: u64 = CELL_DATA - hopflow_wire::CELL_NUMBER as u64;
/// Bytes of a cell, as token buckets count it.
const CELL: u64 = hopflow_wire::CELL as u64;
/// Where the exit stands among the relays.
const EXIT: usize = PATH - 1;

/// Records a measurement.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    testbed: &'a Testbed,
    /// Circuits that carry a stream together.
    legs: usize,
    /// The relays' names.
    relays: &'static [&'static str],
    epochs: Vec<Instant>,
    begin: Instant,
    /// The relays' latest accounts, and those before.
    latest: [Vec<Account>; 2],
    packaged: Packaged,
    /// What each circuit had delivered, and when.
    delivered: Vec<(Instant, Vec<u64>)>,
    hops: Vec<HopState>,
}

/// Cells that each circuit had packaged at the exit, and when, in the order of time.
#[derive(Debug, Default)]
struct Packaged {
    readings: Vec<(Instant, Vec<u64>)>,
}

impl Packaged {
    /// When the latest reading was taken.
    fn latest(&self) -> Option<Instant> {
        self.readings.last().map(|(at, _)| *at)
    }

    fn note(&mut self, at: Instant, cells: Vec<u64>) {
        self.readings.push((at, cells));
    }

    /// Nothing was packaged since the latest reading.
    fn hold_until(&mut self, at: Instant) {
        let latest = self.readings.last();
        let cells = latest.map(|(_, cells)| cells.clone());
        self.note(at, cells.unwrap_or_default());
    }

    /// Cells that a circuit had packaged at the exit at a time, by interpolation.
    fn cells_at(&self, circuit: usize, at: Instant) -> f64 {
        let cells = |(_, cells): &(Instant, Vec<u64>)| {
            cells.get(circuit).copied().unwrap_or_default() as f64
        };
        let next = self.readings.partition_point(|(time, _)| *time <= at);
        let before = next.checked_sub(1).map(|last| &self.readings[last]);
        match (before, self.readings.get(next)) {
            (Some(before), Some(after)) => {
                let whole = after.0.saturating_duration_since(before.0).as_secs_f64();
                let part = at.saturating_duration_since(before.0).as_secs_f64();
                cells(before) + (cells(after) - cells(before)) * part / whole
            }
            (Some(only), None) | (None, Some(only)) => cells(only),
            (None, None) => 0.0,
        }
    }
}

/// The flow of a circuit towards the client.
fn backward(flows: &[Option<FlowView>; 2]) -> Option<&FlowView> {
    flows[1].as_ref()
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(testbed: &'a Testbed) -> Self {
        Self {
            testbed,
            legs: testbed.settings().legs(),
            relays: testbed.settings().relays(),
            epochs: testbed.epochs(),
            begin: clock::now(),
            latest: [Vec::new(), Vec::new()],
            packaged: Packaged::default(),
            delivered: Vec::new(),
            hops: Vec::new(),
        }
    }

    /// Times count from here, and cells from what there is in the latest account: nothing is packaged in the silence
    /// between it and here.
    pub(crate) fn begin(&mut self, at: Instant) {
        self.begin = at;
        self.packaged.hold_until(at);
    }

    /// Takes the relays' accounts.
    pub(crate) fn account(&mut self) {
        let accounts = self.testbed.accounts();
        let exit = &accounts[EXIT];
        let at = taken_at(self.epochs[EXIT], exit);
        if self.packaged.latest().is_none_or(|last| last < at) {
            let cells = |flow: &FlowView| flow.departed.get() + flow.queued.get();
            let circuits = exit.flows.iter();
            let cells = circuits.map(|flows| backward(flows).map_or(0, cells));
            let cells = self.of_circuits(cells.collect());
            self.packaged.note(at, cells);
        }
        let [latest, before] = &mut self.latest;
        if latest.is_empty() {
            latest.clone_from(&accounts);
            before.clone_from(&accounts);
        }
        for (number, account) in accounts.into_iter().enumerate() {
            if account.at != latest[number].at {
                before[number] = std::mem::replace(&mut latest[number], account);
            }
        }
    }

    /// Whether the relays' accounts are of this time or later ones.
    pub(crate) fn knows(&self, since: Instant) -> bool {
        let mut accounts = self.latest[0].iter().zip(&self.epochs);
        accounts.all(|(account, epoch)| taken_at(*epoch, account) >= since)
    }

    /// What circuits did, from what the exit has of each of their legs. Whose leg is whose is not known: each circuit
    /// gets the same part.
    fn of_circuits(&self, legs: Vec<u64>) -> Vec<u64> {
        let settings = self.testbed.settings();
        if self.legs == 1 {
            return legs;
        }
        let circuits = settings.circuits();
        let part = legs.iter().sum::<u64>() / u64::from(circuits.max(1));
        vec![part; circuits as usize]
    }

    /// Takes a sample; `received` is what each download has received.
    pub(crate) fn sample(&mut self, received: &[u64]) {
        self.account();
        let now = clock::now();
        let delivered = if self.testbed.settings().shared {
            vec![received.iter().sum()]
        } else {
            received.to_vec()
        };
        self.delivered.push((now, delivered));
        let at = clock::span(now.saturating_duration_since(self.begin));
        let accounts = &self.latest[0];
        let settings = self.testbed.settings();
        // Of legs is not known which circuit has them.
        let circuits = if self.legs == 1 {
            settings.circuits()
        } else {
            0
        };
        for circuit in 0..circuits {
            for (hop, account) in accounts.iter().rev().enumerate() {
                let flows = account.flows.get(circuit as usize);
                let Some(flow) = flows.and_then(backward) else {
                    continue;
                };
                self.hops.push(HopState {
                    at,
                    circuit,
                    hop: hop as u32,
                    queue: flow.queued,
                    outstanding: flow.outstanding,
                    window: flow.window,
                });
            }
        }
    }

    /// The present state.
    pub(crate) fn snapshot(&self, complete: u32) -> Snapshot {
        let settings = self.testbed.settings();
        let received = self.delivered.last();
        let received = received.map_or(0, |(_, bytes)| bytes.iter().sum());
        let [latest, before] = &self.latest;
        Snapshot {
            elapsed: clock::span(self.begin.elapsed()),
            received: Bytes::new(received),
            wanted: Bytes::new(self.whole() * u64::from(settings.downloads)),
            complete,
            relays: latest
                .iter()
                .zip(before)
                .zip(self.relays)
                .map(|(accounts, name)| relay_now(accounts, name))
                .collect(),
        }
    }

    /// Bytes of an answer.
    fn whole(&self) -> u64 {
        let size = self.testbed.settings().size.get();
        head("200 OK", size).len() as u64 + size
    }

    /// Everything that was recorded.
    pub(crate) fn finish(self, downloads: Vec<Download>, unfinished: Vec<Unfinished>) -> Measured {
        let span = last_end(downloads.iter(), unfinished.iter()).unwrap_or(Duration::ZERO);
        let mut moments = self.moments();
        moments.retain(|moment| moment.at <= span);
        let relay = |(name, account): (&&str, &Account)| RelayTotals {
            name: (*name).to_owned(),
            sent: account.counters.node.cells_sent,
            resent: account.counters.node.cells_resent,
            dropped: account.counters.node.cells_dropped,
            largest_queue: account.counters.node.largest_queue,
        };
        Measured {
            unfinished,
            moments,
            relays: self.relays.iter().zip(&self.latest[0]).map(relay).collect(),
            hops: self.hops.into_iter().filter(|hop| hop.at <= span).collect(),
            downloads,
            span,
        }
    }

    /// R(t) and W(t) of all circuits.
    ///
    /// The client's side is known exactly, the exit's ten times a second and in between by
    /// interpolation. Circuits have the same order everywhere, that in which they were built.
    fn moments(&self) -> Vec<Moment> {
        let settings = self.testbed.settings();
        let streams = u64::from(settings.downloads / settings.circuits().max(1));
        let most = self.whole() * streams;
        let mut moments = Vec::new();
        let several = self.legs > 1;
        let data = if several { NUMBERED_DATA } else { CELL_DATA };
        for (at, delivered) in &self.delivered {
            let mean = delivered.iter().sum::<u64>() / delivered.len().max(1) as u64;
            for (circuit, delivered) in delivered.iter().enumerate() {
                let before = self.packaged.cells_at(circuit, self.begin);
                let cells = self.packaged.cells_at(circuit, *at) - before;
                let mut packaged = ((cells * data as f64) as u64).min(most);
                if several {
                    // What waits in all circuits is known, and in which is not.
                    packaged = *delivered + packaged.saturating_sub(mean);
                }
                moments.push(Moment {
                    at: clock::span(at.saturating_duration_since(self.begin)),
                    circuit: circuit as u32,
                    packaged: Bytes::new(packaged.max(*delivered)),
                    delivered: Bytes::new(*delivered),
                });
            }
        }
        moments
    }
}

/// When an account was taken, by a relay whose clock began then.
fn taken_at(epoch: Instant, account: &Account) -> Instant {
    epoch + std::time::Duration::from_nanos(account.at.as_nanos())
}

/// What a relay does, from its latest account and the one before.
fn relay_now((now, before): (&Account, &Account), name: &'static str) -> RelayNow {
    let flows = || now.flows.iter().flatten().flatten();
    let windows = now.flows.iter().filter_map(backward);
    let windows = windows.filter_map(|flow| flow.window.map(Cells::get));
    let span = now.at.saturating_since(before.at).as_secs_f64();
    let sent = now.counters.node.cells_sent - before.counters.node.cells_sent;
    RelayNow {
        name,
        rate: Rate::from_bytes_per_sec(((sent * CELL) as f64 / span) as u64),
        queue: flows().map(|flow| flow.queued.get()).sum(),
        window: windows.reduce(|sum, window| sum + window),
        circuits: now.flows.len(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_packaged_soon_after_the_beginning_is_not_taken_for_earlier() {
        let start = clock::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut packaged = Packaged::default();
        packaged.note(at(0), vec![7, 3]);
        packaged.hold_until(at(60));
        packaged.note(at(100), vec![107, 3]);
        for (millis, cells) in [(0, 7.0), (60, 7.0), (80, 57.0), (100, 107.0), (150, 107.0)] {
            assert_eq!(packaged.cells_at(0, at(millis)), cells, "{millis} ms");
        }
        assert_eq!(packaged.cells_at(1, at(80)), 3.0);
    }
}
