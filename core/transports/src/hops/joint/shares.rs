//! The max-min fair share of a node's capacity.
//!
//! Flows that are held back elsewhere leave the rest to the others (the marking of explicit rates
//! in Charny, Clark and Jain, ICC '95, for ABR): a flow's limit is what its successor says, or
//! what its predecessor brings; those without a limit get the level at which all together fill the
//! capacity.

/// How a capacity is shared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Shares {
    /// What a flow gets that nobody else holds back, in cells per second.
    level: f64,
    /// What all flows leave, at their limits.
    spare: f64,
    /// Flows that get the level, and not less.
    greedy: usize,
}

impl Shares {
    /// Shares `capacity` among flows with these limits, which are sorted in place. All are in cells
    /// per second; a flow without a limit has an infinite one.
    pub(super) fn new(capacity: f64, limits: &mut [f64]) -> Self {
        limits.sort_unstable_by(f64::total_cmp);
        let mut left = capacity;
        for (done, limit) in limits.iter().enumerate() {
            let greedy = limits.len() - done;
            let level = left / greedy as f64;
            if *limit > level {
                return Self {
                    level,
                    spare: 0.0,
                    greedy,
                };
            }
            left -= limit;
        }
        Self {
            level: limits.last().copied().unwrap_or(0.0),
            spare: left,
            greedy: 0,
        }
    }

    /// What a flow may have whose limit has been counted.
    pub(super) fn of_counted(&self, limit: f64) -> f64 {
        if self.greedy == 0 {
            // Alone it may take what it has and what all leave, but no less than one that begins.
            return (self.spare + limit).max(self.of_newcomer());
        }
        self.level
    }

    /// What one more flow may have.
    pub(super) fn of_newcomer(&self) -> f64 {
        // Those at the level give way; of the others it takes only what is above its own share.
        let greedy = self.greedy as f64;
        let shared = (self.level * greedy + self.spare) / (greedy + 1.0);
        if self.greedy == 0 {
            return shared.max(self.level / 2.0);
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: f64 = f64::INFINITY;

    fn shares(capacity: f64, limits: &[f64]) -> Shares {
        Shares::new(capacity, &mut limits.to_vec())
    }

    #[test]
    fn flows_without_limits_share_equally() {
        let shares = shares(90.0, &[FREE; 3]);
        assert_eq!(shares.of_counted(FREE), 30.0);
        assert_eq!(shares.of_newcomer(), 22.5);
    }

    #[test]
    fn what_is_held_back_elsewhere_leaves_the_rest_to_the_others() {
        let shares = shares(90.0, &[FREE, 10.0, 20.0, FREE]);
        assert_eq!(shares.of_counted(FREE), 30.0);
        assert_eq!(
            shares.of_counted(10.0),
            30.0,
            "it may ask for its share again"
        );
    }

    #[test]
    fn a_limit_above_the_level_is_none() {
        assert_eq!(shares(90.0, &[80.0, 10.0, 70.0]).of_counted(80.0), 40.0);
    }

    #[test]
    fn what_nobody_needs_is_for_who_asks() {
        let shares = shares(100.0, &[10.0, 30.0]);
        assert_eq!(shares.of_counted(10.0), 70.0);
        assert_eq!(shares.of_counted(30.0), 90.0);
        assert_eq!(shares.of_newcomer(), 60.0);
    }

    #[test]
    fn who_has_little_may_have_no_less_than_who_begins() {
        let shares = shares(100.0, &[0.0, 10.0, 80.0]);
        assert_eq!(shares.of_newcomer(), 40.0);
        assert_eq!(shares.of_counted(0.0), 40.0);
        assert_eq!(shares.of_counted(10.0), 40.0);
        assert_eq!(shares.of_counted(80.0), 90.0);
    }

    #[test]
    fn all_of_it_is_for_who_is_alone() {
        assert_eq!(shares(100.0, &[]).of_newcomer(), 100.0);
    }

    #[test]
    fn fair_shares_fill_the_capacity() {
        let mut limits: Vec<f64> = (1..40).map(|n| f64::from(n * 7919 % 101)).collect();
        for capacity in [50.0, 500.0, 1500.0] {
            let shares = Shares::new(capacity, &mut limits);
            let used: f64 = limits.iter().map(|limit| limit.min(shares.level)).sum();
            assert!((used + shares.spare - capacity).abs() < 1e-9);
        }
    }
}
