//! What a worker shares with the rest of the process.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hopflow_engine::{Counters, Engine};
use hopflow_overlay::FlowView;
use hopflow_units::{Bytes, Instant};

use super::change::Change;
use super::owners::Connections;
use super::role::Role;
use super::summaries::{self, Summary};
use crate::accounting::Traffic;
use crate::pool::PoolCounts;

/// What a worker is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// Go on.
    Work,
    /// Take nothing new until further notice.
    Rest,
    /// End.
    End,
}

impl Wanted {
    /// Whether a worker takes nothing new, where `rested` says whether it did so before: one that is to end drains
    /// anyway, but must take nothing in between.
    pub(super) const fn rests(self, rested: bool) -> bool {
        match self {
            Self::Work => false,
            Self::Rest => true,
            Self::End => rested,
        }
    }
}

/// An account of a worker at one moment.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// What it has done, and what it holds.
    pub counters: Counters,
    /// Memory that cells take.
    pub held: Bytes,
    /// Streams that are there.
    pub streams: usize,
    /// An exit's connections.
    pub connections: Connections,
    /// A client's circuits.
    pub pool: Option<PoolCounts>,
    /// The flows of its circuits: towards the exit, and towards the client.
    pub flows: Vec<[Option<FlowView>; 2]>,
    /// What layers of the transport measure of these flows.
    pub metrics: Vec<Summary>,
    /// How often it panicked and began anew.
    pub restarts: u64,
    /// Bytes that it moved on links, and on an exit's connections.
    pub traffic: Traffic,
    /// Packets and events that it noted for traces.
    pub trace_notes: u64,
    /// Of these, what was dropped because the writer could not keep up.
    pub trace_notes_dropped: u64,
    /// When it was, since the node's start.
    pub at: Instant,
}

/// Counts of what a worker noted for traces, and of what was dropped of it.
#[derive(Debug, Default)]
pub(super) struct Traced {
    pub(super) noted: AtomicU64,
    pub(super) dropped: AtomicU64,
}

impl Account {
    /// Adds what another worker does.
    fn add(&mut self, other: Self) {
        let (sum, more) = (&mut self.counters, &other.counters);
        for (sum, more) in [
            (&mut sum.links, more.links),
            (&mut sum.half_open_links, more.half_open_links),
            (&mut sum.circuits, more.circuits),
            (&mut sum.nascent_circuits, more.nascent_circuits),
            (&mut sum.handshakes, more.handshakes),
            (&mut sum.handshakes_failed, more.handshakes_failed),
            (&mut sum.links_refused, more.links_refused),
            (&mut sum.links_evicted, more.links_evicted),
            (&mut sum.circuits_refused, more.circuits_refused),
            (&mut sum.circuits_evicted, more.circuits_evicted),
            (&mut sum.setup_dropped, more.setup_dropped),
            (&mut sum.refused_at_rest, more.refused_at_rest),
            (&mut sum.forged, more.forged),
            (&mut sum.out_of_memory, more.out_of_memory),
            (&mut sum.garbage, more.garbage),
            (&mut sum.node.cells_sent, more.node.cells_sent),
            (&mut sum.node.cells_resent, more.node.cells_resent),
            (&mut sum.node.cells_dropped, more.node.cells_dropped),
            (&mut sum.node.duplicates, more.node.duplicates),
            (&mut sum.node.violations, more.node.violations),
            (&mut sum.node.strays, more.node.strays),
            (&mut sum.node.fallback_plans, more.node.fallback_plans),
            (&mut self.connections.open, other.connections.open),
            (&mut self.connections.refused, other.connections.refused),
            (&mut self.connections.evicted, other.connections.evicted),
            (&mut self.trace_notes, other.trace_notes),
            (&mut self.trace_notes_dropped, other.trace_notes_dropped),
        ] {
            *sum += more;
        }
        self.connections.most = self.connections.most.max(other.connections.most);
        let largest = more.node.largest_queue;
        sum.node.largest_queue = sum.node.largest_queue.max(largest);
        self.held += other.held;
        self.streams += other.streams;
        self.restarts += other.restarts;
        self.traffic = self.traffic.with(other.traffic);
        self.pool = self.pool.or(other.pool);
        self.flows.extend(other.flows);
        for more in &other.metrics {
            summaries::add(&mut self.metrics, more);
        }
        self.at = self.at.max(other.at);
    }
}

