//! What layers measure of a flow, and what holds its cells back.

use hopflow_units::Instant;
use hopflow_wire::Payload;

use super::Node;
use crate::circuit::Flow;
use crate::edge::Edge;
use crate::{CircuitHandle, Direction, FlowView, Hold, Holding, HopControl, Measured, Metric};

impl<H: HopControl, P: Payload> Node<H, P> {
    /// The present state of a flow.
    pub(super) fn view_flow(
        &self,
        circuit: CircuitHandle,
        direction: Direction,
    ) -> Option<FlowView> {
        let place = self.circuits.place(circuit)?;
        let circuit = self.circuits.get(place)?;
        let flow = &circuit[direction];
        let source = flow.inbound.is_none();
        let end = circuit.edge.as_ref().filter(|_| source);
        let mut view = flow.view(end.map(|edge| &edge.gate), self.plan.releases_hops());
        if let Some(edge) = &circuit.edge {
            view.proofs = edge.proofs.kept(source);
        }
        Some(view)
    }

    /// Appends what the hop control measures of a flow and, at its source, the end control.
    pub(super) fn measure_flow(
        &self,
        circuit: CircuitHandle,
        direction: Direction,
        out: &mut Vec<Measured>,
    ) {
        let place = self.circuits.place(circuit);
        let Some(circuit) = place.and_then(|place| self.circuits.get(place)) else {
            return;
        };
        let flow = &circuit[direction];
        if flow.outbound.is_none() {
            return;
        }
        let mut values = Vec::new();
        self.layers.hop.sample(&flow.state, &mut values);
        append(H::INFO.metrics, &values, out);
        let edge = circuit.edge.as_ref().filter(|_| flow.inbound.is_none());
        if let Some(control) = edge.and_then(|edge| edge.control.as_ref()) {
            values.clear();
            control.sample(&mut values);
            append(self.layers.end.info().metrics, &values, out);
        }
    }

    /// What holds a flow's cells back.
    pub(super) fn holding_of(
        &self,
        now: Instant,
        circuit: CircuitHandle,
        direction: Direction,
    ) -> Option<Holding> {
        let place = self.circuits.place(circuit)?;
        let circuit = self.circuits.get(place)?;
        let flow = &circuit[direction];
        let queue = self.hold_of_queue(now, flow)?;
        let edge = circuit.edge.as_ref().filter(|_| flow.inbound.is_none());
        Some(Holding {
            package: edge.map_or(queue, |edge| self.hold_of_package(now, flow, edge, queue)),
            queue,
            missing: flow.repair.missing(),
            departed: flow.queue.next(),
        })
    }

    /// What keeps the first cell of a flow's queue from leaving.
    fn hold_of_queue(&self, now: Instant, flow: &Flow<H::Flow, P>) -> Option<Hold> {
        let port = flow.outbound?;
        if flow.queue.unsent() == 0 {
            // What the ends' connection keeps has passed no gate; other cells are on their way out.
            let kept = flow.repair.keeps_unsent() > 0;
            return Some(if kept { Hold::EndWindow } else { Hold::Driver });
        }
        if !flow.gate.has_room() {
            return Some(Hold::HopWindow);
        }
        if !flow.gate.is_open(now) {
            return Some(Hold::HopPace);
        }
        Some(self.egress.hold(now, port.link).unwrap_or(Hold::Driver))
    }

    /// What keeps a source from packaging, in the order in which packaging asks.
    fn hold_of_package(
        &self,
        now: Instant,
        flow: &Flow<H::Flow, P>,
        edge: &Edge,
        queue: Hold,
    ) -> Hold {
        let waiting = flow.queue.unsent() + flow.repair.keeps_unsent();
        if flow.repair.keeps_enough() {
            return Hold::EndWindow;
        }
        if edge.filled || waiting >= self.plan.end.source_high_water.get() {
            return queue;
        }
        if !edge.gate.has_room() {
            return Hold::EndWindow;
        }
        if !edge.gate.is_open(now) {
            return Hold::EndPace;
        }
        if edge.lacks_window(&self.streams) {
            Hold::StreamWindow
        } else {
            Hold::Stream
        }
    }
}

/// Names the values of a layer; a value that is not finite says that nothing was measured.
fn append(metrics: &'static [Metric], values: &[f64], out: &mut Vec<Measured>) {
    debug_assert!(
        metrics.len() == values.len(),
        "`sample` gave {} values, `Info::metrics` declares {}",
        values.len(),
        metrics.len()
    );
    let named = metrics.iter().zip(values);
    let measured = named.filter(|(_, value)| value.is_finite());
    out.extend(measured.map(|(metric, &value)| Measured { metric, value }));
}
