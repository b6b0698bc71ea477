//! The order in which selective acknowledgements report ranges.

use crate::ranges::Range;
use crate::segment::{MAX_SACK_BLOCKS, SackBlocks};

/// Ranges above a hole, newest first (RFC 2018, section 4); only as many as fit a segment.
#[derive(Clone, Debug)]
pub(super) struct SackList {
    enabled: bool,
    recent: Vec<Range>,
}

impl SackList {
    pub(super) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            recent: Vec::with_capacity(MAX_SACK_BLOCKS + 1),
        }
    }

    /// Adds a range in which data just arrived, in place of those that it contains.
    pub(super) fn add(&mut self, range: Range) {
        self.recent.retain(|r| !range.contains(*r));
        self.recent.insert(0, range);
        self.recent.truncate(MAX_SACK_BLOCKS);
    }

    /// Leaves out what a cumulative acknowledgement of `nxt` covers.
    pub(super) fn remove_below(&mut self, nxt: u64) {
        self.recent.retain(|r| r.start > nxt);
    }

    /// The blocks of a segment that acknowledges `nxt`; none if the option is off.
    pub(super) fn blocks(&self, nxt: u64) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if self.enabled {
            for range in &self.recent {
                blocks.push(nxt, *range);
            }
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(list: &SackList, nxt: u64) -> Vec<(u64, u64)> {
        let blocks = list.blocks(nxt);
        blocks.ranges(nxt).map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn a_range_that_grew_comes_first_and_once() {
        let mut list = SackList::new(true);
        for (start, end) in [(20, 30), (40, 50), (20, 35)] {
            list.add(Range::new(start, end));
        }
        assert_eq!(blocks(&list, 10), [(20, 35), (40, 50)]);
        list.remove_below(35);
        assert_eq!(blocks(&list, 35), [(40, 50)]);
    }

    #[test]
    fn without_the_option_there_are_no_blocks() {
        let mut list = SackList::new(false);
        list.add(Range::new(20, 30));
        assert_eq!(blocks(&list, 10), []);
    }
}
