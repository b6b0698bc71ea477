//! Marut: windows at the edges that follow the most loaded hop of their circuit (Ojha and Sharma,
//! "Congestion Control in TOR", New York University, section V).
//!
//! Datagrams, reliability and forward feedback are those of BackTap. Every node computes `diff`
//! (BackTap paper, eq. 1) for its hop, from the cells that it has sent and that its successor has
//! not reported as forwarded. Feedback carries the larger of this and of what the node heard from
//! downstream, `c_diff`, so that the source learns of the most loaded hop; the source alone has a
//! window. Relays send whatever they have: only their queues' limit holds a predecessor back.
//!
//! The report leaves open what the window counts, how often it changes, how it starts, and how
//! long a `c_diff` holds. `docs/spec/marut.md` tells how each was decided.
//!
//! What leaks: every node of a circuit learns how loaded the most loaded hop beyond it is, though
//! not which one that is; besides, what BackTap leaks. With end-to-end windows relays can count
//! acknowledgements by the rhythm of reverse cells.

use hopflow_overlay::{
    ConfigError, FlowCx, Forwarded, Gate, Gates, LossSample, NodeEnv, Plan, Role, Site, Transport,
    Violation,
};
use hopflow_units::{Cells, Duration, Instant, StreamId};
use hopflow_wire::RelayHeader;

use crate::Preset;
use crate::circuit_ack::{CircuitTrip, Deliveries};
use crate::delay_window::{BaseRtts, DelayWindow, Finding, Round, Rule};
use crate::options::{Configure, Options};
use crate::worst_hop::WorstHop;

/// Parts of a cell that the word counts.
const PARTS: u128 = 16;

/// Marut at one node.
#[derive(Debug)]
pub struct Marut {
    config: MarutConfig,
    base_rtts: BaseRtts,
}

/// Parameters of Marut.
#[derive(Clone, Copy, Debug)]
pub struct MarutConfig {
    /// When the source's window grows and shrinks.
    pub rule: Rule,
    /// What the source's window counts.
    pub counts: Counts,
    /// How often the source's window changes.
    pub update: Update,
    /// Data cells that one acknowledgement of the sink stands for.
    pub ack_every: Cells,
    /// How long a node believes what it measured or heard.
    pub expiry: Duration,
    /// Cells that a node queues per circuit; the predecessor never has more under way.
    pub queue_limit: Cells,
    /// How long feedback may wait for company.
    pub feedback_delay: Duration,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
}

/// What the source's window counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// Cells that the first relay has not reported as forwarded.
    FirstHop,
    /// Data cells that the sink has not acknowledged.
    EndToEnd,
}

/// How often the source's window changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update {
    /// Once per round trip of the first hop.
    HopRtt,
    /// Once per round trip of the whole circuit.
    CircuitRtt,
}

/// What a node knows of a flow.
#[derive(Debug)]
pub struct MarutFlow {
    /// The hop's round trip.
    round: Round,
    /// The most cells that were outstanding on the hop since its load was measured.
    peak: u64,
    /// When the load of the hop was looked at last.
    measured: Instant,
    /// How many cells wait on the most loaded hop, in sixteenths.
    load: WorstHop,
    window: DelayWindow,
    trip: CircuitTrip,
    deliveries: Deliveries,
    /// After a jump the loads that are heard are of the time before it, for a round trip.
    quiet_until: Instant,
}