/// What workers do, all together.
pub(super) fn sum(accounts: impl Iterator<Item = Account>) -> Account {
    let mut total = Account::default();
    accounts.for_each(|account| total.add(account));
    total
}

/// The part of a worker that others see.
#[derive(Debug, Default)]
pub(super) struct Shared {
    ending: AtomicBool,
    resting: AtomicBool,
    account: Mutex<Account>,
    /// What it had done before it began anew.
    past: Mutex<Account>,
    pub(super) restarts: AtomicU64,
    /// How often the worker has gone through its loop.
    pub(super) rounds: AtomicU64,
    /// Bytes that it sent and received.
    moved: [AtomicU64; 2],
    /// What tracing has done.
    pub(super) traced: Traced,
    /// How often something was changed, and what holds now.
    changes: AtomicU64,
    change: Mutex<Option<Arc<Change>>>,
}

impl Shared {
    /// What a worker shares that published this.
    #[cfg(test)]
    pub(super) fn with(account: Account) -> Self {
        Self {
            account: Mutex::new(account),
            ..Self::default()
        }
    }

    pub(super) fn end(&self) {
        self.ending.store(true, Ordering::Release);
    }

    /// Lets the worker go by something else from now on.
    pub(super) fn change(&self, change: Arc<Change>) {
        if let Ok(mut place) = self.change.lock() {
            *place = Some(change);
            self.changes.fetch_add(1, Ordering::Release);
        }
    }

    /// What to go by, if that has changed since the worker saw so many changes.
    pub(super) fn changed(&self, seen: &mut u64) -> Option<Arc<Change>> {
        let changes = self.changes.load(Ordering::Acquire);
        if std::mem::replace(seen, changes) == changes {
            return None;
        }
        self.change.lock().ok()?.clone()
    }

    /// Lets the worker take nothing new, or work again.
    pub(super) fn rest(&self, resting: bool) {
        self.resting.store(resting, Ordering::Release);
    }

    pub(super) fn wanted(&self) -> Wanted {
        if self.ending.load(Ordering::Acquire) {
            Wanted::End
        } else if self.resting.load(Ordering::Acquire) {
            Wanted::Rest
        } else {
            Wanted::Work
        }
    }

