//! Acknowledgement by the other end: what the controls share whose source must know which cells
//! have reached the end of their circuit.
//!
//! The sink sends a SENDME command after every so many data cells that the application took, as a
//! cell of the reverse flow: such cells are repeated where they get lost, so that none needs to be
//! asked for.

use std::collections::VecDeque;

use hopflow_overlay::{Acknowledger, EndCx, Gate, SendmeWindow, Violation};
use hopflow_units::{Cells, Duration, Instant, StreamId};
use hopflow_wire::{RelayCommand, RelayHeader};

use crate::round::Round;

/// A window is spread over no more than this: a longer round trip shows that the sink paused.
const LONGEST: Duration = Duration::from_secs(1);

/// The sink's count of a circuit.
#[derive(Clone, Debug, Default)]
pub(super) struct Deliveries(Acknowledger);

impl Deliveries {
    /// Counts a cell that left the circuit; acknowledges it if it is the last of `every`.
    pub(super) fn count(&mut self, every: Cells, cx: &mut EndCx<'_>) {
        if self.0.on_delivered(&lot(every)) {
            cx.send(RelayCommand::Sendme, StreamId::CIRCUIT);
        }
    }
}

/// The source's measure of the round trip to the sink and back.
#[derive(Clone, Debug)]
pub(super) struct CircuitTrip {
    /// When the last cells of acknowledgements to come departed.
    departures: VecDeque<Instant>,
    /// The last cell of the next acknowledgement that has not departed.
    boundary: u64,
    /// The round trip, counted in data cells.
    pub(super) round: Round,
    /// The smallest round trip.
    pub(super) base: Duration,
    /// The last round trip.
    pub(super) last: Option<Duration>,
}

impl Default for CircuitTrip {
    fn default() -> Self {
        Self {
            departures: VecDeque::new(),
            boundary: 0,
            round: Round::default(),
            base: Duration::MAX,
            last: None,
        }
    }
}

impl CircuitTrip {
    /// Notes that a cell departs.
    pub(super) fn on_departure(&mut self, every: Cells, cx: &EndCx<'_>) {
        if self.boundary == 0 {
            self.boundary = every.get();
        }
        while self.boundary <= cx.gates.end.passed().get() {
            self.departures.push_back(cx.now);
            self.boundary += every.get();
        }
    }

    /// Takes an acknowledgement of `every` cells: releases them from the end-to-end gate.
    ///
    /// # Errors
    /// If it is none, or acknowledges cells that were never sent.
    pub(super) fn on_command(
        &mut self,
        every: Cells,
        cx: &mut EndCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        if header.command != RelayCommand::Sendme || header.stream != StreamId::CIRCUIT {
            return Err(Violation::Unexpected(header.command));
        }
        lot(every).on_sendme(cx, StreamId::CIRCUIT)?;
        let departed = self.departures.pop_front();
        let departed = departed.ok_or(Violation::BeyondOutstanding)?;
        let rtt = cx.now.saturating_since(departed);
        self.base = self.base.min(rtt);
        self.last = Some(rtt);
        self.round.note(every, Some(rtt));
        Ok(())
    }

    /// Sets the end-to-end window. Since it opens in lots, a pace spreads its cells over
    /// the last round trip: `gain` percent of a window in that time.
    pub(super) fn set_window(&self, window: Cells, gain: u64, gate: &mut Gate) {
        gate.set_window(window);
        if let Some(rtt) = self.last {
            let spread = rtt.min(LONGEST).as_nanos();
            let interval = spread * 100 / (window.get() * gain).max(1);
            gate.set_pace(Duration::from_nanos(interval), Duration::ZERO);
        }
    }
}

/// What one acknowledgement stands for.
const fn lot(every: Cells) -> SendmeWindow {
    SendmeWindow {
        start: every,
        increment: every,
    }
}
