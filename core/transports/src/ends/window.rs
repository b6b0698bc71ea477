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
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::{BOTH_ENDS, EVERY_CELL_ARRIVES, former, settle_source_queue, state_of};
use crate::layer::{Around, LayerOptions, MOST_CELLS};

/// Fixed windows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct FixedWindows {
    /// Cells that a circuit may have under way; 0: no limit.
    #[schemars(range(max = MOST_CELLS))]
    circuit_window: Cells,
    /// Cells of a circuit that one SENDME acknowledges, at most the window.
    #[schemars(range(min = 1))]
    circuit_increment: Cells,
    /// Cells that a stream may have under way; 0: no limit.
    #[schemars(range(max = MOST_CELLS))]
    stream_window: Cells,
    /// Cells of a stream that one SENDME acknowledges, at most the window.
    #[schemars(range(min = 1))]
    stream_increment: Cells,
    /// Cells in a source's queue from which on it packages no more; by default 256 (tor 0.4.9,
    /// `cellq_high`). Only where there is no control on hops.
    #[schemars(range(min = 1))]
    source_queue: Option<Cells>,
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
#[derive(Clone, Debug)]
struct State {
    windows: Windows,
    /// What it delivered of the circuit. The streams count their own.
    circuit: Acknowledger,
}

impl Default for FixedWindows {
    fn default() -> Self {
        Self {
            circuit_window: Cells::new(1000),
            circuit_increment: Cells::new(100),
            stream_window: Cells::new(500),
            stream_increment: Cells::new(50),
            source_queue: None,
        }
    }
}

impl LayerOptions for FixedWindows {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        let Windows { circuit, stream } = self.windows();
        at_most_the_window("circuit-increment", circuit)?;
        at_most_the_window("stream-increment", stream)?;
        let Some(limit) = circuit.or(stream) else {
            let allowed = "above 0, unless there is a stream window";
            return Err(ConfigError::new("circuit-window", 0, allowed));
        };
        settle_source_queue(&mut self.source_queue, around)?;
        if !around.hops_control {
            // The most cells that one stream may have under way, and the SENDMEs about as many of the
            // other direction.
            let lots = |window: SendmeWindow| limit.start.get() / window.increment.get();
            let sendmes: u64 = [circuit, stream].into_iter().flatten().map(lots).sum();
            around.need_queue(limit.start, limit.start + Cells::new(sendmes));
        }
        Ok(())
    }
}

impl FixedWindows {
    fn windows(&self) -> Windows {
        let limited = |window: &SendmeWindow| !window.start.is_zero();
        let [circuit, stream] = [
            (self.circuit_window, self.circuit_increment),
            (self.stream_window, self.stream_increment),
        ]
        .map(|(start, increment)| Some(SendmeWindow { start, increment }).filter(limited));
        Windows { circuit, stream }
    }
}

fn at_most_the_window(key: &str, window: Option<SendmeWindow>) -> Result<(), ConfigError> {
    match window {
        Some(SendmeWindow { start, increment }) if increment > start => {
            let allowed = format!("at most the window, {}", start.get());
            Err(ConfigError::new(key, increment.get(), allowed))
        }
        _ => Ok(()),
    }
}

impl EndControl for FixedWindows {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info {
            provides: Features::BOUND,
            requires: &[EVERY_CELL_ARRIVES],
            ..Info::new("window", "fixed windows that SENDMEs open")
        };
        &INFO
    }

    fn plan(&self) -> EndPlan {
        let mut plan = EndPlan {
            sendme_every: self.windows().circuit.map(|window| window.increment),
            ..EndPlan::default()
        };
        if let Some(queue) = self.source_queue {
            plan.source_high_water = queue;
        }
        plan
    }

    fn open(&self, _: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        let windows = self.windows();
        if let Some(window) = &windows.circuit {
            window.open(gates.end);
        }
        Some(Box::new(State {
            windows,
            circuit: Acknowledger::default(),
        }))
    }

    fn open_stream(&self, gate: &mut Gate) {
        if let Some(window) = &self.windows().stream {
            window.open(gate);
        }
    }

    fn check_change(&self, old: &dyn EndControl) -> Result<(), ConfigError> {
        let old: &Self = former(old);
        let limits = |control: &Self| {
            let Windows { circuit, stream } = control.windows();
            [circuit.is_some(), stream.is_some()]
        };
        let [circuit, stream] = [0, 1].map(|of| limits(self)[of] != limits(old)[of]);
        let mut keys = vec!["circuit-increment", "stream-increment"];
        keys.extend(circuit.then_some("circuit-window"));
        keys.extend(stream.then_some("stream-window"));
        self.keeps(old, &keys, BOTH_ENDS)
    }

    fn reconfigure(&self, state: &mut dyn EndState, gates: &mut EndGates<'_>) {
        let windows = self.windows();
        if let Some(window) = &windows.circuit {
            window.open(gates.end);
        }
        state_of::<State>(state).windows = windows;
    }
}

impl EndState for State {
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation> {
        match signal {
            EndSignal::Dequeued(_) => self.on_dequeued(cx),
            EndSignal::Delivered(stream) => self.on_delivered(cx, stream),
            EndSignal::Command(header) => return self.on_command(cx, header),
            EndSignal::Packaged | EndSignal::Departed | EndSignal::Hop(_) => {}
        }
        Ok(())
    }
}

impl State {
    fn on_dequeued(&mut self, cx: &mut EndCx<'_>) {
        let window = self.windows.circuit.as_ref();
        if window.is_some_and(|window| self.circuit.on_delivered(window)) {
            cx.send(RelayCommand::Sendme, StreamId::CIRCUIT);
        }
    }

    fn on_delivered(&self, cx: &mut EndCx<'_>, stream: StreamId) {
        let window = self.windows.stream.as_ref();
        if window.is_some_and(|window| cx.count_delivered(stream, window)) {
            cx.send(RelayCommand::Sendme, stream);
        }
    }

    fn on_command(&self, cx: &mut EndCx<'_>, header: &RelayHeader) -> Result<(), Violation> {
        if header.command != RelayCommand::Sendme {
            return Err(Violation::Unexpected(header.command));
        }
        let window = match header.stream {
            StreamId::CIRCUIT => self.windows.circuit,
            _ => self.windows.stream,
        };
        let window = window.ok_or(Violation::Unexpected(header.command))?;
        window.on_sendme(cx, header.stream)
    }
}
