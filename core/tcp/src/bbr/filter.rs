//! The largest value of the last rounds.

use std::collections::VecDeque;

/// The largest of the values that were taken within a number of rounds. Exact, where the draft suggests
/// an estimate that keeps three values.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowedMax {
    /// Values that none later exceeds, with their rounds.
    falling: VecDeque<(u64, f64)>,
}

impl WindowedMax {
    /// The largest value; zero if there is none.
    pub(super) fn get(&self) -> f64 {
        self.falling.front().map_or(0.0, |(_, value)| *value)
    }

    /// Takes a value in a round, which is not before that of the last value, and forgets values that are
    /// `window` rounds old.
    pub(super) fn update(&mut self, round: u64, value: f64, window: u64) {
        while self.falling.back().is_some_and(|(_, it)| *it <= value) {
            self.falling.pop_back();
        }
        if self.falling.back().is_none_or(|(at, _)| *at < round) {
            self.falling.push_back((round, value));
        }
        while self
            .falling
            .front()
            .is_some_and(|(at, _)| at + window <= round)
        {
            self.falling.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_forgotten_after_its_window() {
        let mut filter = WindowedMax::default();
        for (round, value, largest) in [(0, 5.0, 5.0), (1, 3.0, 5.0), (2, 1.0, 3.0), (3, 2.0, 2.0)]
        {
            filter.update(round, value, 2);
            assert_eq!(filter.get(), largest, "round {round}");
        }
    }
}
