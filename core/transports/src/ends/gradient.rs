//! TIMELY's control at the source (Mittal et al., SIGCOMM '15, sections 4.2 and 4.3): the first of
//! the two successors that Marut's report proposes (section VII).
//!
//! Hops report how long cells wait on the slowest of them; the source changes its end-to-end window
//! by the gradient of that wait, once per round trip of the circuit:
//!
//! ```text
//! diff     = (1 - w) diff + w (wait - wait before)       gradient = diff / least round trip
//! wait < low         window + delta
//! wait > high        window * (1 - beta (1 - high / wait))
//! gradient <= 0      window + delta, or 5 delta after five such rounds
//! gradient > 0       window * (1 - beta gradient)
//! ```
//!
//! `docs/spec/marut-timely.md` says where this departs from TIMELY, and why.
//!
//! What leaks: relays can count acknowledgements by the rhythm of reverse cells.

use hopflow_overlay::{
    ConfigError, EndControl, EndCx, EndGates, EndPlan, EndSignal, EndState, Features, HopReport,
    Info, Site, Violation,
};
use hopflow_units::{Cells, Duration, Interval};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::circuit_ack::Deliveries;
use super::shared::{BOTH_ENDS, former, state_of};
use super::source::{Edge, EdgeOptions, RoundEnd, Source};
use crate::layer::{Around, LayerOptions};
use crate::waiting::WAIT_UNIT;

/// Rounds without a positive gradient after which the window grows faster (section 4.3).
const PATIENCE: u32 = 5;
/// How much faster (section 4.3).
const HASTE: f64 = 5.0;
/// The weight of the latest difference (Zhu et al., "ECN or Delay", 2016).
const WEIGHT: f64 = 0.875;
/// The multiplicative decrease (section 4.3).
const BETA: f64 = 0.8;

/// A window by the gradient of waits.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct GradientWindow {
    /// Shorter waits never shrink the window (TIMELY's `T_low`).
    low: Duration,
    /// Longer waits always shrink it (`T_high`): at least `low`; by default 50 ms, or `low` if that is
    /// longer.
    high: Option<Interval>,
    #[serde(flatten)]
    edge: EdgeOptions,
    /// By how many cells the window grows in a round trip.
    #[schemars(range(min = 1))]
    delta: Cells,
}

/// What an end knows.
#[derive(Clone, Debug)]
struct State {
    config: GradientWindow,
    edge: Edge,
    /// Longer waits always shrink the window.
    high: Duration,
    source: Source,
    gradient: Gradient,
    deliveries: Deliveries,
}

/// The source's view of how waits change.
#[derive(Clone, Debug, Default)]
struct Gradient {
    last: f64,
    diff: f64,
    falling: u32,
}

impl Default for GradientWindow {
    fn default() -> Self {
        Self {
            low: Duration::from_millis(5),
            high: None,
            edge: EdgeOptions::default(),
            delta: Cells::new(1),
        }
    }
}

impl GradientWindow {
    fn high(&self) -> Interval {
        let own = Interval::from_millis(50);
        let low = Interval::new(self.low).unwrap_or(own);
        self.high.unwrap_or(own.max(low))
    }
}

impl LayerOptions for GradientWindow {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        let high = self.high();
        if high.get() < self.low {
            return Err(ConfigError::new("high", high, "at least `low`"));
        }
        self.high = Some(high);
        self.edge.settle(around)
    }
}

impl EndControl for GradientWindow {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info {
            provides: Features::LOAD_READER.or(Features::BOUND),
            requires: &[(
                Features::WAIT_REPORTS,
                "The window follows the waiting times that hops report.",
            )],
            // A variant of `worst-hop`.
            swept: false,
            ..Info::new(
                "gradient",
                "a window by the gradient of waiting times (Marut with TIMELY's control)",
            )
        };
        &INFO
    }

    fn plan(&self) -> EndPlan {
        self.edge.edge().plan()
    }

    fn open(&self, _: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        let edge = self.edge.edge();
        gates.end.set_window(edge.initial);
        Some(Box::new(State {
            config: *self,
            edge,
            high: self.high().get(),
            source: Source::new(&edge),
            gradient: Gradient::default(),
            deliveries: Deliveries::default(),
        }))
    }

    fn check_change(&self, old: &dyn EndControl) -> Result<(), ConfigError> {
        let keys = &["ack-every"];
        self.keeps(former(old), keys, BOTH_ENDS)
    }

    fn reconfigure(&self, state: &mut dyn EndState, _: &mut EndGates<'_>) {
        let state: &mut State = state_of(state);
        state.config = *self;
        state.edge = self.edge.edge();
        state.high = self.high().get();
    }
}

impl EndState for State {
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation> {
        let edge = &self.edge;
        match signal {
            EndSignal::Departed => self.source.on_departure(edge, cx),
            EndSignal::Hop(HopReport::Forwarded { .. }) => self.source.on_forwarded(cx),
            EndSignal::Dequeued(_) => self.deliveries.count(edge.ack_every, cx),
            EndSignal::Command(header) => {
                if let Some(end) = self.source.on_command(edge, cx, header)? {
                    self.decide(cx, &end);
                }
                self.source.apply(&self.edge, cx);
            }
            _ => {}
        }
        Ok(())
    }
}

impl State {
    fn decide(&mut self, cx: &EndCx<'_>, end: &RoundEnd) {
        let nanos = |time: Duration| time.as_nanos() as f64;
        let wait = cx.load as f64 * nanos(WAIT_UNIT);
        let base = nanos(self.source.trip.base).max(1.0);
        let gradient = self.gradient.update(wait, base);
        if self.source.starting {
            if wait > nanos(self.config.low) {
                self.source.settle(end, cx);
            }
            return;
        }
        let growth = if end.used {
            self.config.delta.get() as f64
        } else {
            0.0
        };
        let window = &mut self.source.window;
        if wait < nanos(self.config.low) {
            *window += growth;
        } else if wait > nanos(self.high) {
            *window *= 1.0 - BETA * (1.0 - nanos(self.high) / wait);
        } else if gradient <= 0.0 {
            *window += growth * self.gradient.haste();
        } else {
            *window *= 1.0 - BETA * gradient.min(1.0);
        }
    }
}

impl Gradient {
    /// Takes a wait; returns by how much waits change, relative to the least round trip.
    fn update(&mut self, wait: f64, base: f64) -> f64 {
        let change = wait - self.last;
        self.last = wait;
        self.diff = (1.0 - WEIGHT) * self.diff + WEIGHT * change;
        self.falling = if self.diff <= 0.0 {
            self.falling + 1
        } else {
            0
        };
        self.diff / base
    }

    /// How much faster the window grows.
    fn haste(&self) -> f64 {
        if self.falling >= PATIENCE { HASTE } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gradient_follows_the_change_of_waits_relative_to_the_round_trip() {
        let mut gradient = Gradient::default();
        assert!(gradient.update(20.0, 100.0) > 0.15);
        assert!(gradient.update(40.0, 100.0) > 0.15);
        assert!(gradient.update(20.0, 100.0) < -0.1);
        for _ in 0..PATIENCE {
            gradient.update(20.0, 100.0);
        }
        assert!(gradient.falling >= PATIENCE);
        gradient.update(60.0, 100.0);
        assert_eq!(gradient.falling, 0);
    }
}
