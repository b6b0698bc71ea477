//! The values of the experiment, with ways to find some of them.

use hopflow_results::{Value, Verdict};

/// The values, with ways to find some of them.
#[derive(Clone, Copy)]
pub(super) struct Values<'a>(pub(super) &'a [Value]);

impl<'a> Values<'a> {
    /// The mean of a quantity of a transport at a round-trip time.
    pub(super) fn mean(self, quantity: &str, transport: &str, rtt_ms: u64) -> Option<f64> {
        self.at(quantity, transport, rtt_ms).map(|value| value.mean)
    }

    pub(super) fn at(self, quantity: &str, transport: &str, rtt_ms: u64) -> Option<&'a Value> {
        self.of(quantity, transport)
            .find(|value| value.x == Some(rtt_ms as f64))
    }

    pub(super) fn of<'b>(
        self,
        quantity: &'b str,
        transport: &'b str,
    ) -> impl Iterator<Item = &'a Value> + 'b
    where
        'a: 'b,
    {
        let values = self.0.iter();
        values.filter(move |value| value.quantity == quantity && value.transport == transport)
    }

    /// Judged values at some round-trip time that are not reproduced, or not certainly.
    pub(super) fn outside(self) -> impl Iterator<Item = (&'a Value, f64)> {
        let judged = self.0.iter();
        let outside = judged
            .filter(|value| matches!(value.verdict, Verdict::Undecided | Verdict::NotReproduced));
        outside.filter_map(|value| Some((value, value.x?)))
    }

    /// The swept round-trip times, rising.
    pub(super) fn rtts(self) -> Vec<u64> {
        let mut rtts: Vec<u64> = self.0.iter().filter_map(|v| Some(v.x? as u64)).collect();
        rtts.sort_unstable();
        rtts.dedup();
        rtts
    }

    pub(super) fn with(self, verdict: Verdict) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |value| value.verdict == verdict)
    }
}
