//! Marut's signals with TIMELY's control (Mittal et al., SIGCOMM '15, sections 4.2 and 4.3): the
//! first of the two successors that Marut's report proposes (section VII).
//!
//! Every node measures how long cells wait on its hop, beyond the smallest round trip to the
//! successor. Feedback carries the longest wait from there on, and the source changes its
//! end-to-end window by the gradient of that wait, once per round trip of the circuit:
//!
//! ```text
//! diff     = (1 - w) diff + w (wait - wait before)       gradient = diff / least round trip
//! wait < low         window + delta
//! wait > high        window * (1 - beta (1 - high / wait))
//! gradient <= 0      window + delta, or 5 delta after five such rounds
//! gradient > 0       window * (1 - beta gradient)
//! ```
//!
//! `docs/spec/marut-timely.md` tells where this departs from TIMELY, and why.
//!
//! What leaks: every node learns how long cells wait on the slowest hop beyond it; besides, what
//! Marut leaks.

use hopflow_overlay::{
    ConfigError, FlowCx, Forwarded, Gates, NodeEnv, Plan, Role, Site, Transport, Violation,
};
use hopflow_units::{Cells, Duration, Instant, StreamId};
use hopflow_wire::RelayHeader;

use crate::Preset;
use crate::circuit_ack::Deliveries;
use crate::delay_window::BaseRtts;
use crate::edge::{Edge, RoundEnd, Source};
use crate::options::{Configure, Options};
use crate::worst_hop::WorstHop;

/// What the word counts.
const UNIT: Duration = Duration::from_nanos(62_500);
/// Rounds without a positive gradient after which the window grows faster (section 4.3).
const PATIENCE: u32 = 5;
/// How much faster (section 4.3).
const HASTE: f64 = 5.0;
/// The weight of the latest difference (Zhu et al., "ECN or Delay", 2016).
const WEIGHT: f64 = 0.875;
/// The multiplicative decrease (section 4.3).
const BETA: f64 = 0.8;

/// Marut with TIMELY's control at one node.
#[derive(Debug)]
pub struct MarutTimely {
    config: MarutTimelyConfig,
    base_rtts: BaseRtts,
}

/// Parameters.
#[derive(Clone, Copy, Debug)]
pub struct MarutTimelyConfig {
    /// What lies below the window.
    pub edge: Edge,
    /// Shorter waits never shrink the window.
    pub low: Duration,
    /// Longer waits always shrink it.
    pub high: Duration,
    /// By how much the window grows in a round trip.
    pub delta: Cells,
    /// How long a node believes what it measured or heard.
    pub expiry: Duration,
}

/// What a node knows of a flow.
#[derive(Debug)]
pub struct TimelyFlow {
    /// How long cells wait on the slowest hop, in units of the word.
    wait: WorstHop,
    /// The shortest wait since the hop was looked at.
    least: Option<Duration>,
    source: Source,
    gradient: Gradient,
    deliveries: Deliveries,
}

/// The source's view of how waits change.
#[derive(Debug, Default)]
struct Gradient {
    last: f64,
    diff: f64,
    falling: u32,
}

impl Configure for MarutTimelyConfig {
    const PRESETS: &'static [Preset] = &[Preset {
        name: "marut-timely",
        about: "Marut's signals with TIMELY's control: windows by the gradient of waiting times",
        options: "",
    }];

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let low = options.duration("low", Duration::from_millis(5))?;
        let high = options.interval("high", Duration::from_millis(50).max(low))?;
        if high < low {
            return Err(ConfigError::new("high", high, "at least `low`"));
        }
        Ok(Self {
            edge: Edge::configure(options)?,
            low,
            high,
            delta: options.cells("delta", Cells::new(1), Cells::new(1))?,
            expiry: options.interval("expiry", Duration::from_secs(1))?,
        })
    }
}

impl Transport for MarutTimely {
    const NAME: &'static str = "marut-timely";
    type Config = MarutTimelyConfig;
    type Flow = TimelyFlow;

    fn plan(config: &MarutTimelyConfig) -> Plan {
        config.edge.plan()
    }

    fn new(config: &MarutTimelyConfig, _: &NodeEnv) -> Self {
        Self {
            config: *config,
            base_rtts: BaseRtts::default(),
        }
    }

    fn open(&mut self, site: &Site, gates: &mut Gates) -> TimelyFlow {
        if site.role == Role::Source {
            gates.end.set_window(self.config.edge.initial);
        }
        TimelyFlow {
            wait: WorstHop::default(),
            least: None,
            source: Source::new(&self.config.edge),
            gradient: Gradient::default(),
            deliveries: Deliveries::default(),
        }
    }

    fn on_arrival(&mut self, flow: &mut TimelyFlow, cx: &mut FlowCx<'_>) {
        flow.wait.end_stale(self.config.expiry, cx);
    }

    fn on_departure(&mut self, flow: &mut TimelyFlow, cx: &mut FlowCx<'_>) {
        if cx.site.role == Role::Source {
            flow.source.on_departure(&self.config.edge, cx);
        }
    }

    fn on_forwarded(&mut self, flow: &mut TimelyFlow, cx: &mut FlowCx<'_>, sample: &Forwarded) {
        flow.wait.hear(sample.word, cx.now);
        if let Some(rtt) = sample.rtt {
            let base = self.base_rtts.with(cx.site, Some(rtt));
            flow.measure(cx.now, rtt.saturating_sub(base), base);
        }
        if cx.site.role == Role::Relay {
            *cx.word = Some(flow.wait.value(self.config.expiry, cx.now));
        } else {
            flow.source.on_forwarded(cx);
        }
    }

    fn on_taken(&mut self, flow: &mut TimelyFlow, cx: &mut FlowCx<'_>, _: StreamId) {
        flow.deliveries.count(self.config.edge.ack_every, cx);
    }

    fn on_far_end(
        &mut self,
        flow: &mut TimelyFlow,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        let edge = &self.config.edge;
        if let Some(end) = flow.source.on_far_end(edge, cx, header)? {
            flow.decide(&self.config, cx, &end);
        }
        flow.source.apply(edge, cx);
        Ok(())
    }
}

impl TimelyFlow {
    /// Takes a sample of the hop, and closes the measurement after the time of a round trip.
    fn measure(&mut self, now: Instant, wait: Duration, base: Duration) {
        let least = self.least.map_or(wait, |least| least.min(wait));
        self.least = Some(least);
        if now.saturating_since(self.wait.measured_at()) >= base {
            let units = least.as_nanos() / UNIT.as_nanos();
            self.wait.measure(units.into(), now);
            self.least = None;
        }
    }

    fn decide(&mut self, config: &MarutTimelyConfig, cx: &FlowCx<'_>, end: &RoundEnd) {
        let nanos = |time: Duration| time.as_nanos() as f64;
        let wait = f64::from(self.wait.value(config.expiry, cx.now)) * nanos(UNIT);
        let base = nanos(self.source.trip.base).max(1.0);
        let gradient = self.gradient.update(wait, base);
        if self.source.starting {
            if wait > nanos(config.low) {
                self.source.settle(end, cx);
            }
            return;
        }
        let growth = if end.used {
            config.delta.get() as f64
        } else {
            0.0
        };
        let window = &mut self.source.window;
        if wait < nanos(config.low) {
            *window += growth;
        } else if wait > nanos(config.high) {
            *window *= 1.0 - BETA * (1.0 - nanos(config.high) / wait);
        } else if gradient <= 0.0 {
            let haste = if self.gradient.falling >= PATIENCE {
                HASTE
            } else {
                1.0
            };
            *window += growth * haste;
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
