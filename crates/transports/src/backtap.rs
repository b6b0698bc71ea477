//! BackTap: hop-by-hop backpressure with delay-based windows (Tschorsch and Scheuermann,
//! NSDI '16).
//!
//! Every hop of a circuit has its own window `swnd`. A relay reports a cell as forwarded (FWD) when
//! it sends it on, and the time from sending a cell to its FWD is the hop's round trip: it contains
//! the network and the successor's queue. As in TCP Vegas (section 3.4),
//!
//! ```text
//! diff = swnd * actualRtt / baseRtt - swnd
//! ```
//!
//! estimates the cells that wait on the hop. Once per round trip `swnd` grows by one cell if `diff`
//! is below `alpha`, and shrinks by one if it is above `beta` (eq. 1). `actualRtt` is the smallest
//! sample since the last change, `baseRtt` the smallest of all circuits to the same successor.
//! Loss does not touch the window; reliability is the machine's (section 3.3).
//!
//! The paper says nothing about three points; `docs/spec/backtap.md` tells how each was decided:
//! the start ([`Startup`]), windows that are not used ([`Grow`]), and the smallest window.
//!
//! What leaks: a predecessor learns when each of its cells is forwarded, hence the circuit's rate
//! and queue at the successor, but nothing of what lies beyond.

use hopflow_overlay::{
    Charging, ConfigError, Excess, FlowCx, Forwarded, Gates, Multiplexing, NodeEnv, Plan,
    RttConfig, Scope, Site, Transport, Turn,
};
use hopflow_units::{Cells, Duration};
use hopflow_wire::Carrier;

use crate::options::{Configure, Options};

/// BackTap at one node.
#[derive(Debug)]
pub struct BackTap {
    config: BackTapConfig,
    /// The smallest round trip of all circuits to a successor, by link.
    base_rtt: Vec<Duration>,
}

/// Parameters of BackTap.
#[derive(Clone, Copy, Debug)]
pub struct BackTapConfig {
    /// The window grows while fewer cells than this wait (section 3.4: 2).
    pub alpha: Cells,
    /// The window shrinks while more cells than this wait (section 3.4: 4).
    pub beta: Cells,
    /// The first window.
    pub initial: Cells,
    /// The smallest window.
    pub floor: Cells,
    /// How a flow starts.
    pub startup: Startup,
    /// When a window may grow.
    pub grow: Grow,
    /// Cells that a node queues per circuit; the predecessor's window stays below.
    pub queue_limit: Cells,
    /// How long feedback may wait for company.
    pub feedback_delay: Duration,
    /// What pays the token bucket.
    pub charging: Charging,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
}

/// How a flow's window starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Startup {
    /// By one cell per round trip from the beginning, as printed.
    None,
    /// Doubling each round trip, until cells wait.
    Double,
}

/// When a window may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grow {
    /// Whenever few cells wait, as printed.
    Always,
    /// Only if the window was what held the flow back (compare RFC 7661 for TCP).
    WhenUsed,
}

/// A flow's window control.
#[derive(Debug)]
pub struct Control {
    window: u64,
    starting: bool,
    /// The smallest round trip since the last decision.
    actual_rtt: Option<Duration>,
    /// Cells reported as forwarded.
    forwarded: u64,
    /// The round trip is over when the cell before this one is forwarded.
    round_end: u64,
    /// Whether the window held the flow back since the last decision.
    used: bool,
}

impl Configure for BackTapConfig {
    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let alpha = options.cells("alpha", Cells::new(2), Cells::new(1))?;
        Ok(Self {
            alpha,
            beta: options.cells("beta", Cells::new(4).max(alpha), alpha)?,
            initial: options.cells("initial-window", Cells::new(2), Cells::new(1))?,
            floor: options.cells("smallest-window", Cells::new(1), Cells::new(1))?,
            startup: options.choice(
                "startup",
                Startup::Double,
                &[("none", Startup::None), ("double", Startup::Double)],
            )?,
            grow: options.choice(
                "grow",
                Grow::WhenUsed,
                &[("always", Grow::Always), ("when-used", Grow::WhenUsed)],
            )?,
            queue_limit: options.cells("queue-limit", Cells::new(4000), Cells::new(1))?,
            feedback_delay: options.duration("feedback-delay", Duration::from_millis(1))?,
            charging: options.choice(
                "charging",
                Charging::Everything,
                &[
                    ("everything", Charging::Everything),
                    ("as-published", Charging::FirstTransmissions),
                ],
            )?,
            refill: options.interval("refill", Duration::from_millis(10))?,
        })
    }
}

