//! The client's part: moving streams from one circuit to another.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_overlay::{FlowId, PathCx, Violation};
use hopflow_units::Duration;
use hopflow_wire::RelayCommand;

/// How long a client waits for the end of a spare circuit, and what its streams do meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// After this the streams go on by the old circuit.
    pub(super) timeout: Duration,
    /// Whether they send nothing until then.
    pub(super) hold: bool,
}

/// Which circuits the streams of a client use.
///
/// Of the circuits of a stream the first that was not given up is in use, the others are spares.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    /// Circuits that streams have left, and spares that did not answer.
    given_up: BTreeSet<FlowId>,
    /// Spares whose end was asked, with the circuit that is in use until it answers.
    asked: BTreeMap<FlowId, FlowId>,
}

impl Client {
    /// The entry of a circuit asks that its streams go on by another one.
    pub(super) fn on_order(&mut self, patience: &Patience, cx: &mut PathCx<'_>) {
        let here = cx.site.flow;
        let legs = cx.legs().iter().copied();
        let mut left = legs.filter(|leg| !self.given_up.contains(leg));
        let (used, spare) = (left.next(), left.next());
        let Some(spare) = spare.filter(|_| used == Some(here)) else {
            return;
        };
        if self.asked.contains_key(&spare) {
            return;
        }
        self.asked.insert(spare, here);
        cx.send_along(spare, RelayCommand::SwitchConn);
        if patience.hold {
            cx.park_streams();
        }
        cx.set_timer(patience.timeout);
    }

    /// The end of a spare circuit takes the streams.
    pub(super) fn on_ack(&mut self, cx: &mut PathCx<'_>) -> Result<(), Violation> {
        let here = cx.site.flow;
        match self.asked.remove(&here) {
            // The streams have ended meanwhile; those that follow stay where they begin.
            Some(_) if cx.legs().is_empty() => {
                self.given_up.insert(here);
                Ok(())
            }
            Some(old) => {
                self.given_up.insert(old);
                cx.send_along(old, RelayCommand::Switch);
                cx.pin_streams(here);
                Ok(())
            }
            // The answer may be late.
            None if self.given_up.contains(&here) => Ok(()),
            None => Err(Violation::Unexpected(RelayCommand::SwitchAck)),
        }
    }

    /// The end of the spare circuit should have answered by now.
    pub(super) fn on_timer(&mut self, cx: &mut PathCx<'_>) {
        let here = cx.site.flow;
        let asked = self.asked.iter().find(|(_, old)| **old == here);
        if let Some((&spare, _)) = asked {
            self.asked.remove(&spare);
            self.given_up.insert(spare);
            cx.pin_streams(here);
        }
    }

    /// A circuit is gone. The spares that were asked in its stead may still answer.
    pub(super) fn forget(&mut self, flow: FlowId) {
        let of_it = self.asked.iter().filter(|(_, old)| **old == flow);
        self.given_up.extend(of_it.map(|(spare, _)| *spare));
        self.given_up.remove(&flow);
        self.asked
            .retain(|spare, old| *spare != flow && *old != flow);
    }
}
