//! What workers hand over to the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};

use hopflow_engine::Turn;
use hopflow_trace::Place;
use hopflow_units::Duration;

use crate::UnixTime;
use crate::config::{Trace, What};
use crate::net::clock::since_1970;

/// Bytes of packets and events that wait for the writer at most.
pub(super) const MOST_WAITING: usize = 32 << 20;

/// Where workers put what they noted.
#[derive(Clone, Debug)]
pub(super) struct Inbox {
    pub(super) sender: Sender<Noted>,
    pub(super) state: Arc<State>,
    /// Circuits that are traced at most; none if only packets are.
    pub(super) circuits: u32,
    pub(super) packets: bool,
}

impl Inbox {
    /// An inbox for what the configuration asks for, and its other end.
    pub(super) fn new(config: &Trace) -> (Self, Receiver<Noted>) {
        let (sender, notes) = channel();
        let qlog = config.what.contains(&What::Qlog);
        let inbox = Self {
            sender,
            state: Arc::default(),
            circuits: if qlog { config.circuits } else { 0 },
            packets: config.what.contains(&What::Packets),
        };
        (inbox, notes)
    }
}

/// What all workers and the writer know.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Nothing more is written.
    pub(super) over: AtomicBool,
    /// Bytes of packets and events that wait for the writer.
    pub(super) waiting: AtomicUsize,
    /// Circuits and links that have numbers.
    pub(super) circuits: AtomicU32,
    pub(super) links: AtomicU32,
}

/// What a worker noted in a turn.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// The zero of the worker's times.
    pub(super) since: Duration,
    /// Circuits that are traced from now on, and what the node is to them.
    pub(super) circuits: Vec<(u32, Place)>,
    pub(super) turn: Turn,
    /// Bytes that wait with it for the writer.
    pub(super) memory: usize,
}

impl Noted {
    /// What happened in a turn, without circuits that are traced from then on.
    pub(super) fn new(since: Duration, turn: Turn) -> Self {
        Self {
            since,
            circuits: Vec::new(),
            memory: size_of::<Self>() + turn.memory(),
            turn,
        }
    }

    /// Packets and events.
    pub(super) fn len(&self) -> usize {
        self.turn.packets.len() + self.turn.events.len()
    }
}

/// When times begin that a node's traces count from.
#[derive(Clone, Debug)]
pub(super) struct Zero {
    /// Nanoseconds since the beginning of 1970.
    pub(super) since_1970: u64,
    /// The same as text, in the form of RFC 3339.
    pub(super) text: String,
}

impl Zero {
    pub(super) fn now() -> Self {
        let since = since_1970();
        let seconds = UnixTime::from_secs(since.as_secs()).to_string();
        Self {
            since_1970: since.as_nanos() as u64,
            text: format!(
                "{}.{:09}Z",
                seconds.trim_end_matches('Z'),
                since.subsec_nanos()
            ),
        }
    }
}
