//! Fixed windows from end to end (BackTap paper, sections 3.1 and 4.1; tor-spec, sections 7.3 and
//! 7.4): the source may have 1000 cells under way per circuit and 500 per stream; the sink returns
//! a SENDME for every 100 and 50 cells.

use hopflow_overlay::{Acknowledger, ConfigError, FlowCx, Gate, Gates, SendmeWindow, Violation};
use hopflow_units::{Cells, StreamId};
use hopflow_wire::RelayCommand;

use super::CIRCUIT;
use crate::options::Options;

/// The windows; at least one is limited.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// The circuit's window; `None`: not limited.
    pub circuit: Option<SendmeWindow>,
    /// The window of each stream; `None`: not limited.
    pub stream: Option<SendmeWindow>,
}

/// What a sink has counted.
#[derive(Debug, Default)]
pub struct Deliveries {
    circuit: Acknowledger,
    streams: Vec<(StreamId, Acknowledger)>,
}

impl Windows {
    pub(crate) fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let mut window = |keys: [&'static str; 2], start, increment| {
            let start = options.cells(keys[0], Cells::new(start), Cells::ZERO)?;
            let increment = options.cells(keys[1], Cells::new(increment), Cells::new(1))?;
            if start.is_zero() {
                return Ok(None);
            }
            if increment > start {
                let allowed = format!("at most the window, {}", start.get());
                return Err(ConfigError::new(keys[1], increment.get(), allowed));
            }
            Ok(Some(SendmeWindow { start, increment }))
        };
        let circuit = window(["circuit-window", "circuit-increment"], 1000, 100)?;
        let stream = window(["stream-window", "stream-increment"], 500, 50)?;
        if circuit.is_none() && stream.is_none() {
            let allowed = "above 0, unless there is a stream window";
            return Err(ConfigError::new("circuit-window", 0, allowed));
        }
        Ok(Self { circuit, stream })
    }

    /// The most cells that one stream may have under way.
    pub(crate) fn most(&self) -> Cells {
        let limit = self.circuit.or(self.stream);
        limit.map_or(Cells::ZERO, |window| window.start)
    }

    pub(super) fn open(&self, gates: &mut Gates) {
        if let Some(window) = &self.circuit {
            window.open(&mut gates.end);
        }
    }

    pub(super) fn open_stream(&self, gate: &mut Gate) {
        if let Some(window) = &self.stream {
            window.open(gate);
        }
    }

    pub(super) fn on_taken(&self, seen: &mut Deliveries, cx: &mut FlowCx<'_>) {
        let window = self.circuit.as_ref();
        if window.is_some_and(|window| seen.circuit.on_delivered(window)) {
            cx.send_far_end(RelayCommand::Sendme, CIRCUIT);
        }
    }

    pub(super) fn on_consumed(&self, seen: &mut Deliveries, cx: &mut FlowCx<'_>, stream: StreamId) {
        let window = self.stream.as_ref();
        if window.is_some_and(|window| seen.stream(stream).on_delivered(window)) {
            cx.send_far_end(RelayCommand::Sendme, stream);
        }
    }

    pub(super) fn on_sendme(&self, cx: &mut FlowCx<'_>, stream: StreamId) -> Result<(), Violation> {
        if stream == CIRCUIT {
            let window = self.circuit.as_ref().ok_or(Violation::Unexpected)?;
            return window.on_sendme(&mut cx.gates.end);
        }
        let window = self.stream.as_ref().ok_or(Violation::Unexpected)?;
        let gate = cx.stream_gate(stream).ok_or(Violation::UnknownStream)?;
        window.on_sendme(gate)
    }
}

impl Deliveries {
    pub(super) fn forget(&mut self, stream: StreamId) {
        self.streams.retain(|(id, _)| *id != stream);
    }

    fn stream(&mut self, stream: StreamId) -> &mut Acknowledger {
        let place = self.streams.iter().position(|(id, _)| *id == stream);
        let place = place.unwrap_or_else(|| {
            self.streams.push((stream, Acknowledger::default()));
            self.streams.len() - 1
        });
        &mut self.streams[place].1
    }
}
