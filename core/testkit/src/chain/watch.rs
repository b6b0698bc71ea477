//! What must hold at every step.

use std::fmt::Write;

use hopflow_overlay::{Direction, EndToEnd, FlowView};
use hopflow_units::{Bytes, Cells, Instant};

use super::Chain;

/// What was seen of a run, and what was checked on the way:
///
/// - A flow's outstanding cells never grow beyond its window, or beyond what the successor said it
///   can queue.
/// - No queue exceeds the plan's limit.
/// - No node has forwarded more of a flow than its predecessor has sent; where a circuit's ends
///   repair, relays count copies, so that only the ends are compared.
/// - Packets have the length that their node says, and fit the datagram or the stream.
#[derive(Clone, Debug)]
pub struct Watch {
    hash: u64,
    /// Packets and writes that left.
    pub packets: u64,
    /// Feedback messages that left.
    pub feedback: u64,
    /// Steps of the clock.
    pub steps: u64,
    /// The most cells seen in one queue, with those beyond a gap.
    pub largest_queue: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            // The offset basis of FNV-1a (RFC 9923, section 5).
            hash: 0xcbf2_9ce4_8422_2325,
            packets: 0,
            feedback: 0,
            steps: 0,
            largest_queue: 0,
        }
    }
}

impl Watch {
    /// A digest of all that left any node, and when: equal for equal runs.
    pub const fn trace_hash(&self) -> u64 {
        self.hash
    }

    /// Takes a packet into the digest: FNV-1a over whole words.
    pub(super) fn note_packet(&mut self, now: Instant, pipe: usize, len: Bytes) {
        self.packets += 1;
        for word in [now.as_nanos(), pipe as u64, len.get()] {
            self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Chain<'_> {
    /// The flows of a node, to be compared with what they are after an input or output.
    pub(super) fn views(&self, node: usize) -> Vec<Option<FlowView>> {
        let mut views = Vec::new();
        for circuit in &self.circuits {
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
        for circuit in &self.circuits {
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
                    let held = (view.queued + view.out_of_order).get();
                    self.watch.largest_queue = self.watch.largest_queue.max(held);
                    assert!(held <= limit, "a queue exceeds its limit: {view:?}");
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
        for circuit in &self.circuits {
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
