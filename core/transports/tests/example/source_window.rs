//! A fixed end-to-end window: it limits the cells that the source has in flight; the sink returns a
//! SENDME for each tenth of it.
//!
//! What leaks: relays can count SENDMEs by the timing of reverse cells.

use hopflow_overlay::{
    Acknowledger, ConfigError, EndControl, EndCx, EndGates, EndPlan, EndSignal, EndState, Features,
    Info, SendmeWindow, Site, Violation,
};
use hopflow_transports::{Around, ConfigureEnd, Family, Options, Preset};
use hopflow_units::{Cells, StreamId};
use hopflow_wire::RelayCommand;

/// Tor's links with this control.
pub(crate) static PRESET: Preset = Preset {
    name: "source-window",
    about: "A fixed window from end to end over TCP",
    family: &Family {
        name: "source-window",
        end: "source-window",
        ..Family::TOR
    },
    options: "",
};

/// The name that means a circuit as a whole.
const CIRCUIT: StreamId = StreamId::new(0);

/// The parameters, shared by all circuits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceWindow(SendmeWindow);

/// What an end of a circuit knows.
#[derive(Debug)]
struct State {
    window: SendmeWindow,
    delivered: Acknowledger,
}

impl ConfigureEnd for SourceWindow {
    fn layer() -> &'static Info {
        static INFO: Info = Info {
            provides: Features::BOUND,
            requires: &[(
                Features::STREAMS.or(Features::HOP_REPAIR),
                "The window counts on every cell to arrive.",
            )],
            ..Info::new("source-window", "a fixed window that SENDMEs open")
        };
        &INFO
    }

    fn configure(options: &mut Options, around: &mut Around) -> Result<Self, ConfigError> {
        let start = options.cells("window", Cells::new(1000), Cells::new(10))?;
        // Without control on hops the whole window may wait at one relay.
        around.need_queue(start, start);
        let increment = Cells::new(start.get() / 10);
        Ok(Self(SendmeWindow { start, increment }))
    }
}

impl EndControl for SourceWindow {
    fn info(&self) -> &'static Info {
        Self::layer()
    }

    fn plan(&self) -> EndPlan {
        EndPlan::default()
    }

    fn open(&self, _: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        self.0.open(gates.end);
        Some(Box::new(State {
            window: self.0,
            delivered: Acknowledger::default(),
        }))
    }
}

impl EndState for State {
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation> {
        match signal {
            EndSignal::Dequeued(_) if self.delivered.on_delivered(&self.window) => {
                cx.send(RelayCommand::Sendme, CIRCUIT);
                Ok(())
            }
            EndSignal::Command(header)
                if header.command == RelayCommand::Sendme && header.stream == CIRCUIT =>
            {
                self.window.on_sendme(cx.gates.end)
            }
            EndSignal::Command(_) => Err(Violation::Unexpected),
            _ => Ok(()),
        }
    }
}
