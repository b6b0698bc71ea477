//! What must hold at every step, and at the end.

use std::fmt::Write;

use hopflow_overlay::{Direction, EndToEnd, FlowView};
use hopflow_units::Cells;

use super::Chain;

impl Chain<'_> {
    /// The flows of a node, to be compared with what they are after an input or output.
    pub(super) fn views(&self, node: usize) -> Vec<Option<FlowView>> {
        let mut views = Vec::new();
        for circuit in self.circuits.iter() {
            for hop in (0..circuit.hops.len()).filter(|&hop| circuit.hops[hop].0 == node) {
                for direction in [Direction::Forward, Direction::Backward] {
                    views.push(self.flow_of(circuit, hop, direction));
                }
            }
        }
        views
    }

    /// Compares a node's flows with what they were.
    pub(super) fn check_gates(&mut self, node: usize, before: &[Option<FlowView>]) {
        let after = self.views(node);
        let limit = self.plan.link.queue_limit.get();
        for (before, after) in before.iter().zip(&after) {
            let (Some(before), Some(after)) = (before, after) else {
                continue;
            };
            if after.outstanding > before.outstanding {
                let window = before.window.max(after.window);
                assert!(
                    window.is_none_or(|window| after.outstanding <= window),
                    "a gate is exceeded: {before:?}, then {after:?}"
                );
                assert!(
                    !self.plan.hop.feedback.forwarded || after.outstanding.get() <= limit,
                    "the successor's queue limit is exceeded: {after:?}"
                );
            }
        }
    }

    /// Checks queues, and that cells do not come from nowhere.
    pub(super) fn check_flows(&mut self) {
        let limit = self.plan.link.queue_limit.get();
        let sink = self.plan.connection().map(EndToEnd::receive_buffer);
        let sink_limit = sink.map_or(limit, Cells::get);
        for circuit in self.circuits.iter() {
            let last = circuit.hops.len() - 1;
            for direction in [Direction::Forward, Direction::Backward] {
                let mut views: Vec<_> = (0..circuit.hops.len())
                    .map(|hop| self.flow_of(circuit, hop, direction))
                    .collect();
                if direction == Direction::Backward {
                    views.reverse();
                }
                // A source's queue is bounded by the plan's `ahead`, and by the commands it owes.
                for (hop, view) in views.iter().enumerate().skip(1) {
                    let Some(view) = view else { continue };
                    let limit = if hop == last { sink_limit } else { limit };
                    self.watch.note_queue(view, limit);
                }
                if self.plan.connection().is_some() {
                    keep_ends(&mut views);
                }
                for pair in views.windows(2) {
                    if let [Some(from), Some(to)] = pair {
                        assert!(
                            from.departed >= to.departed,
                            "cells from nowhere: {from:?}, {to:?}"
                        );
                    }
                }
            }
        }
    }

    /// The state of all flows and streams, for messages about what went wrong.
    pub fn summary(&self) -> String {
        let mut text = format!("at {}\n", self.now);
        for (number, circuit) in self.circuits.iter().enumerate() {
            for direction in [Direction::Forward, Direction::Backward] {
                for hop in 0..circuit.hops.len() {
                    let view = self.flow_of(circuit, hop, direction);
                    let _ = writeln!(text, "circuit {number}, {direction:?}, hop {hop}: {view:?}");
                }
            }
        }
        for stream in &self.streams {
            let _ = writeln!(text, "{stream:?}");
        }
        text
    }

    /// Checks that nothing is left: no cell waits or is outstanding, and as many cells arrived at
    /// the far end of each circuit as left its source.
    pub fn assert_conserved(&self) {
        for circuit in self.circuits.iter() {
            for direction in [Direction::Forward, Direction::Backward] {
                let mut views: Vec<_> = (0..circuit.hops.len())
                    .filter_map(|hop| self.flow_of(circuit, hop, direction))
                    .collect();
                if self.plan.connection().is_some() {
                    keep_ends(&mut views);
                }
                for view in &views {
                    assert_eq!(view.queued.get(), 0, "a cell waits: {view:?}");
                    assert_eq!(view.out_of_order.get(), 0, "a cell waits: {view:?}");
                    assert_eq!(view.departed, views[0].departed, "cells got lost");
                }
            }
        }
    }
}

/// Leaves out what lies between a circuit's ends.
fn keep_ends<V>(views: &mut Vec<V>) {
    let inner = views.len().saturating_sub(1);
    views.drain(1..inner.max(1));
}
