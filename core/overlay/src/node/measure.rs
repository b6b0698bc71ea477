//! What layers measure of a flow.

use hopflow_wire::Payload;

use super::Node;
use crate::{CircuitHandle, Direction, HopControl, Measured, Metric};

impl<H: HopControl, P: Payload> Node<H, P> {
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
