//! What a node knows of its flows, and what it can tell each of them.

use hopflow_overlay::{BucketLevel, FlowId, NodeEnv, NodeView, Role, Site};
use hopflow_units::{Duration, Instant, Rate};
use hopflow_wire::{Carrier, Feedback, Frame, RawPayload};

use super::config::{JointConfig, Sharing};
use super::shares::Shares;
use super::word::Word;

/// How often shares are computed at most: often within a round trip, for it costs a pass over all
/// flows of the node.
const EVERY: Duration = Duration::from_millis(10);
/// Over how long a flow's rate is measured: longer than a round trip, shorter than a web page.
const PERIOD: Duration = Duration::from_millis(200);
/// How much faster than it was a flow may become before its limit is known to be wrong.
const GROWTH: f64 = 1.25;
/// What is left of the count of cells by which a flow is quiet after a period: half after a second.
const KEPT: f64 = 0.870_550_563_296_124_1;
/// After so many periods next to nothing is left.
const FORGOTTEN: u64 = 100;
/// A flow is quiet if its count is at most this part of the mean of busy flows.
const QUIET: f64 = 0.5;
/// Tokens beyond this part of the bucket's depth are for who asks, within the time after it: a
/// bucket that is full when users come helps them, and empties without a jolt.
const RESERVE: f64 = 0.2;
const SPENT_WITHIN: Duration = Duration::from_millis(500);
/// Bytes of a cell in a datagram.
const CELL: u64 = Frame::<RawPayload>::cell_len(Carrier::Datagram).get();
pub(super) const CELL_BYTES: f64 = CELL as f64;
/// Bytes of a cell on a link: with the headers of UDP and IP, and its part of the link's framing.
pub(super) const ON_LINK: f64 = (CELL + 28 + 2) as f64;
/// Bytes that a bucket is charged for a cell: with the feedback about it.
const PAID: f64 = (CELL + Feedback::LEN_WITH_WORD) as f64;

/// The flows of a node, and how its capacities are shared among them.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    sharing: Sharing,
    relayed: bool,
    /// Bytes per second of the access link in each direction.
    access: Option<f64>,
    flows: Vec<Entry>,
    /// Shares of what arrives, and of what leaves.
    arriving: Option<Shares>,
    leaving: Option<Shares>,
    /// Shares of what leaves if only quiet flows had cells.
    quiet: Option<Shares>,
    /// When shares are to be computed again.
    next: Instant,
    /// When the period of measurement began.
    measured: Instant,
    /// Room for limits.
    limits: Vec<f64>,
}

/// What the node knows of a flow.
#[derive(Clone, Copy, Debug)]
struct Entry {
    role: Role,
    /// What the successor said last.
    word: Option<Word>,
    /// Cells that came in this period, and whether something here held some of them back.
    came: u64,
    held: bool,
    /// What the flow brought in the last period, in cells per second, or what `unknown` says.
    brought: f64,
    /// What it brings, as the shares have it; infinite if something here held cells back.
    brings: f64,
    /// Whether the shares count the flow.
    counted: bool,
    /// Cells of late, and whether they are few.
    count: f64,
    quiet: bool,
}

impl Entry {
    const fn new(role: Role) -> Self {
        Self {
            role,
            word: None,
            came: 0,
            held: false,
            brought: unknown(role),
            brings: unknown(role),
            counted: false,
            count: 0.0,
            quiet: true,
        }
    }

    /// Finds what the flow brings, for the shares that are about to be computed.
    fn find_brings(&mut self) {
        self.brings = if self.held {
            f64::INFINITY
        } else {
            self.brought.max(reached(self.came))
        };
    }

    /// What the flow takes at most of what leaves.
    fn leaves(&self) -> f64 {
        self.word
            .map_or(f64::INFINITY, |word| word.rate)
            .min(self.brings)
    }

    /// The limit that counts in the shares of what arrives.
    fn arrives(&self) -> f64 {
        match self.role {
            Role::Sink => self.brings,
            Role::Source | Role::Relay => self.leaves(),
        }
    }

