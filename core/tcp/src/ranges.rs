//! Sets of numbers, such as stream offsets, as sorted, disjoint, non-touching ranges.

use std::collections::VecDeque;

/// The offsets from `start` up to but not including `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first.
    pub start: u64,
    /// The one behind the last.
    pub end: u64,
}

impl Range {
    /// From `start` up to but not including `end`.
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// How many there are.
    pub(crate) const fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether all of another range is in this one.
    pub(crate) const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A set of offsets. Its ranges sit in a ring, because they come at the top and go at the bottom.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    ranges: VecDeque<Range>,
    total: u64,
}

impl RangeSet {
    /// Number of offsets in the set.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Whether nothing is in the set.
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The lowest range.
    pub fn first(&self) -> Option<Range> {
        self.ranges.front().copied()
    }

    /// The highest range.
    pub(crate) fn last(&self) -> Option<Range> {
        self.ranges.back().copied()
    }

    /// All ranges, highest first.
    pub(crate) fn descending(&self) -> impl Iterator<Item = Range> {
        self.ranges.iter().rev().copied()
    }

    /// Takes out everything.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.total = 0;
    }

    /// Adds a non-empty range and returns the range of the set that now holds it.
    pub fn insert(&mut self, range: Range) -> Range {
        debug_assert!(range.start < range.end, "a range holds something");
        let from = self.ranges.partition_point(|r| r.end < range.start);
        let mut merged = range;
        let mut to = from;
        while let Some(r) = self.ranges.get(to).filter(|r| r.start <= merged.end) {
            merged = Range::new(merged.start.min(r.start), merged.end.max(r.end));
            self.total -= r.len();
            to += 1;
        }
        self.total += merged.len();
        if from == to {
            self.ranges.insert(from, merged);
        } else {
            self.ranges[from] = merged;
            if from + 1 < to {
                self.ranges.drain(from + 1..to);
            }
        }
        merged
    }

    /// Takes out whatever the set holds of `range`.
    pub fn remove(&mut self, range: Range) {
        let mut at = self.ranges.partition_point(|r| r.end <= range.start);
        while let Some(r) = self.ranges.get(at).copied().filter(|r| r.start < range.end) {
            let below = Range::new(r.start, range.start.max(r.start));
            let above = Range::new(range.end.min(r.end), r.end);
            self.total -= r.len() - below.len() - above.len();
            match (below.len() > 0, above.len() > 0) {
                (false, false) => {
                    self.ranges.remove(at);
                    continue;
                }
                (true, false) => self.ranges[at] = below,
                (false, true) => self.ranges[at] = above,
                (true, true) => {
                    self.ranges[at] = below;
                    self.ranges.insert(at + 1, above);
                }
            }
            at += 1;
        }
    }

    /// Takes out everything below `edge` and returns how much that was.
    pub fn remove_below(&mut self, edge: u64) -> u64 {
        let before = self.total;
        while let Some(front) = self.ranges.front_mut().filter(|r| r.start < edge) {
            if front.end > edge {
                self.total -= edge - front.start;
                front.start = edge;
            } else {
                self.total -= front.len();
                self.ranges.pop_front();
            }
        }
        before - self.total
    }

    /// The range that holds an offset.
    pub fn holding(&self, offset: u64) -> Option<Range> {
        let at = self.ranges.partition_point(|r| r.end <= offset);
        self.ranges.get(at).copied().filter(|r| r.start <= offset)
    }

    /// The lowest offset of `range` that the set lacks.
    pub fn first_gap(&self, range: Range) -> Option<u64> {
        let first = self
            .holding(range.start)
            .map_or(range.start, |held| held.end);
        (first < range.end).then_some(first)
    }

    /// Calls `found` for each gap of the set within `range`, lowest first.
    pub(crate) fn gaps(&self, range: Range, mut found: impl FnMut(Range)) {
        let mut at = range.start;
        let from = self.ranges.partition_point(|r| r.end <= range.start);
        for r in self.ranges.range(from..) {
            if r.start >= range.end {
                break;
            }
            if at < r.start {
                found(Range::new(at, r.start));
            }
            at = r.end;
        }
        if at < range.end {
            found(Range::new(at, range.end));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn offsets(set: &RangeSet) -> Vec<u64> {
        set.ranges.iter().flat_map(|r| r.start..r.end).collect()
    }

    #[test]
    fn touching_ranges_become_one() {
        let mut set = RangeSet::default();
        set.insert(Range::new(10, 20));
        set.insert(Range::new(30, 40));
        assert_eq!(set.insert(Range::new(20, 30)), Range::new(10, 40));
        assert_eq!((set.total(), set.ranges.len()), (30, 1));
    }

    #[test]
    fn gaps_are_what_is_missing() {
        let mut set = RangeSet::default();
        set.insert(Range::new(10, 20));
        set.insert(Range::new(30, 40));
        let mut gaps = Vec::new();
        set.gaps(Range::new(5, 50), |gap| gaps.push((gap.start, gap.end)));
        assert_eq!(gaps, [(5, 10), (20, 30), (40, 50)]);
    }

    proptest! {
        #[test]
        fn behaves_as_a_set_of_numbers(ops in prop::collection::vec((0..3u8, 0..60u64, 1..20u64), 0..60)) {
            let mut set = RangeSet::default();
            let mut model = std::collections::BTreeSet::new();
            for (op, start, len) in ops {
                let range = Range::new(start, start + len);
                match op {
                    0 => {
                        prop_assert!(set.insert(range).contains(range));
                        model.extend(start..range.end);
                    }
                    1 => {
                        set.remove(range);
                        model.retain(|n| !(start..range.end).contains(n));
                    }
                    _ => {
                        let before = model.len() as u64;
                        model.retain(|n| *n >= start);
                        prop_assert_eq!(set.remove_below(start), before - model.len() as u64);
                    }
                }
                prop_assert_eq!(offsets(&set), model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(set.total(), model.len() as u64);
            }
        }
    }
}
