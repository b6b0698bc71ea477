//! How much each flow sent of late.

use hopflow_units::{Duration, Instant};

use crate::FlowId;

/// Half-lives after which counts are scaled down, long before they could overflow.
const RESCALE: f64 = 256.0;

/// Exponentially weighted counts of cells: a cell counts half as much after each half-life (Tang
/// and Goldberg, CCS '10; `circuitmux_ewma` in tor).
///
/// Counts are kept relative to an epoch: in place of letting all old cells decay, new ones weigh
/// more. So a count changes only when its flow sends, and its order among others stays.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    half_life: Duration,
    epoch: Instant,
    counts: Vec<f64>,
}

impl Activity {
    pub(crate) fn new(half_life: Duration) -> Self {
        Self {
            half_life,
            epoch: Instant::ZERO,
            counts: Vec::new(),
        }
    }

    /// A flow's count, as a number that orders like it.
    pub(crate) fn rank(&self, flow: FlowId) -> u64 {
        let count = self.counts.get(flow.index()).copied().unwrap_or(0.0);
        // Of two numbers that are not negative, the greater one has the greater bits.
        count.to_bits()
    }

    /// Counts a cell of `flow`; whether all counts were scaled, for ranks known before are wrong
    /// then.
    pub(crate) fn count(&mut self, now: Instant, flow: FlowId) -> bool {
        let age = |epoch| {
            now.saturating_since(epoch).as_nanos() as f64 / self.half_life.as_nanos() as f64
        };
        let mut exponent = age(self.epoch);
        let scaled = exponent > RESCALE;
        if scaled {
            let down = libm::exp2(-exponent);
            self.counts.iter_mut().for_each(|count| *count *= down);
            self.epoch = now;
            exponent = 0.0;
        }
        if self.counts.len() <= flow.index() {
            self.counts.resize(flow.index() + 1, 0.0);
        }
        self.counts[flow.index()] += libm::exp2(exponent);
        scaled
    }

    /// A flow is gone: the next one of its number begins at zero.
    pub(crate) fn forget(&mut self, flow: FlowId) {
        if let Some(count) = self.counts.get_mut(flow.index()) {
            *count = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;

    fn flow(n: u32) -> FlowId {
        FlowId::new(n, Direction::Forward)
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn quieter(activity: &Activity) -> u32 {
        u32::from(activity.rank(flow(1)) < activity.rank(flow(0)))
    }

    #[test]
    fn a_cell_counts_half_after_a_half_life() {
        let mut activity = Activity::new(Duration::from_secs(30));
        for _ in 0..3 {
            activity.count(at(0), flow(0));
        }
        activity.count(at(30), flow(1));
        assert_eq!(quieter(&activity), 1, "1 against 3 / 2");
        activity.count(at(60), flow(1));
        assert_eq!(quieter(&activity), 0, "1 + 1 / 2 against 3 / 4");
    }

    #[test]
    fn counts_of_years_neither_overflow_nor_change_the_order() {
        let mut activity = Activity::new(Duration::from_millis(1));
        for second in 0..100 {
            activity.count(at(second * 300_000), flow(0));
            activity.count(at(second * 300_000), flow(1));
            activity.count(at(second * 300_000), flow(1));
            assert_eq!(quieter(&activity), 0);
        }
        assert!(f64::from_bits(activity.rank(flow(1))).is_finite());
    }

    #[test]
    fn a_new_flow_begins_at_zero() {
        let mut activity = Activity::new(Duration::from_secs(30));
        activity.count(at(1), flow(2));
        activity.forget(flow(2));
        assert_eq!(activity.rank(flow(2)), 0);
        assert_eq!(activity.rank(flow(9)), 0);
    }
}
