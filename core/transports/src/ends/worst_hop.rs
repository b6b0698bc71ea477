//! Marut at the source: a window that follows the most loaded hop of its circuit (Ojha and Sharma,
//! "Congestion Control in TOR", New York University, section V).
//!
//! Hops report how many cells wait on the most loaded of them; the source alone has a window. The
//! report leaves open what the window counts, how often it changes, and how it starts.
//! `docs/spec/marut.md` says how each was decided.
//!
//! What leaks: with end-to-end windows relays can count acknowledgements by the rhythm of reverse
//! cells.

use hopflow_overlay::{
    ConfigError, EndControl, EndCx, EndGates, EndPlan, EndSignal, EndState, Features, HopReport,
    Info, Site, Violation,
};
use hopflow_units::{Cells, Duration, Instant};
use hopflow_wire::RelayHeader;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::circuit_ack::{CircuitTrip, Deliveries};
use super::shared::{BOTH_ENDS, former, state_of};
use super::source::check_window;
use crate::layer::{Around, LayerOptions};
use crate::waiting::{Finding, PARTS, Rule, RuleOptions, Window};

/// Marut's window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct WorstHopWindow {
    /// What the source's window counts.
    window_counts: Counts,
    /// How often the source's window changes.
    update_every: Update,
    /// Data cells that one acknowledgement of the sink stands for; no window from end to end is smaller.
    #[schemars(range(min = 1))]
    ack_every: Cells,
    #[serde(flatten)]
    rule: RuleOptions,
}

/// What the source's window counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Counts {
    /// Cells that the first relay has not reported as forwarded.
    FirstHop,
    /// Data cells that the sink has not acknowledged.
    EndToEnd,
}

/// How often the source's window changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Update {
    /// Once per round trip of the first hop.
    HopRtt,
    /// Once per round trip of the whole circuit.
    CircuitRtt,
}

/// What an end knows.
#[derive(Clone, Debug)]
struct State {
    config: WorstHopWindow,
    rule: Rule,
    window: Window,
    trip: CircuitTrip,
    deliveries: Deliveries,
    /// After a jump the loads that are heard are of the time before it, for a round trip.
    quiet_until: Instant,
}

impl Default for WorstHopWindow {
    fn default() -> Self {
        Self {
            window_counts: Counts::EndToEnd,
            update_every: Update::HopRtt,
            ack_every: Cells::new(16),
            rule: RuleOptions::default(),
        }
    }
}

impl LayerOptions for WorstHopWindow {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        let least = self.least();
        let floor = *self.rule.smallest_window.get_or_insert(least);
        check_window("smallest-window", floor, least)?;
        let initial = self.rule.rule(self.initial()).initial;
        check_window("initial-window", initial, least)?;
        self.rule.settle(self.initial())?;
        // A window may be as small as its floor, which the successor must be able to queue.
        let least = match self.window_counts {
            Counts::FirstHop => Cells::new(1),
            Counts::EndToEnd => floor,
        };
        around.need_queue(least, floor);
        Ok(())
    }
}

impl WorstHopWindow {
    /// What a window may be at least: one below what an acknowledgement stands for would never open
    /// again.
    const fn least(&self) -> Cells {
        match self.window_counts {
            Counts::FirstHop => Cells::new(1),
            Counts::EndToEnd => self.ack_every,
        }
    }

    /// The first window, unless the smallest is more or the options say otherwise.
    const fn initial(&self) -> Cells {
        match self.window_counts {
            Counts::FirstHop => Cells::new(2),
            Counts::EndToEnd => Cells::new(10),
        }
    }

    /// The rule, once the options are settled.
    fn rule(&self) -> Rule {
        self.rule.rule(self.initial())
    }

    fn acknowledges(&self) -> bool {
        self.window_counts == Counts::EndToEnd || self.update_every == Update::CircuitRtt
    }

    /// What paces decisions: while a window grows fast, the round trip of what it counts.
    fn paces(&self, window: &Window) -> Update {
        match self.window_counts {
            _ if !window.is_accelerating() => self.update_every,
            Counts::FirstHop => Update::HopRtt,
            Counts::EndToEnd => Update::CircuitRtt,
        }
    }
}

