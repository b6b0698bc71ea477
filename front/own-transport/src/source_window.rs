//! A fixed end-to-end window: it limits the cells that the source has in flight; the sink returns a
//! SENDME for each tenth of it.
//!
//! What leaks: relays can count SENDMEs by the timing of reverse cells.

use hopflow_overlay::{
    Acknowledger, ConfigError, EndControl, EndCx, EndGates, EndPlan, EndSignal, EndState, Features,
    Info, SendmeWindow, Site, Violation,
};
use hopflow_transports::{Around, Family, LayerOptions, Preset};
use hopflow_units::{Cells, StreamId};
use hopflow_wire::RelayCommand;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// The control, which is its options.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct SourceWindow {
    /// Cells that a circuit may have under way.
    #[schemars(range(min = 10))]
    window: Cells,
}

/// What an end of a circuit knows.
#[derive(Clone, Debug)]
struct State {
    window: SendmeWindow,
    delivered: Acknowledger,
}

impl Default for SourceWindow {
    fn default() -> Self {
        Self {
            window: Cells::new(1000),
        }
    }
}

impl LayerOptions for SourceWindow {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        // Without control on hops the whole window may wait at one relay.
        around.need_queue(self.window, self.window);
        Ok(())
    }
}

impl SourceWindow {
    fn windows(self) -> SendmeWindow {
        SendmeWindow {
            start: self.window,
            increment: Cells::new(self.window.get() / 10),
        }
    }
}

impl EndControl for SourceWindow {
    fn info(&self) -> &'static Info {
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

    fn plan(&self) -> EndPlan {
        EndPlan {
            sendme_every: Some(self.windows().increment),
            ..EndPlan::default()
        }
    }

    fn open(&self, _: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        let window = self.windows();
        window.open(gates.end);
        Some(Box::new(State {
            window,
            delivered: Acknowledger::default(),
        }))
    }
}

impl EndState for State {
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation> {
        match signal {
            EndSignal::Dequeued(_) if self.delivered.on_delivered(&self.window) => {
                cx.send(RelayCommand::Sendme, StreamId::CIRCUIT);
                Ok(())
            }
            EndSignal::Command(header)
                if header.command == RelayCommand::Sendme && header.stream == StreamId::CIRCUIT =>
            {
                self.window.on_sendme(cx, StreamId::CIRCUIT)
            }
            EndSignal::Command(header) => Err(Violation::Unexpected(header.command)),
            _ => Ok(()),
        }
    }
}
