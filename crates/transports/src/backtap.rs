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
use hopflow_units::{Cells, Duration, Instant};
use hopflow_wire::Carrier;

use crate::Preset;
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
    /// Likewise, and again whenever the flow was idle for a round trip.
    DoubleAfterIdle,
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
    phase: Phase,
    /// The smallest round trip since the last decision.
    actual_rtt: Option<Duration>,
    /// Cells reported as forwarded.
    forwarded: u64,
    /// The round trip is over when the cell before this one is forwarded.
    round_end: u64,
    /// Samples of cells before this one are of the time before the last jump.
    fresh_from: u64,
    /// The most cells that were outstanding since the last decision.
    peak: u64,
    /// When cells were last reported as forwarded.
    heard: Instant,
}

/// Where a flow is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The window doubles every round trip.
    Starting,
    /// The window jumps down to what the hop can hold, until few cells wait.
    Settling,
    /// One cell more or less per round trip (eq. 1).
    Steady,
}

impl Configure for BackTapConfig {
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "backtap",
            about: "BackTap: hop-by-hop backpressure with delay-based windows over datagrams",
            options: "",
        },
        Preset {
            name: "backtap-as-printed",
            about: "BackTap exactly as its paper prints it: one cell more or less per round trip",
            options: "startup = \"none\"\ngrow = \"always\"",
        },
    ];

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let alpha = options.cells("alpha", Cells::new(2), Cells::new(1))?;
        Ok(Self {
            alpha,
            beta: options.cells("beta", Cells::new(4).max(alpha), alpha)?,
            initial: options.cells("initial-window", Cells::new(2), Cells::new(1))?,
            floor: options.cells("smallest-window", Cells::new(1), Cells::new(1))?,
            startup: options.choice(
                "startup",
                Startup::DoubleAfterIdle,
                &[
                    ("none", Startup::None),
                    ("double", Startup::Double),
                    ("double-after-idle", Startup::DoubleAfterIdle),
                ],
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
            feedback_every: Cells::new(1),
            feedback_padded: false,
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
            phase: match self.config.startup {
                Startup::Double | Startup::DoubleAfterIdle => Phase::Starting,
                Startup::None => Phase::Steady,
            },
            actual_rtt: None,
            forwarded: 0,
            round_end: 0,
            fresh_from: 0,
            peak: 0,
            heard: Instant::ZERO,
        }
    }

    fn on_departure(&mut self, flow: &mut Control, cx: &mut FlowCx<'_>) {
        if self.config.startup != Startup::DoubleAfterIdle || flow.phase != Phase::Steady {
            return;
        }
        let was_idle = cx.gates.hop.outstanding() == Cells::new(1);
        if was_idle && cx.now.saturating_since(flow.heard) > *self.base_rtt(cx.site) {
            flow.phase = Phase::Starting;
            flow.fresh_from = cx.queue.sent.get().saturating_sub(1);
            flow.round_end = cx.queue.sent.get();
            flow.actual_rtt = None;
            flow.peak = 0;
        }
    }

    fn on_forwarded(&mut self, flow: &mut Control, cx: &mut FlowCx<'_>, sample: &Forwarded) {
        flow.heard = cx.now;
        let base = self.base_rtt(cx.site);
        flow.forwarded += sample.cells.get();
        if let Some(rtt) = sample.rtt {
            *base = rtt.min(*base);
            if flow.forwarded > flow.fresh_from {
                flow.actual_rtt = Some(flow.actual_rtt.map_or(rtt, |least| least.min(rtt)));
            }
        }
        // Feedback that waits for company is no queue, so no round trip counts as shorter.
        let base = (*base).max(self.config.feedback_delay);
        flow.peak = flow
            .peak
            .max((cx.gates.hop.outstanding() + sample.cells).get());
        if flow.phase == Phase::Starting && flow.peak >= flow.window {
            flow.window += sample.cells.get();
        }
        if flow.forwarded >= flow.round_end {
            if let Some(actual) = flow.actual_rtt {
                flow.decide(&self.config, base, actual, cx.queue.sent.get());
            }
            flow.round_end = cx.queue.sent.get();
        }
        let cap = cx.gates.hop.cap().get();
        flow.window = flow.window.max(self.config.floor.get()).min(cap);
        cx.gates.hop.set_window(Cells::new(flow.window));
    }
}

impl BackTap {
    fn base_rtt(&mut self, site: &Site) -> &mut Duration {
        let link = site.next.map_or(0, hopflow_units::LinkId::index);
        if self.base_rtt.len() <= link {
            self.base_rtt.resize(link + 1, Duration::MAX);
        }
        &mut self.base_rtt[link]
    }
}

impl Control {
    /// Changes the window at the end of a round trip; `sent` cells have been sent so far.
    fn decide(&mut self, config: &BackTapConfig, base: Duration, actual: Duration, sent: u64) {
        let base = u128::from(base.as_nanos().max(1));
        let waiting = u128::from(actual.as_nanos()).saturating_sub(base);
        let used = self.peak >= self.window;
        // Of a window that is not used, only the used part can wait.
        let load = u128::from(match config.grow {
            Grow::Always => self.window,
            Grow::WhenUsed => self.window.min(self.peak),
        });
        // diff times baseRtt, to stay in whole numbers.
        let diff = load * waiting;
        let [few, many] = [config.alpha, config.beta].map(|cells| u128::from(cells.get()) * base);
        match self.phase {
            Phase::Starting if diff <= few => {}
            Phase::Settling if diff <= many => self.phase = Phase::Steady,
            Phase::Starting | Phase::Settling => {
                // What moves, and what may wait.
                let moving = load * base / (base + waiting);
                self.window = moving as u64 + config.alpha.get();
                self.phase = Phase::Settling;
                self.fresh_from = sent;
            }
            Phase::Steady if !used && config.grow == Grow::WhenUsed => {
                self.window = self.window.min((2 * self.peak).max(config.initial.get()));
            }
            Phase::Steady if diff < few => self.window += 1,
            Phase::Steady if diff > many => self.window = self.window.saturating_sub(1),
            Phase::Steady => {}
        }
        self.actual_rtt = None;
        self.peak = 0;
    }
}