    /// What the flow may have of a capacity, where this is its limit.
    fn share(&self, shares: &Shares, limit: f64) -> f64 {
        if self.counted {
            shares.of_counted(limit)
        } else {
            shares.of_newcomer()
        }
    }

    /// Notes a cell, and whether others are held back.
    fn note(&mut self, held: bool) {
        self.came += 1;
        self.count += 1.0;
        self.held |= held;
    }

    /// Ends a period of measurement.
    fn end_period(&mut self) {
        self.brought = if !self.counted {
            unknown(self.role)
        } else if self.held {
            f64::INFINITY
        } else {
            reached(self.came)
        };
        (self.came, self.held) = (0, false);
    }
}

impl Ledger {
    pub(super) fn new(config: &JointConfig, env: &NodeEnv) -> Self {
        Self {
            sharing: config.sharing,
            relayed: config.relayed,
            access: env.access.map(Rate::as_f64),
            flows: Vec::new(),
            arriving: None,
            leaving: None,
            quiet: None,
            next: Instant::ZERO,
            measured: Instant::ZERO,
            limits: Vec::new(),
        }
    }

    pub(super) fn reconfigure(&mut self, config: &JointConfig) {
        self.sharing = config.sharing;
        self.relayed = config.relayed;
    }

    /// A flow begins.
    pub(super) fn open(&mut self, site: &Site) {
        let index = site.flow.index();
        if self.flows.len() <= index {
            self.flows.resize(index + 1, Entry::new(Role::Relay));
        }
        self.flows[index] = Entry::new(site.role);
    }

    /// A cell arrived; with it `waiting` of its flow are here.
    pub(super) fn note_arrival(&mut self, flow: FlowId, waiting: u64) {
        self.flows[flow.index()].note(is_backlog(waiting));
    }

    /// A cell left; `waiting` of its flow are still here.
    pub(super) fn note_waiting(&mut self, flow: FlowId, waiting: u64) {
        self.flows[flow.index()].held |= is_backlog(waiting);
    }

    /// A cell left a source, whose gate perhaps lets no other follow now.
    pub(super) fn note_departure(&mut self, flow: FlowId, held: bool) {
        self.flows[flow.index()].note(held);
    }

    /// The successor of a flow said something.
    pub(super) fn hear(&mut self, flow: FlowId, word: Word) {
        self.flows[flow.index()].word = Some(word);
    }

    /// What the predecessor of a flow is told; `None` if the node knows no limit.
    pub(super) fn word(&mut self, node: &NodeView<'_>, now: Instant, flow: FlowId) -> Option<Word> {
        if now >= self.next {
            self.share(node, now);
        }
        let entry = &self.flows[flow.index()];
        let hard = entry.role == Role::Sink;
        let arriving = self
            .arriving
            .map(|shares| entry.share(&shares, entry.arrives()));
        let of = if entry.quiet {
            self.quiet
        } else {
            self.leaving
        };
        let leaving = of.or(self.leaving).filter(|_| !hard);
        let leaving = leaving.map(|shares| entry.share(&shares, entry.leaves()));
        let own = match (arriving, leaving) {
            (Some(arriving), Some(leaving)) => Some(arriving.min(leaving)),
            (arriving, leaving) => arriving.or(leaving),
        };
        let own = own.map(|rate| Word { rate, hard });
        let beyond = entry.word.filter(|_| self.relayed);
        match own {
            Some(own) => Some(own.or_less(beyond)),
            None => beyond,
        }
    }

