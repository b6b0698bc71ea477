//! What layers of the transport measure, over all flows.

use hopflow_overlay::{Measured, Metric};

/// A metric of a layer, over the flows that have a value of it. Values of single flows are not kept:
/// they would tell circuits apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// What the values are.
    pub metric: &'static Metric,
    /// Flows that have one.
    pub flows: u64,
    /// Their sum.
    pub sum: f64,
    /// The least of them.
    pub min: f64,
    /// The greatest of them.
    pub max: f64,
}

impl Summary {
    const fn of(measured: Measured) -> Self {
        Self {
            metric: measured.metric,
            flows: 1,
            sum: measured.value,
            min: measured.value,
            max: measured.value,
        }
    }

    /// The mean over flows.
    pub fn mean(&self) -> f64 {
        self.sum / self.flows as f64
    }
}

/// Adds a summary to those of the same metric.
pub(super) fn add(summaries: &mut Vec<Summary>, more: &Summary) {
    let same = summaries.iter_mut().find(|it| it.metric == more.metric);
    let Some(sum) = same else {
        summaries.push(*more);
        return;
    };
    sum.flows += more.flows;
    sum.sum += more.sum;
    sum.min = sum.min.min(more.min);
    sum.max = sum.max.max(more.max);
}

/// The summaries of what was measured of flows.
pub(super) fn summarize(measured: &[Measured]) -> Vec<Summary> {
    let mut summaries = Vec::new();
    for measured in measured {
        add(&mut summaries, &Summary::of(*measured));
    }
    summaries
}
