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
//! Loss does not touch the window; repair is a layer of its own (section 3.3).
//!
//! How a window grows when it is far from what the hop holds, and when it is not used, the paper
//! leaves open: [`Growth`](crate::waiting::Growth). `docs/spec/backtap.md` says how it was decided.
//!
//! Marut's report (Ojha and Sharma, "Congestion Control in TOR", New York University, section V) takes
//! this and lets FWD carry `c_diff`, the largest `diff` from the reporting node on, which the window of
//! the source follows: [`Windows`]. `docs/spec/marut.md` has its readings.
//!
//! What leaks: a predecessor learns when each of its cells is forwarded, hence the circuit's rate
//! and queue at the successor, but nothing of what lies beyond, except with `c_diff` how loaded the
//! most loaded later hop is.

use hopflow_overlay::{
    ConfigError, Features, FeedbackPlan, Forwarded, Gates, HopControl, HopCx, HopPlan, HopSignal,
    Info, Metric, NodeEnv, Role, Site, Violation,
};
use hopflow_units::{Cells, Duration, LinkId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::readings::WorstHop;
use super::shared::{check_wait, ignore};
use crate::layer::{Around, LayerOptions};
use crate::round::{BaseRtts, HopWindow, Trip};
use crate::waiting::{Finding, PARTS, Rule, RuleOptions, Window};

/// The first window, unless the options say otherwise.
const INITIAL: Cells = Cells::new(2);

/// BackTap's window control at one node.
#[derive(Clone, Debug)]
pub(crate) struct DelayWindow {
    config: DelayWindowConfig,
    rule: Rule,
    base_rtts: BaseRtts,
}

/// Parameters of BackTap's windows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct DelayWindowConfig {
    #[serde(flatten)]
    rule: RuleOptions,
    /// Which nodes have a window, and what that of the source follows.
    windows: Windows,
    /// How much longer than the smallest a round trip may take before cells count as waiting: real
    /// hosts take their time, and take cells in batches.
    tolerance: Duration,
    /// How long feedback may wait for company.
    feedback_delay: Duration,
    /// Feedback leaves at multiples of this time only, at most 500 ms; zero: when it is due.
    feedback_hold: Duration,
}

/// Which nodes have a window, and what that of the source follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Windows {
    /// Every node has one, which follows its own hop (BackTap).
    OwnHop,
    /// Every node has one; that of the source follows the most loaded hop, the others their own.
    SourceByWorstHop,
    /// The source alone has one, which follows the most loaded hop. Relays send whatever waits.
    SourceAlone,
}

/// A flow's window control.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    hop: HopWindow,
    /// The last round trip that is over.
    seen: Option<Trip>,
    /// How many cells wait on the most loaded hop from here on, in parts of a cell.
    worst: WorstHop,
}

impl Default for DelayWindowConfig {
    fn default() -> Self {
        Self {
            rule: RuleOptions::default(),
            windows: Windows::OwnHop,
            tolerance: Duration::ZERO,
            feedback_delay: Duration::from_millis(1),
            feedback_hold: Duration::ZERO,
        }
    }
}

impl LayerOptions for DelayWindowConfig {
    fn settle(&mut self, _: &mut Around) -> Result<(), ConfigError> {
        self.rule.settle(INITIAL)?;
        check_wait("feedback-delay", self.feedback_delay)?;
        check_wait("feedback-hold", self.feedback_hold)
    }
}

impl HopControl for DelayWindow {
    const INFO: Info = Info {
        provides: Features::BOUND,
        requires: &[
            (
                Features::DATAGRAMS,
                "BackTap reads the delay until a cell is forwarded; over TCP this is mostly TCP's \
                 own queue and its retransmissions, which its window cannot tell from the relay's.",
            ),
            (
                Features::HOP_REPAIR,
                "BackTap's window counts on every cell to be reported as forwarded; nothing brings \
                 back a lost datagram.",
            ),
        ],
        metrics: &[
            Metric {
                name: "base_round_trip",
                unit: "seconds",
                about: "the round trip of the hop that counts as one without queues",
            },
            Metric {
                name: "round_trip",
                unit: "seconds",
                about: "the smallest round trip of the hop since the last change of its window",
            },
            Metric {
                name: "waiting",
                unit: "cells",
                about: "cells that wait on the hop: `diff` of equation 1",
            },
        ],
        ..Info::new(
            "delay-window",
            "a window from the delay until cells are forwarded (BackTap)",
        )
    };
    type Config = DelayWindowConfig;
    type Flow = Flow;

