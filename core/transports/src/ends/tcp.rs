//! UDP-OR: one TCP connection from end to end, over hops that only forward.
//!
//! C. Viecco, "UDP-OR: A fair onion transport design", Hot Topics in Privacy Enhancing Technologies
//! 2008, as F. Tschorsch and B. Scheuermann, "How (not) to Build a Transport Layer for Anonymity
//! Overlays", SIGMETRICS Performance Evaluation Review 40(4), 2013, section 4.4, set it against TCP
//! on every hop.
//!
//! Cells travel as datagrams. Relays keep a drop-tail queue per circuit, acknowledge nothing and
//! repeat nothing; the circuit's ends keep a TCP connection whose segments are cells and whose
//! acknowledgements are cells, too. Congestion control so takes the round trip and the losses of
//! the whole circuit. The connection itself is the layer that repairs losses
//! ([`Repair::EndToEnd`](hopflow_overlay::Repair::EndToEnd)).
//!
//! What leaks: every relay sees a cell's number on the circuit and how often it was sent before, so
//! two relays of a circuit can find that they see the same cells, and each how many were lost
//! before it; acknowledgements and questions show as such by a flag, but not what they say.

use hopflow_overlay::{ConfigError, EndControl, EndGates, EndPlan, EndState, Features, Info, Site};
use hopflow_units::Cells;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::layer::LayerOptions;

/// TCP's congestion control from one end of a circuit to the other.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct EndTcp {
    /// Cells that a source packages ahead of TCP's window.
    #[schemars(range(min = 1))]
    source_queue: Cells,
}

impl Default for EndTcp {
    fn default() -> Self {
        Self {
            source_queue: Cells::new(16),
        }
    }
}

impl LayerOptions for EndTcp {}

impl EndControl for EndTcp {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info {
            provides: Features::END_TCP.or(Features::BOUND),
            requires: &[(
                Features::END_REPAIR,
                "TCP's ends send again what hops lose: its congestion control is that of the \
                 connection which repairs losses from end to end.",
            )],
            excludes: &[(
                Features::STREAMS.or(Features::HOP_REPAIR),
                "TCP over hops that repair losses themselves: both retransmit the same data and \
                 wait for each other (the meltdown of stacked TCP, section 4.3 of the guidelines).",
            )],
            ..Info::new("tcp", "TCP between the ends of a circuit (UDP-OR)")
        };
        &INFO
    }

    fn plan(&self) -> EndPlan {
        EndPlan {
            source_high_water: self.source_queue,
            ..EndPlan::default()
        }
    }

    fn open(&self, _: &Site, _: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        None
    }

    fn check_change(&self, _: &dyn EndControl) -> Result<(), ConfigError> {
        Ok(())
    }
}
