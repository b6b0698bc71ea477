//! Fixed windows from end to end (BackTap paper, sections 3.1 and 4.1; tor-spec, sections 7.3 and
//! 7.4): the source may have 1000 cells under way per circuit and 500 per stream; the sink returns
//! a SENDME for every 100 and 50 cells.
//!
//! What leaks: relays can count SENDMEs by the rhythm of reverse cells.

use hopflow_overlay::{
    Acknowledger, ConfigError, EndControl, EndCx, EndGates, EndPlan, EndSignal, EndState, Features,
    Gate, Info, SendmeWindow, Site, Violation,
};
use hopflow_units::{Cells, StreamId};
use hopflow_wire::{RelayCommand, RelayHeader};

use super::shared::{BLOCKED, CIRCUIT, EVERY_CELL_ARRIVES};
use crate::layer::{Around, ConfigureEnd};
use crate::options::Options;

/// Fixed windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedWindows {
    windows: Windows,
    plan: EndPlan,
}

/// The windows; at least one is limited.
#[derive(Clone, Copy, Debug)]
struct Windows {
    /// The circuit's window; `None`: not limited.
    circuit: Option<SendmeWindow>,
    /// The window of each stream; `None`: not limited.
    stream: Option<SendmeWindow>,
}

/// What an end knows.
#[derive(Debug)]
struct State {
    windows: Windows,
    /// What it delivered.
    circuit: Acknowledger,
    streams: Vec<(StreamId, Acknowledger)>,
}

impl ConfigureEnd for FixedWindows {
    fn layer() -> &'static Info {
        static INFO: Info = Info {
            provides: Features::BOUND,
            requires: &[EVERY_CELL_ARRIVES],
            ..Info::new("window", "fixed windows that SENDMEs open")
        };
        &INFO
    }

    fn configure(options: &mut Options, around: &mut Around) -> Result<Self, ConfigError> {
        let windows = Windows::configure(options)?;
        let mut plan = EndPlan::default();
        if !around.hops_control {
            plan.source_high_water = options.cells("source-queue", BLOCKED.0, Cells::new(1))?;
            around.need_queue(windows.most(), Cells::ZERO);
        }
        Ok(Self { windows, plan })
    }
}

impl Windows {
    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let circuit = window(options, ["circuit-window", "circuit-increment"], 1000, 100)?;
        let stream = window(options, ["stream-window", "stream-increment"], 500, 50)?;
        if circuit.is_none() && stream.is_none() {
            let allowed = "above 0, unless there is a stream window";
            return Err(ConfigError::new("circuit-window", 0, allowed));
        }
        Ok(Self { circuit, stream })
    }

    /// The most cells that one stream may have under way.
    fn most(&self) -> Cells {
        let limit = self.circuit.or(self.stream);
        limit.map_or(Cells::ZERO, |window| window.start)
    }
}

/// Reads a window; `None` if it is zero, which means no limit.
fn window(
    options: &mut Options,
    [window, increment]: [&'static str; 2],
    start: u64,
    by: u64,
) -> Result<Option<SendmeWindow>, ConfigError> {
    let start = options.cells(window, Cells::new(start), Cells::ZERO)?;
    let by = options.cells(increment, Cells::new(by), Cells::new(1))?;
    if start.is_zero() {
        return Ok(None);
    }
    if by > start {
        let allowed = format!("at most the window, {}", start.get());
        return Err(ConfigError::new(increment, by.get(), allowed));
    }
    Ok(Some(SendmeWindow {
        start,
        increment: by,
    }))
}

impl EndControl for FixedWindows {
    fn info(&self) -> &'static Info {
        Self::layer()
    }

    fn plan(&self) -> EndPlan {
        self.plan
    }

    fn open(&self, _: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        if let Some(window) = &self.windows.circuit {
            window.open(gates.end);
        }
        Some(Box::new(State {
            windows: self.windows,
            circuit: Acknowledger::default(),
            streams: Vec::new(),
        }))
    }

    fn open_stream(&self, gate: &mut Gate) {
        if let Some(window) = &self.windows.stream {
            window.open(gate);
        }
    }
}

impl EndState for State {
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation> {
        match signal {
            EndSignal::Dequeued(_) => self.on_dequeued(cx),
            EndSignal::Delivered(stream) => self.on_delivered(cx, stream),
            EndSignal::Command(header) => return self.on_command(cx, header),
            EndSignal::StreamClosed(stream) => self.streams.retain(|(id, _)| *id != stream),
            EndSignal::Packaged | EndSignal::Departed | EndSignal::Hop(_) => {}
        }
        Ok(())
    }
}

impl State {
    fn on_dequeued(&mut self, cx: &mut EndCx<'_>) {
        let window = self.windows.circuit.as_ref();
        if window.is_some_and(|window| self.circuit.on_delivered(window)) {
            cx.send(RelayCommand::Sendme, CIRCUIT);
        }
    }

    fn on_delivered(&mut self, cx: &mut EndCx<'_>, stream: StreamId) {
        let Some(window) = self.windows.stream else {
            return;
        };
        if self.stream(stream).on_delivered(&window) {
            cx.send(RelayCommand::Sendme, stream);
        }
    }

    fn on_command(&self, cx: &mut EndCx<'_>, header: &RelayHeader) -> Result<(), Violation> {
        if header.command != RelayCommand::Sendme {
            return Err(Violation::Unexpected);
        }
        if header.stream == CIRCUIT {
            let window = self.windows.circuit.ok_or(Violation::Unexpected)?;
            return window.on_sendme(cx.gates.end);
        }
        let window = self.windows.stream.ok_or(Violation::Unexpected)?;
        let gate = cx.stream_gate(header.stream);
        window.on_sendme(gate.ok_or(Violation::UnknownStream)?)
    }

    /// What was delivered of a stream.
    fn stream(&mut self, stream: StreamId) -> &mut Acknowledger {
        let place = self.streams.iter().position(|(id, _)| *id == stream);
        let place = place.unwrap_or_else(|| {
            self.streams.push((stream, Acknowledger::default()));
            self.streams.len() - 1
        });
        &mut self.streams[place].1
    }
}
