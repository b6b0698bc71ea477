//! Whose part of what was sent on credit is how large.

use std::collections::BTreeMap;

use super::Prefix;

/// Parts that are not worth keeping.
const NOTHING: f64 = 1e-6;
/// A scale that is as good as none.
const SMALL: f64 = 1e-100;

/// What a token bucket owes, by whom it was spent for. While it is refilled all parts shrink alike, as those of a queue
/// do that is served in random order.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// Parts of a full bucket, to be multiplied by `scale`.
    parts: BTreeMap<Prefix, f64>,
    /// The part of circuits under way, of whomever.
    under_way: f64,
    scale: f64,
    /// What the bucket lacked when it was looked at last, in parts of a full one.
    lacked: f64,
}

impl Default for Backlog {
    fn default() -> Self {
        Self {
            parts: BTreeMap::new(),
            under_way: 0.0,
            scale: 1.0,
            lacked: 0.0,
        }
    }
}

impl Backlog {
    /// Notes what the bucket lacks now, in parts of a full one.
    pub(crate) fn set_lack(&mut self, lacks: f64) {
        if lacks <= 0.0 {
            *self = Self::default();
            return;
        }
        if lacks < self.lacked {
            self.scale *= lacks / self.lacked;
        }
        self.lacked = lacks;
        if self.scale < SMALL {
            self.forget();
        }
    }

    /// The part of somebody, of those with a larger share accordingly less.
    pub(crate) fn part_of(&self, by: Prefix) -> f64 {
        let part = self.parts.get(&by).map_or(0.0, |part| part * self.scale);
        part / by.share() as f64
    }

    /// The part of all circuits under way.
    pub(crate) fn under_way(&self) -> f64 {
        self.under_way * self.scale
    }

    /// Adds to the part of somebody, who has the bucket spend as much, for a circuit that is under way or not.
    pub(crate) fn add(&mut self, by: Prefix, part: f64, under_way: bool) {
        *self.parts.entry(by).or_default() += part / self.scale;
        if under_way {
            self.under_way += part / self.scale;
        }
        self.lacked += part;
    }

    /// Forgets who has next to nothing.
    pub(crate) fn forget(&mut self) {
        let scale = std::mem::replace(&mut self.scale, 1.0);
        self.under_way *= scale;
        self.parts.retain(|_, part| {
            *part *= scale;
            *part > NOTHING
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(third: u8) -> Prefix {
        Prefix::of([10, 0, third, 1].into())
    }

    /// Whether numbers are the same but for rounding.
    fn same(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn parts_shrink_alike_while_the_bucket_is_refilled() {
        let mut backlog = Backlog::default();
        backlog.add(prefix(1), 0.4, false);
        backlog.add(prefix(2), 0.2, true);
        assert!(same(backlog.part_of(prefix(1)), 0.4));
        backlog.set_lack(0.3);
        let parts = [1, 2, 3].map(|third| backlog.part_of(prefix(third)));
        assert!(same(parts[0], 0.2) && same(parts[1], 0.1) && parts[2] == 0.0);
        assert!(same(backlog.under_way(), 0.1));
        backlog.add(prefix(3), 0.3, false);
        backlog.set_lack(0.3);
        let parts = [1, 2, 3].map(|third| backlog.part_of(prefix(third)));
        assert!(same(parts[0], 0.1) && same(parts[1], 0.05) && same(parts[2], 0.15));
        backlog.set_lack(0.0);
        assert_eq!(backlog.part_of(prefix(1)), 0.0);
    }

    #[test]
    fn the_part_of_a_relay_counts_less() {
        let mut backlog = Backlog::default();
        let relay = Prefix::At([10, 0, 1, 1].into());
        backlog.add(relay, 0.4, false);
        assert!(same(backlog.part_of(relay), 0.05));
    }

    #[test]
    fn what_is_left_of_a_long_while_is_not_kept() {
        let mut backlog = Backlog::default();
        for third in 0..200 {
            backlog.set_lack(1e-3);
            backlog.add(prefix(third), 0.999, false);
        }
        assert!(backlog.parts.len() < 40 && backlog.scale >= SMALL);
        assert!(same(backlog.part_of(prefix(199)), 0.999));
        backlog.forget();
        assert_eq!(backlog.parts.len(), 2);
    }
}