    /// Shares what the node has among the flows that are busy.
    fn share(&mut self, node: &NodeView<'_>, now: Instant) {
        self.next = now + EVERY;
        let since = now.saturating_since(self.measured);
        let measured = since >= PERIOD;
        for entry in &mut self.flows {
            entry.counted = false;
        }
        for flow in node.busy_flows() {
            self.flows[flow.index()].counted = true;
        }
        if measured {
            self.measured = now;
            self.end_period(since);
        }
        let access = self.access.map(|bytes| bytes / ON_LINK);
        let paid = node.bucket().map(paid);
        let leaving = match (access, paid) {
            (Some(access), Some(paid)) => Some(access.min(paid)),
            (access, paid) => access.or(paid),
        };
        for flow in node.busy_flows() {
            self.flows[flow.index()].find_brings();
        }
        self.find_quiet(node);
        self.arriving = access.map(|capacity| {
            self.fill(node, capacity, |entry| {
                (entry.role != Role::Source).then(|| entry.arrives())
            })
        });
        self.leaving = leaving.map(|capacity| {
            self.fill(node, capacity, |entry| {
                (entry.role != Role::Sink).then(|| entry.leaves())
            })
        });
        self.quiet = leaving
            .filter(|_| self.sharing == Sharing::QuietFirst)
            .map(|capacity| {
                self.fill(node, capacity, |entry| {
                    (entry.role != Role::Sink && entry.quiet).then(|| entry.leaves())
                })
            });
    }

    /// Ends a period of measurement, which took `span`.
    fn end_period(&mut self, span: Duration) {
        let left = kept(span);
        for entry in &mut self.flows {
            entry.count *= left;
            entry.end_period();
        }
    }

    /// Finds which flows sent little of late.
    fn find_quiet(&mut self, node: &NodeView<'_>) {
        if self.sharing != Sharing::QuietFirst {
            return;
        }
        let (mut sum, mut busy) = (0.0, 0.0);
        for flow in node.busy_flows() {
            sum += self.flows[flow.index()].count;
            busy += 1.0;
        }
        for entry in &mut self.flows {
            entry.quiet = entry.count * busy <= QUIET * sum;
        }
    }

    /// Shares a capacity among the busy flows that have a limit.
    fn fill(
        &mut self,
        node: &NodeView<'_>,
        capacity: f64,
        limit: impl Fn(&Entry) -> Option<f64>,
    ) -> Shares {
        let flows = &self.flows;
        let limits = node
            .busy_flows()
            .filter_map(|flow| limit(&flows[flow.index()]));
        self.limits.clear();
        match self.sharing {
            Sharing::Equal => self.limits.extend(limits.map(|_| f64::INFINITY)),
            Sharing::MaxMin | Sharing::QuietFirst => self.limits.extend(limits),
        }
        Shares::new(capacity, &mut self.limits)
    }
}

/// What counts of a flow that has just begun, or goes on after a pause: nothing but its cells, so that many
/// with a cell now and then take little from others. What comes faster than it leaves is held back, and
/// shows. At a sink nothing is held back and nothing would show, so that all is reckoned with.
const fn unknown(role: Role) -> f64 {
    match role {
        Role::Source | Role::Relay => 0.0,
        Role::Sink => f64::INFINITY,
    }
}

/// Whether so many cells of a flow wait here because they are held back.
const fn is_backlog(waiting: u64) -> bool {
    waiting > 2
}

/// The rate, in cells per second, to which a flow with so many cells in a period may have grown.
fn reached(cells: u64) -> f64 {
    cells as f64 * GROWTH / PERIOD.as_secs_f64()
}

/// What is left of a count of cells after a time in which perhaps none passed.
fn kept(time: Duration) -> f64 {
    let periods = time.as_nanos() / PERIOD.as_nanos();
    (0..periods.min(FORGOTTEN)).fold(1.0, |kept, _| kept * KEPT)
}

/// What a bucket lets through, in cells per second.
fn paid(level: BucketLevel) -> f64 {
    let spare = (level.tokens as f64 - RESERVE * level.depth.as_f64()).max(0.0);
    (level.rate.as_f64() + spare / SPENT_WITHIN.as_secs_f64()) / PAID
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_count_half_after_a_second_whether_others_follow_or_not() {
        let after = |millis| kept(Duration::from_millis(millis));
        assert_eq!((after(199), after(209)), (1.0, KEPT));
        assert!((after(1000) - 0.5).abs() < 1e-12);
        assert!((after(3000) - 0.125).abs() < 1e-12);
        assert!(after(3_600_000) < 1e-6);
    }
}
