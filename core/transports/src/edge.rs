//! Windows from end to end over datagram hops: what the transports share whose source alone decides.

use hopflow_overlay::{ConfigError, FlowCx, Plan, Violation};
use hopflow_units::{Cells, Duration, Instant};
use hopflow_wire::RelayHeader;

use crate::circuit_ack::CircuitTrip;
use crate::options::Options;

/// Parameters of the machinery below a window from end to end.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Data cells that one acknowledgement of the sink stands for.
    pub ack_every: Cells,
    /// The first window.
    pub initial: Cells,
    /// Cells that a node queues per circuit; the predecessor never has more under way.
    pub queue_limit: Cells,
    /// How long feedback may wait for company.
    pub feedback_delay: Duration,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
}

/// The source's side.
#[derive(Debug)]
pub(crate) struct Source {
    /// The window, in cells.
    pub(crate) window: f64,
    /// Whether the window still doubles each round trip.
    pub(crate) starting: bool,
    pub(crate) trip: CircuitTrip,
    /// The most cells that were outstanding in the round trip.
    peak: u64,
    /// When the source heard anything of its cells.
    heard: Instant,
}

/// The end of a circuit's round trip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundEnd {
    /// Whether the window was what held the flow back.
    pub(crate) used: bool,
    /// What the least round trip was above the smallest ever, relative to it: from 1 on.
    pub(crate) stretch: f64,
}

impl Edge {
    pub(crate) fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let ack_every = options.cells("ack-every", Cells::new(16), Cells::new(1))?;
        // A window below what one acknowledgement stands for would never open again.
        let initial = options.cells("initial-window", ack_every, ack_every)?;
        Ok(Self {
            ack_every,
            initial,
            queue_limit: options.cells(
                "queue-limit",
                Cells::new(4000).max(ack_every),
                ack_every,
            )?,
            feedback_delay: options.duration("feedback-delay", Duration::from_millis(1))?,
            refill: options.interval("refill", Duration::from_millis(10))?,
        })
    }

    pub(crate) fn plan(&self) -> Plan {
        Plan::datagrams(self.queue_limit, self.feedback_delay, self.refill)
    }
}

impl Source {
    pub(crate) fn new(edge: &Edge) -> Self {
        Self {
            window: edge.initial.get() as f64,
            starting: true,
            trip: CircuitTrip::default(),
            peak: 0,
            heard: Instant::ZERO,
        }
    }

    /// A cell departs: a flow that paused for a round trip doubles its window again.
    pub(crate) fn on_departure(&mut self, edge: &Edge, cx: &FlowCx<'_>) {
        self.trip.on_departure(edge.ack_every, cx);
        let was_idle = cx.gates.hop.outstanding() == Cells::new(1);
        if was_idle && cx.now.saturating_since(self.heard) > self.trip.base {
            self.starting = true;
            self.peak = 0;
            self.trip.round.begin_anew(cx.gates.end.passed());
        }
    }

    /// The first relay reported cells.
    pub(crate) fn on_forwarded(&mut self, cx: &FlowCx<'_>) {
        self.heard = cx.now;
        self.peak = self.peak.max(cx.gates.end.outstanding().get());
    }

    /// The sink acknowledges cells; tells when a round trip is over.
    ///
    /// # Errors
    /// As [`CircuitTrip::on_far_end`].
    pub(crate) fn on_far_end(
        &mut self,
        edge: &Edge,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<Option<RoundEnd>, Violation> {
        self.peak = self.peak.max(cx.gates.end.outstanding().get());
        self.trip.on_far_end(edge.ack_every, cx, header)?;
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
    pub(crate) fn settle(&mut self, end: &RoundEnd, cx: &FlowCx<'_>) {
        self.starting = false;
        self.window /= end.stretch;
        self.trip.round.expect_fresh(cx.gates.end.passed());
    }

    /// Keeps the window in its bounds, and sets the gate.
    pub(crate) fn apply(&mut self, edge: &Edge, cx: &mut FlowCx<'_>) {
        let floor = edge.ack_every.get() as f64;
        let cap = cx.gates.hop.cap().max(edge.ack_every).get() as f64;
        self.window = self.window.max(floor).min(cap);
        let gain = if self.starting { 200 } else { 125 };
        let window = Cells::new(self.window as u64);
        self.trip.set_window(window, gain, &mut cx.gates.end);
    }
}