impl Configure for MarutConfig {
    const PRESETS: &'static [Preset] = &[Preset {
        name: "marut",
        about: "Marut: windows at the edges, by the most loaded hop; released from end to end",
        options: "",
    }];

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let counts = options.choice(
            "window-counts",
            Counts::EndToEnd,
            &[
                ("first-hop", Counts::FirstHop),
                ("end-to-end", Counts::EndToEnd),
            ],
        )?;
        let update = options.choice(
            "update-every",
            Update::HopRtt,
            &[
                ("hop-rtt", Update::HopRtt),
                ("circuit-rtt", Update::CircuitRtt),
            ],
        )?;
        let ack_every = options.cells("ack-every", Cells::new(16), Cells::new(1))?;
        let rule = match counts {
            Counts::FirstHop => Rule::configure(options, Cells::new(2))?,
            Counts::EndToEnd => {
                let mut rule = Rule::configure(options, Cells::new(10).max(ack_every))?;
                // A window below what one acknowledgement stands for would never open again.
                rule.floor = rule.floor.max(ack_every);
                rule.initial = rule.initial.max(rule.floor);
                rule
            }
        };
        // A window may be as small as its floor, which the successor must be able to queue.
        let least = match counts {
            Counts::FirstHop => Cells::new(1),
            Counts::EndToEnd => rule.floor,
        };
        let queue_limit = options.cells("queue-limit", Cells::new(4000).max(rule.floor), least)?;
        Ok(Self {
            rule,
            counts,
            update,
            ack_every,
            expiry: options.interval("expiry", Duration::from_secs(1))?,
            queue_limit,
            feedback_delay: options.duration("feedback-delay", Duration::from_millis(1))?,
            refill: options.interval("refill", Duration::from_millis(10))?,
        })
    }
}

impl MarutConfig {
    fn acknowledges(&self) -> bool {
        self.counts == Counts::EndToEnd || self.update == Update::CircuitRtt
    }
}

impl Transport for Marut {
    const NAME: &'static str = "marut";
    type Config = MarutConfig;
    type Flow = MarutFlow;

    fn plan(config: &MarutConfig) -> Plan {
        Plan::datagrams(config.queue_limit, config.feedback_delay, config.refill)
    }

    fn new(config: &MarutConfig, _: &NodeEnv) -> Self {
        Self {
            config: *config,
            base_rtts: BaseRtts::default(),
        }
    }

    fn open(&mut self, site: &Site, gates: &mut Gates) -> MarutFlow {
        let flow = MarutFlow {
            round: Round::default(),
            peak: 0,
            measured: Instant::ZERO,
            load: WorstHop::default(),
            window: DelayWindow::new(&self.config.rule),
            trip: CircuitTrip::default(),
            deliveries: Deliveries::default(),
            quiet_until: Instant::ZERO,
        };
        if site.role == Role::Source {
            self.gate(gates).set_window(flow.window.cells());
        }
        flow
    }

    fn on_arrival(&mut self, flow: &mut MarutFlow, cx: &mut FlowCx<'_>) {
        flow.load.end_stale(self.config.expiry, cx);
    }

    fn on_departure(&mut self, flow: &mut MarutFlow, cx: &mut FlowCx<'_>) {
        if cx.site.role == Role::Source && self.config.acknowledges() {
            flow.trip.on_departure(self.config.ack_every, cx);
        }
    }

    fn on_forwarded(&mut self, flow: &mut MarutFlow, cx: &mut FlowCx<'_>, sample: &Forwarded) {
        flow.load.hear(sample.word, cx.now);
        // Feedback that waits for company is no queue, so no round trip counts as shorter.
        let base = self.base_rtts.with(cx.site, sample.rtt);
        let base = base.max(self.config.feedback_delay);
        let base = self.config.rule.unloaded(base);
        let outstanding = cx.gates.hop.outstanding() + sample.cells;
        flow.peak = flow.peak.max(outstanding.get());
        flow.round.note(sample.cells, sample.rtt);
        let measured = flow.measure(cx, base);
        if cx.site.role == Role::Relay {
            *cx.word = Some(flow.load.value(self.config.expiry, cx.now));
            return;
        }
        match self.config.counts {
            Counts::FirstHop => flow.window.note(outstanding),
            Counts::EndToEnd => flow.window.note(cx.gates.end.outstanding()),
        }
        let due = self.config.paces(&flow.window) == Update::HopRtt;
        let many = u128::from(self.config.rule.beta.get());
        // A window that grows fast must stop at once.
        let urgent = flow.window.is_accelerating()
            && u128::from(flow.load.value(self.config.expiry, cx.now)) > PARTS * many;
        if measured && due || urgent {
            flow.decide(&self.config, cx);
        }
        self.set_window(flow, cx);
    }

