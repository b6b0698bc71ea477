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
//! How a window grows when it is far from what the hop holds, and when it is not used, the paper
//! leaves open: [`Growth`](crate::Growth). `docs/spec/backtap.md` tells how it was decided.
//!
//! What leaks: a predecessor learns when each of its cells is forwarded, hence the circuit's rate
//! and queue at the successor, but nothing of what lies beyond.

use hopflow_overlay::{
    Charging, ConfigError, FlowCx, Forwarded, Gate, Gates, NodeEnv, Plan, Site, Transport,
    Violation,
};
use hopflow_units::{Cells, Duration, StreamId};
use hopflow_wire::RelayHeader;

use crate::Preset;
use crate::delay_window::{BaseRtts, DelayWindow, Finding, Round, Rule};
use crate::ends::{EndState, Ends, Kind};
use crate::options::{Configure, Options};

/// BackTap at one node.
#[derive(Debug)]
pub struct BackTap {
    config: BackTapConfig,
    base_rtts: BaseRtts,
}

/// Parameters of BackTap.
#[derive(Clone, Copy, Debug)]
pub struct BackTapConfig {
    /// When the window grows and shrinks.
    pub rule: Rule,
    /// What limits a circuit from end to end besides: nothing, unless asked for.
    pub ends: Ends,
    /// Cells that a node queues per circuit; the predecessor's window stays below.
    pub queue_limit: Cells,
    /// How long feedback may wait for company.
    pub feedback_delay: Duration,
    /// Feedback leaves at multiples of this time only; zero: when it is due.
    pub feedback_hold: Duration,
    /// What pays the token bucket.
    pub charging: Charging,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
}

/// A flow's window control.
#[derive(Debug)]
pub struct Control {
    window: DelayWindow,
    round: Round,
    end: EndState,
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
            options: "growth = \"one-cell\"",
        },
    ];

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        Ok(Self {
            rule: Rule::configure(options, Cells::new(2))?,
            ends: Ends::configure(options, Kind::None)?,
            queue_limit: options.cells("queue-limit", Cells::new(4000), Cells::new(1))?,
            feedback_delay: options.duration("feedback-delay", Duration::from_millis(1))?,
            feedback_hold: feedback_hold(options)?,
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

/// Longer, and hops with long ways would take held feedback for lost cells (RFC 6298: 1 s).
const LONGEST_HOLD: Duration = Duration::from_millis(500);

fn feedback_hold(options: &mut Options) -> Result<Duration, ConfigError> {
    let hold = options.duration("feedback-hold", Duration::ZERO)?;
    if hold > LONGEST_HOLD {
        let allowed = format!("a time up to {LONGEST_HOLD}");
        return Err(ConfigError::new("feedback-hold", hold, allowed));
    }
    Ok(hold)
}

impl Transport for BackTap {
    const NAME: &'static str = "backtap";
    type Config = BackTapConfig;
    type Flow = Control;

    fn plan(config: &BackTapConfig) -> Plan {
        Plan {
            charging: config.charging,
            feedback_hold: config.feedback_hold,
            ..Plan::datagrams(config.queue_limit, config.feedback_delay, config.refill)
        }
    }

    fn new(config: &BackTapConfig, _: &NodeEnv) -> Self {
        Self {
            config: *config,
            base_rtts: BaseRtts::default(),
        }
    }

    fn open(&mut self, site: &Site, gates: &mut Gates) -> Control {
        gates.hop.set_window(self.config.rule.initial);
        Control {
            window: DelayWindow::new(&self.config.rule),
            round: Round::default(),
            end: self.config.ends.open(site, gates),
        }
    }

    fn open_stream(&mut self, gate: &mut Gate) {
        self.config.ends.open_stream(gate);
    }

    fn close_stream(&mut self, flow: &mut Control, stream: StreamId) {
        flow.end.close_stream(stream);
    }

    fn on_cut(&mut self, flow: &mut Control, cx: &mut FlowCx<'_>) {
        self.config.ends.on_cut(&mut flow.end, cx);
    }

    fn on_taken(&mut self, flow: &mut Control, cx: &mut FlowCx<'_>, _: StreamId) {
        self.config.ends.on_taken(&mut flow.end, cx);
    }

    fn on_consumed(&mut self, flow: &mut Control, cx: &mut FlowCx<'_>, stream: StreamId) {
        self.config.ends.on_consumed(&mut flow.end, cx, stream);
    }

    fn on_far_end(
        &mut self,
        flow: &mut Control,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        self.config.ends.on_far_end(&mut flow.end, cx, header)
    }

    fn on_forwarded(&mut self, flow: &mut Control, cx: &mut FlowCx<'_>, sample: &Forwarded) {
        let rule = &self.config.rule;
        // Feedback that waits for company is no queue, so no round trip counts as shorter.
        let base = self.base_rtts.with(cx.site, sample.rtt);
        let base = base
            .max(self.config.feedback_delay)
            .max(self.config.feedback_hold);
        let base = rule.unloaded(base);
        flow.round.note(sample.cells, sample.rtt);
        let outstanding = cx.gates.hop.outstanding() + sample.cells;
        flow.window.note(outstanding);
        let load = flow.window.load(rule);
        let found = |actual| Finding::on_hop(load, base, actual);
        let ended = if flow.round.is_over() {
            flow.round.restart(cx.queue.sent);
            flow.round.take_least().map(found)
        } else if flow.window.is_accelerating() {
            // A window that grows fast must stop before the round trip is over.
            let recent = flow.round.take_recent().map(found);
            recent.filter(|found| found.is_above(rule.beta))
        } else {
            None
        };
        if let Some(found) = ended
            && flow.window.decide(rule, &found)
        {
            flow.round.expect_fresh(cx.queue.sent);
        }
        flow.window.bound(rule, cx.gates.hop.cap());
        cx.gates.hop.set_window(flow.window.cells());
    }
}