    fn plan(config: &DelayWindowConfig) -> HopPlan {
        HopPlan::new(FeedbackPlan {
            hold: config.feedback_hold,
            ..FeedbackPlan::every_cell(true, config.feedback_delay)
        })
    }

    fn new(config: &DelayWindowConfig, _: &NodeEnv) -> Self {
        Self {
            config: *config,
            rule: config.rule.rule(INITIAL),
            base_rtts: BaseRtts::default(),
        }
    }

    fn open(&mut self, site: &Site, gates: &mut Gates<'_>) -> Flow {
        if self.config.windows.is_at(site) {
            gates.hop.set_window(self.rule.initial);
        }
        Flow {
            hop: HopWindow::new(&self.rule),
            seen: None,
            worst: WorstHop::default(),
        }
    }

    fn check_change(old: &DelayWindowConfig, new: &DelayWindowConfig) -> Result<(), ConfigError> {
        new.keeps(old, &["windows"], "flows have a window, or have none")
    }

    fn reconfigure(&mut self, config: &DelayWindowConfig) {
        self.config = *config;
        self.rule = config.rule.rule(INITIAL);
    }

    #[inline]
    fn on(
        &mut self,
        flow: &mut Flow,
        cx: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        match signal {
            HopSignal::Forwarded(sample) => self.on_forwarded(flow, cx, sample),
            _ => return ignore(signal),
        }
        Ok(())
    }

    fn close_link(&mut self, link: LinkId) {
        self.base_rtts.forget(link);
    }

    fn sample(&self, flow: &Flow, out: &mut Vec<f64>) {
        out.extend(flow.seen.map_or([f64::NAN; 3], values));
    }
}

impl DelayWindow {
    fn on_forwarded(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>, sample: &Forwarded) {
        let rule = &self.rule;
        // Feedback that waits for company is no queue, so no round trip counts as shorter.
        let base = self.base_rtts.with(cx.now, cx.site, sample.rtt);
        let base = base
            .max(self.config.feedback_delay)
            .max(self.config.feedback_hold);
        let base = base + self.config.tolerance;
        flow.hop.note(cx, sample);
        let windows = self.config.windows;
        let load = windows.load(&flow.hop.window, rule, cx.site);
        let trip = flow.hop.trip(rule, (load, base), cx.queue.sent);
        if let Some(over) = trip.filter(|trip| trip.over) {
            flow.seen = Some(over);
        }
        let mut found = trip.as_ref().map(Trip::finding);
        if windows != Windows::OwnHop {
            let worst = flow.worst_hop(found.as_ref(), sample, cx);
            if cx.site.role != Role::Relay {
                found = found.map(|_| Finding::of_diff(load, worst.into(), PARTS));
            }
        }
        if !windows.is_at(cx.site) {
            if found.is_some() {
                flow.hop.window.forget_peak();
            }
            return;
        }
        if let Some(found) = found {
            flow.hop.decide(rule, &found, cx.queue.sent);
        }
        flow.hop.set(rule, cx.gate);
    }
}

impl Windows {
    /// Whether the node of a flow has a window for it.
    fn is_at(self, site: &Site) -> bool {
        self != Self::SourceAlone || site.role != Role::Relay
    }

    /// Cells that can have waited on the hop. Where there is no window, those that were outstanding
    /// stand for it.
    fn load(self, window: &Window, rule: &Rule, site: &Site) -> u64 {
        if self.is_at(site) {
            window.load(rule)
        } else {
            window.peak()
        }
    }
}

impl Flow {
    /// The larger of what was found on the hop and heard of later ones, in parts of a cell; a relay
    /// passes it on.
    fn worst_hop(
        &mut self,
        found: Option<&Finding>,
        sample: &Forwarded,
        cx: &mut HopCx<'_>,
    ) -> u16 {
        self.worst.hear(sample.ext, cx.now);
        if let Some(found) = found {
            self.worst.measure(found.diff * PARTS / found.unit, cx.now);
        }
        // A node believes what it knows until it knows better: the report has no other rule.
        let worst = self.worst.value(Duration::MAX, cx.now);
        if cx.site.role == Role::Relay {
            *cx.feedback_ext = Some(worst);
        }
        worst
    }
}

/// The values of the metrics.
fn values(trip: Trip) -> [f64; 3] {
    let found = trip.finding();
    [
        trip.base.as_secs_f64(),
        trip.actual.as_secs_f64(),
        found.diff as f64 / found.unit as f64,
    ]
}