impl EndControl for WorstHopWindow {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info {
            provides: Features::LOAD_READER.or(Features::BOUND),
            requires: &[(
                Features::LOAD_REPORTS,
                "Marut's window follows the loads that hops report, and takes the place of windows \
                 at the hops.",
            )],
            ..Info::new(
                "worst-hop",
                "a window that follows the most loaded hop (Marut)",
            )
        };
        &INFO
    }

    fn plan(&self) -> EndPlan {
        EndPlan {
            sendme_every: self.acknowledges().then_some(self.ack_every),
            ..EndPlan::default()
        }
    }

    fn open(&self, _: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        let rule = self.rule();
        let window = Window::new(&rule);
        match self.window_counts {
            Counts::FirstHop => gates.hop.set_window(window.cells()),
            Counts::EndToEnd => gates.end.set_window(window.cells()),
        }
        Some(Box::new(State {
            config: *self,
            rule,
            window,
            trip: CircuitTrip::default(),
            deliveries: Deliveries::default(),
            quiet_until: Instant::ZERO,
        }))
    }

    fn check_change(&self, old: &dyn EndControl) -> Result<(), ConfigError> {
        let old: &Self = former(old);
        let mut keys = vec!["window-counts", "ack-every"];
        // Sinks would begin to acknowledge, or stop.
        let begins = self.acknowledges() != old.acknowledges();
        keys.extend(begins.then_some("update-every"));
        self.keeps(old, &keys, BOTH_ENDS)
    }

    fn reconfigure(&self, state: &mut dyn EndState, _: &mut EndGates<'_>) {
        let state: &mut State = state_of(state);
        state.config = *self;
        state.rule = self.rule();
    }
}

impl EndState for State {
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation> {
        match signal {
            EndSignal::Departed if self.config.acknowledges() => {
                self.trip.on_departure(self.config.ack_every, cx);
            }
            EndSignal::Dequeued(_) if self.config.acknowledges() => {
                self.deliveries.count(self.config.ack_every, cx);
            }
            EndSignal::Hop(HopReport::Forwarded { cells, measured }) => {
                self.on_forwarded(cx, cells, measured);
            }
            EndSignal::Hop(HopReport::Lost) => {
                self.decide(cx);
                self.set_window(cx);
            }
            EndSignal::Command(header) => return self.on_command(cx, header),
            _ => {}
        }
        Ok(())
    }
}

impl State {
    /// The first relay reported cells, and perhaps their hop's load was measured.
    fn on_forwarded(&mut self, cx: &mut EndCx<'_>, cells: Cells, measured: bool) {
        match self.config.window_counts {
            Counts::FirstHop => self.window.note(cx.gates.hop.outstanding() + cells),
            Counts::EndToEnd => self.window.note(cx.gates.end.outstanding()),
        }
        let due = self.config.paces(&self.window) == Update::HopRtt;
        let many = u128::from(self.rule.beta.get());
        // A window that grows fast must stop at once.
        let urgent = self.window.is_accelerating() && u128::from(cx.load) > PARTS * many;
        if measured && due || urgent {
            self.decide(cx);
        }
        self.set_window(cx);
    }

    /// The sink acknowledges cells.
    fn on_command(&mut self, cx: &mut EndCx<'_>, header: &RelayHeader) -> Result<(), Violation> {
        if !self.config.acknowledges() {
            return Err(Violation::Unexpected(header.command));
        }
        let outstanding = cx.gates.end.outstanding();
        self.trip.on_command(self.config.ack_every, cx, header)?;
        if self.config.window_counts == Counts::EndToEnd {
            self.window.note(outstanding);
        }
        if self.trip.round.is_over() {
            let due = self.config.paces(&self.window) == Update::CircuitRtt;
            if self.trip.round.take_least().is_some() && due {
                self.decide(cx);
            }
            self.trip.round.restart(cx.gates.end.passed());
        }
        self.set_window(cx);
        Ok(())
    }

    /// Changes the window by the load of the most loaded hop.
    fn decide(&mut self, cx: &mut EndCx<'_>) {
        if cx.now < self.quiet_until {
            return;
        }
        let rule = &self.rule;
        let window = self.window.load(rule);
        let found = Finding::of_diff(window, cx.load.into(), PARTS);
        if self.window.decide(rule, &found) {
            let trip = self.trip.last.unwrap_or(Duration::ZERO);
            self.quiet_until = cx.now + trip;
            cx.note_jump();
            self.trip.round.expect_fresh(cx.gates.end.passed());
        }
    }

    fn set_window(&mut self, cx: &mut EndCx<'_>) {
        self.window.bound(&self.rule, cx.gates.hop.cap());
        let window = self.window.cells();
        match self.config.window_counts {
            Counts::FirstHop => cx.gates.hop.set_window(window),
            Counts::EndToEnd => {
                let gain = if self.window.is_accelerating() {
                    200
                } else {
                    125
                };
                self.trip.set_window(window, gain, cx.gates.end);
            }
        }
    }
}