impl Transport for BackTap {
    const NAME: &'static str = "backtap";
    type Config = BackTapConfig;
    type Flow = Control;

    fn plan(config: &BackTapConfig) -> Plan {
        Plan {
            carrier: Carrier::Datagram,
            multiplexing: Multiplexing::Shared,
            scope: Scope::Node,
            turn: Turn::Cells(1),
            reliable: true,
            forward_feedback: true,
            feedback_delay: config.feedback_delay,
            queue_limit: config.queue_limit,
            excess: Excess::CloseIfPersistent,
            ahead: Cells::new(1),
            charging: config.charging,
            refill: config.refill,
            rtt: RttConfig::default(),
            tick: None,
        }
    }

    fn new(config: &BackTapConfig, _: &NodeEnv) -> Self {
        Self {
            config: *config,
            base_rtt: Vec::new(),
        }
    }

    fn open(&mut self, _: &Site, gates: &mut Gates) -> Control {
        gates.hop.set_window(self.config.initial);
        Control {
            window: self.config.initial.get(),
            starting: self.config.startup == Startup::Double,
            actual_rtt: None,
            forwarded: 0,
            round_end: 0,
            used: false,
        }
    }

    fn on_forwarded(&mut self, flow: &mut Control, cx: &mut FlowCx<'_>, sample: &Forwarded) {
        let base = self.base_rtt(cx.site);
        if let Some(rtt) = sample.rtt {
            *base = rtt.min(*base);
            flow.actual_rtt = Some(flow.actual_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let base = *base;
        flow.forwarded += sample.cells.get();
        flow.used |= (cx.gates.hop.outstanding() + sample.cells).get() >= flow.window;
        if flow.starting && flow.used {
            flow.window += sample.cells.get();
        }
        if flow.forwarded >= flow.round_end {
            if let Some(actual) = flow.actual_rtt {
                flow.decide(&self.config, base, actual);
            }
            flow.round_end = cx.queue.sent.get();
        }
        flow.window = flow
            .window
            .clamp(self.config.floor.get(), cx.gates.hop.cap().get());
        cx.gates.hop.set_window(Cells::new(flow.window));
    }
}

impl BackTap {
    fn base_rtt(&mut self, site: &Site) -> &mut Duration {
        let link = site.next.map_or(0, |link| link.index());
        if self.base_rtt.len() <= link {
            self.base_rtt.resize(link + 1, Duration::MAX);
        }
        &mut self.base_rtt[link]
    }
}

impl Control {
    /// Changes the window at the end of a round trip (eq. 1).
    fn decide(&mut self, config: &BackTapConfig, base: Duration, actual: Duration) {
        let base = u128::from(base.as_nanos().max(1));
        let waiting = u128::from(actual.as_nanos()).saturating_sub(base);
        // diff, times baseRtt to stay in whole numbers.
        let diff = u128::from(self.window) * waiting;
        let may_grow = self.used || config.grow == Grow::Always;
        if self.starting && diff > u128::from(config.alpha.get()) * base {
            self.starting = false;
            // The part of the window that did not wait, and what may wait on top.
            let moving = u128::from(self.window) * base / (base + waiting);
            self.window = moving as u64 + config.alpha.get();
        } else if diff < u128::from(config.alpha.get()) * base {
            self.window += u64::from(may_grow && !self.starting);
        } else if diff > u128::from(config.beta.get()) * base {
            self.window = self.window.saturating_sub(1);
        }
        self.actual_rtt = None;
        self.used = false;
    }
}
