//! Windows from end to end over hops that report to the source: what the controls share whose source
//! decides once per round trip of the circuit.

use hopflow_overlay::{ConfigError, EndCx, Violation};
use hopflow_units::{Cells, Instant};
use hopflow_wire::RelayHeader;

use super::circuit_ack::CircuitTrip;
use crate::layer::Around;
use crate::options::Options;

/// Parameters below the rule by which the window changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Data cells that one acknowledgement of the sink stands for.
    pub(super) ack_every: Cells,
    /// The first window.
    pub(super) initial: Cells,
}

/// The source's side.
#[derive(Debug)]
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

impl Edge {
    pub(super) fn configure(
        options: &mut Options,
        around: &mut Around,
    ) -> Result<Self, ConfigError> {
        let ack_every = options.cells("ack-every", Cells::new(16), Cells::new(1))?;
        // A window below what one acknowledgement stands for would never open again.
        let initial = options.cells("initial-window", ack_every, ack_every)?;
        around.need_queue(ack_every, ack_every);
        Ok(Self { ack_every, initial })
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