    /// Counts what the worker moved.
    pub(super) fn count(&self, moved: Traffic) {
        for (sum, more) in self.moved.iter().zip([moved.sent, moved.received]) {
            sum.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// What the worker has moved since the node's start.
    pub(super) fn traffic(&self) -> Traffic {
        let [sent, received] = [0, 1].map(|at: usize| self.moved[at].load(Ordering::Relaxed));
        Traffic { sent, received }
    }

    /// The worker begins anew, and its counts with it: goes on from those that it published last. Until it publishes,
    /// its account is of what was counted alone.
    pub(super) fn begin_anew(&self) {
        let Account {
            mut counters,
            mut connections,
            pool,
            at,
            ..
        } = self.account();
        // What there was is gone.
        for held in [
            &mut counters.links,
            &mut counters.half_open_links,
            &mut counters.circuits,
            &mut counters.nascent_circuits,
            &mut connections.open,
            &mut connections.most,
        ] {
            *held = 0;
        }
        if let Ok(mut past) = self.past.lock() {
            (past.counters, past.connections) = (counters, connections);
        }
        if let Ok(mut account) = self.account.lock() {
            *account = Account {
                counters,
                connections,
                pool: pool.map(|_| PoolCounts::default()),
                at,
                ..self.counted()
            };
        }
    }

    /// What is counted here, and goes on where the worker begins anew.
    fn counted(&self) -> Account {
        Account {
            restarts: self.restarts.load(Ordering::Relaxed),
            traffic: self.traffic(),
            trace_notes: self.traced.noted.load(Ordering::Relaxed),
            trace_notes_dropped: self.traced.dropped.load(Ordering::Relaxed),
            ..Account::default()
        }
    }

    pub(super) fn publish(&self, engine: &Engine, held: Bytes, role: &impl Role, at: Instant) {
        let mut account = Account {
            counters: engine.counters(),
            held,
            streams: role.streams(),
            connections: role.connections(),
            pool: role.pool(),
            flows: engine.flows().map(|(_, flows)| flows).collect(),
            metrics: summaries::summarize(&engine.measured()),
            at,
            ..self.counted()
        };
        if let Ok(past) = self.past.lock() {
            account.add(past.clone());
        }
        if let Ok(mut place) = self.account.lock() {
            *place = account;
        }
    }

    pub(super) fn account(&self) -> Account {
        self.account
            .lock()
            .map_or_else(|_| Account::default(), |account| account.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::role::Cx;
    use super::super::tokens::PlaceKey;
    use super::*;
    use crate::testing::engine;
    use hopflow_engine::Event;

    /// A role with these connections.
    struct Idle(Connections);

    impl Role for Idle {
        fn on_event(&mut self, _: &mut Cx<'_>, _: Event) {}
        fn on_ready(&mut self, _: &mut Cx<'_>, _: PlaceKey, _: bool, _: bool) {}
        fn work(&mut self, _: &mut Cx<'_>) -> bool {
            false
        }
        fn drain(&mut self, _: &mut Cx<'_>) {}
        fn streams(&self) -> usize {
            0
        }
        fn connections(&self) -> Connections {
            self.0
        }
    }

    #[test]
    fn a_worker_that_rests_does_so_until_it_ends() {
        let shared = Shared::default();
        assert!(!shared.wanted().rests(true));
        shared.rest(true);
        assert!(shared.wanted().rests(false));
        shared.end();
        assert!(shared.wanted().rests(true));
        assert!(!shared.wanted().rests(false), "it drains");
    }

    #[test]
    fn counts_go_on_where_a_worker_begins_anew_and_what_it_held_is_gone() {
        let mut before = Account::default();
        (before.counters.links_refused, before.counters.links) = (5, 4);
        before.counters.node.largest_queue = 3;
        (before.connections.refused, before.connections.open) = (2, 1);
        (before.streams, before.held) = (6, Bytes::new(7));
        before.pool = Some(PoolCounts {
            used: 8,
            ..PoolCounts::default()
        });
        let shared = Shared::with(before);
        shared.restarts.store(1, Ordering::Relaxed);
        // It may have to try more than once.
        for _ in 0..2 {
            shared.begin_anew();
            let down = shared.account();
            let counters = down.counters;
            assert_eq!((counters.links_refused, counters.links), (5, 0));
            assert_eq!((down.connections.refused, down.connections.open), (2, 0));
            assert_eq!((down.streams, down.held), (0, Bytes::ZERO));
            assert_eq!(down.pool, Some(PoolCounts::default()));
            assert_eq!(down.restarts, 1);
        }
        let role = Idle(Connections {
            refused: 1,
            ..Connections::default()
        });
        for _ in 0..2 {
            shared.publish(
                &engine("backtap", None),
                Bytes::ZERO,
                &role,
                Instant::from_nanos(1),
            );
            let after = shared.account();
            let counters = after.counters;
            assert_eq!((counters.links_refused, counters.links), (5, 0));
            assert_eq!(counters.node.largest_queue, 3);
            assert_eq!((after.connections.refused, after.connections.open), (3, 0));
            assert_eq!(after.restarts, 1);
        }
    }
}
