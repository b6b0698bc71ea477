//! New options for a node that runs.

use std::sync::Arc;

use hopflow_units::Instant;
use hopflow_wire::Payload;

use super::{Layers, Node};
use crate::change::stays;
use crate::circuit::Circuit;
use crate::{ConfigError, Direction, EndGates, Factory, Gates, HopControl, Stack};

impl<H: HopControl, P: Payload> Node<H, P> {
    /// Goes on with the options of a factory, if the layers allow it, and lets all flows go on as
    /// their gates allow then.
    pub(super) fn take_options(
        &mut self,
        now: Instant,
        factory: &dyn Factory<P>,
    ) -> Result<(), ConfigError> {
        let stack = factory.stack().downcast::<Stack<H>>();
        let stack = stack.map_err(|_| {
            let name = factory.name();
            stays(
                "hop-control",
                &format!("another one, of {name}"),
                H::INFO.name,
            )
        })?;
        self.stack.check_change(&stack)?;
        self.plan = stack.shared_plan();
        self.busy.set_after(self.plan.hop.busy);
        self.layers.hop.reconfigure(&stack.hop);
        self.layers.end = Arc::clone(&stack.end);
        self.stack = stack;
        for circuit in self.circuits.iter_mut() {
            self.layers.reopen(circuit);
        }
        for window in &mut self.streams.windows {
            self.layers.end.open_stream(&mut window.gate);
        }
        for circuit in 0..self.circuits.places() {
            for direction in [Direction::Forward, Direction::Backward] {
                self.with(now, circuit, |visit| visit.after_gate(direction));
            }
        }
        Ok(())
    }
}

impl<H: HopControl> Layers<H> {
    /// Sets the gates of a circuit's flows by new options.
    fn reopen<P: Payload>(&mut self, circuit: &mut Circuit<H::Flow, P>) {
        let source = circuit.source();
        let (flows, mut edge) = circuit.parts_mut();
        for flow in flows {
            let here = source == Some(flow.site.direction);
            let mut edge = edge.as_deref_mut().filter(|_| here);
            let mut gates = Gates {
                hop: &mut flow.gate,
                end: edge.as_mut().map(|edge| &mut edge.gate),
            };
            self.hop.reopen(&mut flow.state, &flow.site, &mut gates);
            let Some(edge) = edge else { continue };
            let mut gates = EndGates {
                hop: &mut flow.gate,
                end: &mut edge.gate,
                preference: &mut edge.preference,
            };
            if let Some(state) = &mut edge.control {
                self.end.reconfigure(&mut **state, &mut gates);
            }
        }
    }
}
