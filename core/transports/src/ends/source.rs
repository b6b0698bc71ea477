//! Windows from end to end over hops that report to the source: what the controls share whose source
//! decides once per round trip of the circuit.

use hopflow_overlay::{ConfigError, EndCx, EndPlan, Violation};
use hopflow_units::{Cells, Instant};
use hopflow_wire::RelayHeader;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::circuit_ack::CircuitTrip;
use crate::layer::Around;

/// Parameters below the rule by which the window changes, as options have them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct EdgeOptions {
    /// Data cells that one acknowledgement of the sink stands for.
    #[schemars(range(min = 1))]
    ack_every: Cells,
    /// The first window, in cells: at least `ack-every`, and that by default.
    #[schemars(range(min = 1))]
    initial_window: Option<Cells>,
}

/// Parameters below the rule by which the window changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Data cells that one acknowledgement of the sink stands for.
    pub(super) ack_every: Cells,
    /// The first window.
    pub(super) initial: Cells,
}

/// The source's side.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The window, in cells.
    pub(super) window: f64,
    /// Whether the window still doubles each round trip.
    pub(super) starting: bool,
    pub(super) trip: CircuitTrip,
    /// The most cells that were outstanding in the round trip.
    peak: u64,
    /// When the source heard anything of its cells.
    heard: Instant,
}

/// The end of a circuit's round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundEnd {
    /// Whether the window was what held the flow back.
    pub(super) used: bool,
    /// What the least round trip was above the smallest ever, relative to it: from 1 on.
    pub(super) stretch: f64,
}

impl Default for EdgeOptions {
    fn default() -> Self {
        Self {
            ack_every: Cells::new(16),
            initial_window: None,
        }
    }
}

impl EdgeOptions {
    /// The parameters, with what the options leave open.
    pub(super) fn edge(&self) -> Edge {
        Edge {
            ack_every: self.ack_every,
            initial: self.initial_window.unwrap_or(self.ack_every),
        }
    }

    /// Fills in what is left open.
    ///
    /// # Errors
    /// If the window would never open again.
    pub(super) fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        let Edge { ack_every, initial } = self.edge();
        check_window("initial-window", initial, ack_every)?;
        self.initial_window = Some(initial);
        around.need_queue(ack_every, ack_every);
        Ok(())
    }
}

/// Checks a window from end to end by the cells that one acknowledgement stands for.
///
/// # Errors
/// If it is smaller: it would never open again.
pub(super) fn check_window(key: &str, window: Cells, ack_every: Cells) -> Result<(), ConfigError> {
    if window < ack_every {
        let allowed = format!(
            "a whole number of cells, at least {}: what one acknowledgement stands for",
            ack_every.get()
        );
        return Err(ConfigError::new(key, window.get(), allowed));
    }
    Ok(())
}

impl Edge {
    /// What the control needs of the edges of circuits.
    pub(super) fn plan(&self) -> EndPlan {
        EndPlan {
            sendme_every: Some(self.ack_every),
            ..EndPlan::default()
        }
    }
}

impl Source {
    pub(super) fn new(edge: &Edge) -> Self {
        Self {
            window: edge.initial.get() as f64,
            starting: true,
            trip: CircuitTrip::default(),
            peak: 0,
            heard: Instant::ZERO,
        }
    }

    /// A cell departs: a flow that paused for a round trip doubles its window again.
    pub(super) fn on_departure(&mut self, edge: &Edge, cx: &EndCx<'_>) {
        self.trip.on_departure(edge.ack_every, cx);
        let was_idle = cx.gates.hop.outstanding() == Cells::new(1);
        if was_idle && cx.now.saturating_since(self.heard) > self.trip.base {
            self.starting = true;
            self.peak = 0;
            self.trip.round.begin_anew(cx.gates.end.passed());
        }
    }

    /// The first relay reported cells.
    pub(super) fn on_forwarded(&mut self, cx: &EndCx<'_>) {
        self.heard = cx.now;
        self.peak = self.peak.max(cx.gates.end.outstanding().get());
    }

    /// The sink acknowledges cells; returns what the round trip showed when one is over.
    ///
    /// # Errors
    /// As [`CircuitTrip::on_command`].
    pub(super) fn on_command(
        &mut self,
        edge: &Edge,
        cx: &mut EndCx<'_>,
        header: &RelayHeader,
    ) -> Result<Option<RoundEnd>, Violation> {
        self.peak = self.peak.max(cx.gates.end.outstanding().get());
        self.trip.on_command(edge.ack_every, cx, header)?;
        self.heard = cx.now;
        let used = self.peak as f64 >= self.window - 1.0;
        if self.starting && used {
            self.window += edge.ack_every.get() as f64;
        }
        if !self.trip.round.is_over() {
            return Ok(None);
        }
        self.trip.round.restart(cx.gates.end.passed());
        self.peak = 0;
        let base = self.trip.base.as_nanos().max(1) as f64;
        let least = self.trip.round.take_least();
        Ok(least.map(|least| RoundEnd {
            used,
            stretch: (least.as_nanos() as f64 / base).max(1.0),
        }))
    }

    /// Ends the start: the window jumps to what moves without waiting.
    pub(super) fn settle(&mut self, end: &RoundEnd, cx: &EndCx<'_>) {
        self.starting = false;
        self.window /= end.stretch;
        self.trip.round.expect_fresh(cx.gates.end.passed());
    }

    /// Keeps the window in its bounds, and sets the gate.
    pub(super) fn apply(&mut self, edge: &Edge, cx: &mut EndCx<'_>) {
        let floor = edge.ack_every.get() as f64;
        let cap = cx.gates.hop.cap().max(edge.ack_every).get() as f64;
        self.window = self.window.max(floor).min(cap);
        let gain = if self.starting { 200 } else { 125 };
        let window = Cells::new(self.window as u64);
        self.trip.set_window(window, gain, cx.gates.end);
    }
}