    fn on_loss(&mut self, flow: &mut MarutFlow, cx: &mut FlowCx<'_>, _: &LossSample) {
        // A hop that loses cells is as loaded as one whose round trip doubled.
        let parts = u128::from(cx.gates.hop.outstanding().get()) * PARTS;
        flow.load.raise(parts, cx.now);
        if cx.site.role == Role::Relay {
            *cx.word = Some(flow.load.value(self.config.expiry, cx.now));
        } else {
            flow.decide(&self.config, cx);
            self.set_window(flow, cx);
        }
    }

    fn on_taken(&mut self, flow: &mut MarutFlow, cx: &mut FlowCx<'_>, _: StreamId) {
        if self.config.acknowledges() {
            flow.deliveries.count(self.config.ack_every, cx);
        }
    }

    fn on_far_end(
        &mut self,
        flow: &mut MarutFlow,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        let config = &self.config;
        if !config.acknowledges() {
            return Err(Violation::Unexpected);
        }
        let outstanding = cx.gates.end.outstanding();
        flow.trip.on_far_end(config.ack_every, cx, header)?;
        if config.counts == Counts::EndToEnd {
            flow.window.note(outstanding);
        }
        if flow.trip.round.is_over() {
            let due = config.paces(&flow.window) == Update::CircuitRtt;
            if flow.trip.round.take_least().is_some() && due {
                flow.decide(config, cx);
            }
            flow.trip.round.restart(cx.gates.end.passed());
        }
        self.set_window(flow, cx);
        Ok(())
    }
}

impl Marut {
    /// The gate that has the source's window.
    fn gate<'g>(&self, gates: &'g mut Gates) -> &'g mut Gate {
        match self.config.counts {
            Counts::FirstHop => &mut gates.hop,
            Counts::EndToEnd => &mut gates.end,
        }
    }

    fn set_window(&self, flow: &mut MarutFlow, cx: &mut FlowCx<'_>) {
        flow.window.bound(&self.config.rule, cx.gates.hop.cap());
        let window = flow.window.cells();
        match self.config.counts {
            Counts::FirstHop => cx.gates.hop.set_window(window),
            Counts::EndToEnd => {
                let gain = if flow.window.is_accelerating() {
                    200
                } else {
                    125
                };
                flow.trip.set_window(window, gain, &mut cx.gates.end);
            }
        }
    }
}

impl MarutConfig {
    /// What paces decisions: while a window grows fast, the round trip of what it counts.
    fn paces(&self, window: &DelayWindow) -> Update {
        match self.counts {
            _ if !window.is_accelerating() => self.update,
            Counts::FirstHop => Update::HopRtt,
            Counts::EndToEnd => Update::CircuitRtt,
        }
    }
}

impl MarutFlow {
    /// At the end of the hop's round trip, measures how many cells wait on it; true if it did.
    fn measure(&mut self, cx: &FlowCx<'_>, base: Duration) -> bool {
        // A queue that grows makes round trips longer: its news must not wait for them.
        let late = cx.now.saturating_since(self.measured) >= base;
        if !self.round.is_over() && !late {
            return false;
        }
        self.measured = cx.now;
        self.round.restart(cx.queue.sent);
        let Some(actual) = self.round.take_least() else {
            return false;
        };
        let found = Finding::on_hop(self.peak, base, actual);
        let parts = found.diff * PARTS / found.unit;
        self.load.measure(parts, cx.now);
        self.peak = 0;
        true
    }

    /// Changes the window by what the most loaded hop tells.
    fn decide(&mut self, config: &MarutConfig, cx: &FlowCx<'_>) {
        if cx.now < self.quiet_until {
            return;
        }
        let load = self.load.value(config.expiry, cx.now);
        let window = self.window.load(&config.rule);
        let found = Finding::of_diff(window, load.into(), PARTS);
        if self.window.decide(&config.rule, &found) {
            let trip = self.trip.last.unwrap_or(Duration::ZERO);
            self.quiet_until = cx.now + trip;
            self.round.expect_fresh(cx.queue.sent);
            self.trip.round.expect_fresh(cx.gates.end.passed());
        }
    }
}
