//! How cells spend their time at a node.

use hopflow_units::{Cells, Duration, Instant};

use crate::outcome::Cause;

/// How a cell spent its time at a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stay {
    /// At a source, the wait of its data to be packaged.
    pub(super) package: Account,
    /// The wait in the circuit's queue.
    pub(super) queue: Account,
}

/// A wait, cause by cause.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    parts: Vec<(Cause, Duration)>,
    /// Cells of other circuits, and of this one, that the node sent while the cell waited for what
    /// all share.
    sent: [u64; 2],
}

/// Causes that end when the node sends cells, be they of this circuit or of others.
const SHARED: [Cause; 3] = [Cause::Bucket, Cause::Run, Cause::Uplink];

impl Account {
    fn add(&mut self, cause: Cause, time: Duration) {
        if time.is_zero() {
            return;
        }
        match self.parts.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, sum)) => *sum += time,
            None => self.parts.push((cause, time)),
        }
    }

    /// The causes, with the cells of other circuits that went first. Of a wait for what all share,
    /// others' turns have the share that they had of the cells sent meanwhile.
    pub(super) fn parts(&self) -> Vec<(Cause, Duration, Cells)> {
        let [others, own] = self.sent;
        let (mut parts, mut turns) = (Vec::new(), Duration::ZERO);
        for &(cause, time) in &self.parts {
            let turn = if SHARED.contains(&cause) {
                share(time, others, others + own)
            } else {
                Duration::ZERO
            };
            turns += turn;
            parts.push((cause, time - turn, Cells::ZERO));
        }
        parts.push((Cause::Turn, turns, Cells::new(others)));
        parts.retain(|(_, time, _)| !time.is_zero());
        parts.sort_by_key(|(cause, ..)| *cause);
        parts
    }
}

/// So many parts of a time that has `of` parts; nothing of none.
fn share(time: Duration, parts: u64, of: u64) -> Duration {
    let product = u128::from(time.as_nanos()) * u128::from(parts);
    Duration::from_nanos((product / u128::from(of.max(1))) as u64)
}

/// A wait that goes on.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub(super) account: Account,
    cause: Cause,
    since: Instant,
    /// Cells that the node, and the flow, had sent by then.
    sent: [u64; 2],
}

impl Wait {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            account: Account::default(),
            cause: Cause::Uplink,
            since: now,
            sent: [0; 2],
        }
    }

    /// Counts the time up to now.
    pub(super) fn settle(&mut self, now: Instant, sent: [u64; 2]) {
        let time = now - self.since;
        self.account.add(self.cause, time);
        if SHARED.contains(&self.cause) && !time.is_zero() {
            let [all, own] = [0, 1].map(|which| sent[which].saturating_sub(self.sent[which]));
            let [others, of_flow] = &mut self.account.sent;
            *others += all - own.min(all);
            *of_flow += own;
        }
        (self.since, self.sent) = (now, sent);
    }

    /// Waits for something else, or for the same, from now on.
    pub(super) fn go_on(&mut self, now: Instant, cause: Cause, sent: [u64; 2]) {
        if now > self.since {
            self.settle(now, sent);
        }
        (self.cause, self.sent) = (cause, sent);
    }
}
