//! Control from end to end, which a transport can have beside its control on each hop.
//!
//! The sink returns SENDME cells; the source's gate before its queue opens with them. Fixed windows
//! ([`Windows`]) are Tor's first control, [`Vegas`] its present one.

mod vegas;
mod windows;

use hopflow_overlay::{
    Acknowledger, ConfigError, Direction, FlowCx, Gate, Gates, Role, SendmeWindow, Site, Violation,
};
use hopflow_units::{Cells, StreamId};
use hopflow_wire::{RelayCommand, RelayHeader};

use crate::options::Options;
pub use vegas::{Local, Vegas, VegasConfig};
pub use windows::{Deliveries, Windows};

/// The name that means a circuit as a whole.
const CIRCUIT: StreamId = StreamId::new(0);
/// Cells in a source's queue at which it counts as blocked, and below which no more (tor 0.4.9,
/// `cellq_high` and `cellq_low`).
pub(crate) const BLOCKED: (Cells, Cells) = (Cells::new(256), Cells::new(10));

/// How the ends of a circuit limit what is under way between them.
#[derive(Clone, Copy, Debug)]
pub enum Ends {
    /// Not at all: the hops do.
    None,
    /// By fixed windows.
    Windows(Windows),
    /// By a window that follows the circuit's delay.
    Vegas(VegasConfig),
}

/// What an end knows of a flow.
#[derive(Debug)]
pub enum EndState {
    /// Nothing.
    None,
    /// What it delivered.
    Windows(Deliveries),
    /// What it delivered, and at a source the window.
    Vegas(Box<VegasEnd>),
}

/// An end of a flow that Vegas controls.
#[derive(Debug)]
pub struct VegasEnd {
    control: Vegas,
    delivered: Acknowledger,
    /// Whether the source's own queue was too long and has not become short since.
    blocked: bool,
}

/// The names of the controls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    None,
    Windows,
    Vegas,
}

impl Ends {
    /// Reads the control that the options choose, and its parameters.
    pub(crate) fn configure(options: &mut Options, default: Kind) -> Result<Self, ConfigError> {
        let kinds = [
            ("none", Kind::None),
            ("window", Kind::Windows),
            ("vegas", Kind::Vegas),
        ];
        Ok(match options.choice("end-to-end", default, &kinds)? {
            Kind::None => Self::None,
            Kind::Windows => Self::Windows(Windows::configure(options)?),
            Kind::Vegas => Self::Vegas(VegasConfig::configure(options)?),
        })
    }

    /// A flow begins.
    pub(crate) fn open(&self, site: &Site, gates: &mut Gates) -> EndState {
        match self {
            Self::None => EndState::None,
            Self::Windows(windows) => {
                windows.open(gates);
                EndState::Windows(Deliveries::default())
            }
            Self::Vegas(_) if site.role == Role::Relay => EndState::None,
            Self::Vegas(config) => {
                let control = Vegas::new(config);
                gates.end.set_window(control.window());
                // Conflux: clients send on their fastest leg, exits on the fastest that is ready
                // (tor 0.4.9, conflux.c: MinRTT and LowRTT).
                gates.faithful = site.direction == Direction::Forward;
                EndState::Vegas(Box::new(VegasEnd {
                    control,
                    delivered: Acknowledger::default(),
                    blocked: false,
                }))
            }
        }
    }

    /// A stream begins.
    pub(crate) fn open_stream(&self, gate: &mut Gate) {
        if let Self::Windows(windows) = self {
            windows.open_stream(gate);
        }
    }

    /// A cell was cut.
    pub(crate) fn on_cut(&self, state: &mut EndState, cx: &FlowCx<'_>) {
        if let (Self::Vegas(config), EndState::Vegas(end)) = (self, state) {
            let inflight = cx.gates.end.outstanding().get();
            end.control.on_cut(config, cx.now, inflight);
            end.blocked |= cx.queue.unsent >= config.blocked.0;
        }
    }

    /// A cell departed.
    pub(crate) fn on_departure(&self, state: &mut EndState, cx: &FlowCx<'_>) {
        if let (Self::Vegas(config), EndState::Vegas(end)) = (self, state) {
            end.blocked &= cx.queue.unsent > config.blocked.1;
        }
    }

    /// At the sink, a cell left the circuit.
    pub(crate) fn on_taken(&self, state: &mut EndState, cx: &mut FlowCx<'_>) {
        match (self, state) {
            (Self::Windows(windows), EndState::Windows(seen)) => windows.on_taken(seen, cx),
            (Self::Vegas(config), EndState::Vegas(end)) => end.on_taken(config, cx),
            _ => {}
        }
    }

    /// At the sink, the application took a cell.
    pub(crate) fn on_consumed(&self, state: &mut EndState, cx: &mut FlowCx<'_>, stream: StreamId) {
        if let (Self::Windows(windows), EndState::Windows(seen)) = (self, state) {
            windows.on_consumed(seen, cx, stream);
        }
    }

    /// At the source, the sink sent a command.
    pub(crate) fn on_far_end(
        &self,
        state: &mut EndState,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        if header.command != RelayCommand::Sendme {
            return Err(Violation::Unexpected);
        }
        match (self, state) {
            (Self::Windows(windows), _) => windows.on_sendme(cx, header.stream),
            (Self::Vegas(config), EndState::Vegas(end)) if header.stream == CIRCUIT => {
                end.on_sendme(config, cx)
            }
            _ => Err(Violation::Unexpected),
        }
    }
}

impl EndState {
    /// A stream ends.
    pub(crate) fn close_stream(&mut self, stream: StreamId) {
        if let Self::Windows(seen) = self {
            seen.forget(stream);
        }
    }
}

impl VegasConfig {
    /// What one SENDME stands for.
    const fn lot(&self) -> SendmeWindow {
        SendmeWindow {
            start: Cells::new(self.increment),
            increment: Cells::new(self.increment),
        }
    }
}

impl VegasEnd {
    fn on_taken(&mut self, config: &VegasConfig, cx: &mut FlowCx<'_>) {
        if self.delivered.on_delivered(&config.lot()) {
            cx.send_far_end(RelayCommand::Sendme, CIRCUIT);
        }
    }

    fn on_sendme(&mut self, config: &VegasConfig, cx: &mut FlowCx<'_>) -> Result<(), Violation> {
        let local = Local {
            inflight: cx.gates.end.outstanding().get(),
            queued: cx.queue.unsent.get(),
            blocked: self.blocked,
        };
        config.lot().on_sendme(&mut cx.gates.end)?;
        self.control.on_sendme(config, cx.now, &local)?;
        cx.gates.end.set_window(self.control.window());
        cx.gates.rank = self.control.smoothed_rtt();
        Ok(())
    }
}
