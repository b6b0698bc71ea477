//! The engine: takes inputs to its parts and gives their outputs to the driver.

mod circuits;
mod client;
mod linking;
mod links;
mod memory;
mod observe;
mod receive;
mod relay;
mod streams;
mod transmit;
mod upkeep;

use std::collections::VecDeque;
use std::sync::Arc;

use hopflow_onion::OnionPayload;
use hopflow_overlay::{
    ConfigError, Direction, Factory, FlowView, Host, Measured, NodeEnv, Plan, Violation,
};
use hopflow_units::{Instant, NodeId};
use hopflow_wire::Frame;

use crate::circuit::CircuitTable;
use crate::config::{EngineConfig, KnownRelays, Limits};
use crate::link::{Arrived, LinkTable};
use crate::observer::Observing;
use crate::offers::check_offers;
use crate::origin::Admission;
use crate::types::{Action, CircuitKey, Counters, Event, LostLink};

/// A relay's or client's worker without its sockets.
///
/// The driver's duties:
/// 1. It passes in what happens, with the time `now`, which never goes back: datagrams, bytes and
///    the state of connections, calls for circuits and streams. It may pass in several things
///    before it does the next.
/// 2. It drains what follows: [`poll_event`](Self::poll_event), [`poll_action`](Self::poll_action),
///    [`poll_lost`](Self::poll_lost), [`poll_violation`](Self::poll_violation),
///    [`poll_datagrams`](Self::poll_datagrams) and [`poll_bytes`](Self::poll_bytes), in any order,
///    until none of them has anything. It may stop polling datagrams while its uplink is full, and
///    goes on when that is over.
/// 3. It calls [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout),
///    which it asks for after draining.
/// 4. Where it installed an observer it calls [`observe`](Self::observe) after each turn.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    plan: Plan,
    host: Box<dyn Host<OnionPayload>>,
    links: LinkTable,
    circuits: CircuitTable,
    admission: Admission,
    reports: Reports,
    next_upkeep: Instant,
    /// Which circuits neighbours are asked about next.
    turn: usize,
    counters: Counters,
    buffers: Buffers,
    /// Who hears what happens, if the driver wants that.
    observer: Option<Box<Observing>>,
}

/// What waits for the driver, links' bytes aside.
#[derive(Debug, Default)]
struct Reports {
    actions: VecDeque<Action>,
    events: VecDeque<Event>,
    lost: VecDeque<LostLink>,
    violations: VecDeque<Violation>,
}

impl Reports {
    /// Violations that are kept until the driver asks for them.
    const MOST_VIOLATIONS: usize = 64;

    fn note_violation(&mut self, violation: Option<Violation>) {
        if self.violations.len() < Self::MOST_VIOLATIONS {
            self.violations.extend(violation);
        }
    }
}

/// Buffers that keep their memory.
#[derive(Debug, Default)]
struct Buffers {
    arrived: Vec<Arrived>,
    frames: Vec<Frame<OnionPayload>>,
    plain: Vec<u8>,
    /// The places of cells that were not sent, among the frames given out last.
    left_out: Vec<usize>,
}

impl Engine {
    /// An engine whose node has the transport of `factory`.
    ///
    /// # Errors
    /// If the transport needs more of its driver than engines offer, see [`OFFERS`](crate::OFFERS).
    pub fn new(
        config: EngineConfig,
        factory: &dyn Factory<OnionPayload>,
    ) -> Result<Self, ConfigError> {
        check_offers(factory.name(), factory)?;
        let env = NodeEnv {
            node: NodeId::new(0),
            bucket: config.bucket,
            access: config.access,
            phase: 0.0,
        };
        let mut admission = Admission::new();
        if let Some(relays) = &config.extend_to {
            admission.set_relays(relays);
        }
        Ok(Self {
            plan: factory.plan(),
            host: factory.node(&env),
            config,
            links: LinkTable::default(),
            circuits: CircuitTable::default(),
            admission,
            reports: Reports::default(),
            next_upkeep: Instant::ZERO,
            turn: 0,
            counters: Counters::default(),
            buffers: Buffers::default(),
            observer: None,
        })
    }

    /// Changes what others may make the engine hold and do. What is there stays: at a lower limit,
    /// whoever comes takes the place of somebody.
    pub const fn set_limits(&mut self, limits: Limits) {
        self.config.limits = limits;
    }

    /// Changes the relays to which circuits may be extended; circuits that are there stay.
    pub fn set_extend_to(&mut self, relays: Arc<KnownRelays>) {
        self.admission.set_relays(&relays);
        self.config.extend_to = Some(relays);
    }

    /// The circuits that carry data, with the present state of both of their flows.
    pub fn flows(&self) -> impl Iterator<Item = (CircuitKey, [Option<FlowView>; 2])> + '_ {
        self.circuits.open_ones().map(|(key, handle)| {
            let view = |direction| self.host.flow_view(handle, direction);
            (key, [view(Direction::Forward), view(Direction::Backward)])
        })
    }

    /// What the transport's layers measure of the flows of all circuits that carry data.
    pub fn measured(&self) -> Vec<Measured> {
        let mut measured = Vec::new();
        for (_, handle) in self.circuits.open_ones() {
            for direction in [Direction::Forward, Direction::Backward] {
                self.host.measure(handle, direction, &mut measured);
            }
        }
        measured
    }

    /// What the engine has done, and what it holds.
    pub fn counters(&self) -> Counters {
        Counters {
            node: self.host.counters(),
            links: self.links.len() as u64,
            half_open_links: self.links.handshakes().len() as u64,
            circuits: self.circuits.len() as u64,
            nascent_circuits: self.circuits.nascent().len() as u64,
            ..self.counters
        }
    }

    /// What happened that the driver does not know yet.
    pub fn poll_event(&mut self, now: Instant) -> Option<Event> {
        if self.reports.events.is_empty() {
            self.take_events(now);
        }
        self.reports.events.pop_front()
    }

    /// What the driver is to do with a connection.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.reports.actions.pop_front()
    }

    /// A link that failed, for the operator: its circuits have been reported.
    pub fn poll_lost(&mut self) -> Option<LostLink> {
        self.reports.lost.pop_front()
    }

    /// A breach of the protocol for which a circuit was closed, for the operator.
    pub fn poll_violation(&mut self) -> Option<Violation> {
        self.reports.violations.pop_front()
    }
}
