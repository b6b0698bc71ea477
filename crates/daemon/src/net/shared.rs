//! What a worker and the rest of the process tell each other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use hopflow_node::{Counters, Engine};
use hopflow_overlay::FlowView;
use hopflow_units::{Bytes, Instant};

/// What a worker shall do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// Go on.
    Work,
    /// End.
    End,
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
    /// The flows of its circuits: towards the exit, and towards the client.
    pub flows: Vec<[Option<FlowView>; 2]>,
    /// When it was, since the node's start.
    pub at: Instant,
}

/// The part of a worker that others see.
#[derive(Debug, Default)]
pub(super) struct Shared {
    ending: AtomicBool,
    account: Mutex<Account>,
}

impl Shared {
    pub(super) fn end(&self) {
        self.ending.store(true, Ordering::Release);
    }

    pub(super) fn wanted(&self) -> Wanted {
        if self.ending.load(Ordering::Acquire) {
            Wanted::End
        } else {
            Wanted::Work
        }
    }

    pub(super) fn publish(&self, engine: &Engine, held: Bytes, streams: usize, at: Instant) {
        let account = Account {
            counters: engine.counters(),
            held,
            streams,
            flows: engine.flows().map(|(_, flows)| flows).collect(),
            at,
        };
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
