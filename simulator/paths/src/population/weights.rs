//! Bandwidth weights: how a relay that fits several positions is shared among them.

use super::flags::{Class, Flags, Position};

/// Weights by which a relay's consensus weight is multiplied, per class of relays and position.
///
/// The second letter of a name is the position: `g` guard, `m` middle, `e` exit. The third is the
/// class: `g` guard only, `e` exit only, `d` both, `m` neither (dir-spec, "Computing Bandwidth
/// Weights"). Only the proportions within a position matter. The weights of relays without the
/// flag of a position, `Wgm`, `Wem` and `Weg`, are left out: such relays are not chosen for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names follow the rule above")]
pub struct BandwidthWeights {
    pub wgg: u32,
    pub wgd: u32,
    pub wmg: u32,
    pub wmm: u32,
    pub wme: u32,
    pub wmd: u32,
    pub wee: u32,
    pub wed: u32,
}

/// What stands for one: `bwweightscale`, by default.
const SCALE: i128 = 10_000;
/// The total of a class that has no weight: one, as of consensus method 26, which spares divisions by
/// zero.
const NOBODY: i128 = 1;

impl BandwidthWeights {
    /// All weights equal: what clients fall back on without any in the consensus.
    pub const EQUAL: Self = Self {
        wgg: SCALE as u32,
        wgd: SCALE as u32,
        wmg: SCALE as u32,
        wmm: SCALE as u32,
        wme: SCALE as u32,
        wmd: SCALE as u32,
        wee: SCALE as u32,
        wed: SCALE as u32,
    };

    /// The weights that balance the load over the three positions, as authorities compute them
    /// from the totals of the classes (dir-spec, "Computing Bandwidth Weights", consensus method
    /// 26 and later).
    ///
    /// All are equal where a weight would be out of range: authorities publish none then, and clients
    /// take all for one.
    ///
    /// `relays` are flags and consensus weights; those without the flag Fast do not count, for they
    /// are not chosen.
    pub fn balancing(relays: &(impl Iterator<Item = (Flags, u64)> + Clone)) -> Self {
        let total = |class| {
            let of_class =
                |(flags, _): &(Flags, u64)| flags.contains(Flags::FAST) && flags.class() == class;
            let weights = relays.clone().filter(of_class);
            weights.fold(NOBODY, |sum, (_, weight)| sum + i128::from(weight))
        };
        Totals {
            guard: total(Class::Guard),
            middle: total(Class::Neither),
            exit: total(Class::Exit),
            both: total(Class::Both),
        }
        .balance()
        .weights()
    }

    /// The factor for relays of `class` at `position`.
    pub(crate) const fn factor(&self, position: Position, class: Class) -> u32 {
        match (position, class) {
            (Position::Guard, Class::Guard) => self.wgg,
            (Position::Guard, Class::Both) => self.wgd,
            (Position::Middle, Class::Guard) => self.wmg,
            (Position::Middle, Class::Neither) => self.wmm,
            (Position::Middle, Class::Exit) => self.wme,
            (Position::Middle, Class::Both) => self.wmd,
            (Position::Exit, Class::Exit) => self.wee,
            (Position::Exit, Class::Both) => self.wed,
            (Position::Guard, Class::Exit | Class::Neither)
            | (Position::Exit, Class::Guard | Class::Neither) => 0,
        }
    }
}

/// The weights that are to be found; the others follow from them.
#[derive(Clone, Copy)]
struct Solution {
    wmg: i128,
    wme: i128,
    wed: i128,
    wgd: i128,
}

impl Solution {
    const fn wmd(self) -> i128 {
        SCALE - self.wed - self.wgd
    }

    /// Whether all weights are from zero to one.
    fn is_in_range(self) -> bool {
        [self.wmg, self.wme, self.wed, self.wgd, self.wmd()]
            .iter()
            .all(|weight| (0..=SCALE).contains(weight))
    }

    /// The weights; all equal if one is out of range.
    fn weights(self) -> BandwidthWeights {
        if !self.is_in_range() {
            return BandwidthWeights::EQUAL;
        }
        BandwidthWeights {
            wgg: (SCALE - self.wmg) as u32,
            wgd: self.wgd as u32,
            wmg: self.wmg as u32,
            wmm: SCALE as u32,
            wme: self.wme as u32,
            wmd: self.wmd() as u32,
            wee: (SCALE - self.wme) as u32,
            wed: self.wed as u32,
        }
    }
}

/// Total weight per class of relays: `G`, `M`, `E` and `D` of the specification.
#[derive(Clone, Copy)]
struct Totals {
    guard: i128,
    middle: i128,
    exit: i128,
    both: i128,
}

impl Totals {
    fn balance(self) -> Solution {
        let total = self.guard + self.middle + self.exit + self.both;
        let (guard_scarce, exit_scarce) = (3 * self.guard < total, 3 * self.exit < total);
        match (guard_scarce, exit_scarce) {
            (false, false) => self.neither_scarce(),
            (true, true) => self.both_scarce(),
            (true, false) => self.guards_scarce(total),
            (false, true) => self.exits_scarce(total),
        }
    }

    /// Case 1.
    fn neither_scarce(self) -> Solution {
        let Self {
            guard,
            middle,
            exit,
            ..
        } = self;
        Solution {
            wmg: SCALE * (2 * guard - exit - middle) / (3 * guard),
            wme: SCALE - SCALE * (exit + guard + middle) / (3 * exit),
            wed: SCALE / 3,
            wgd: SCALE / 3,
        }
    }

    /// Case 2.
    fn both_scarce(self) -> Solution {
        let Self {
            guard,
            middle,
            exit,
            both,
        } = self;
        if guard.min(exit) + both < guard.max(exit) {
            let wed = if exit < guard { SCALE } else { 0 };
            return Solution {
                wmg: 0,
                wme: 0,
                wed,
                wgd: SCALE - wed,
            };
        }
        let wed = SCALE * (both - 2 * exit + 4 * guard - 2 * middle) / (3 * both);
        let balanced = Solution {
            wmg: 0,
            wme: SCALE * (guard - middle) / exit,
            wed,
            wgd: (SCALE - wed) / 2,
        };
        if balanced.is_in_range() {
            return balanced;
        }
        let mut wed = SCALE * (both - 2 * exit + guard + middle) / (3 * both);
        if both == NOBODY {
            // There is nothing to be shared out.
            wed = wed.min(SCALE);
        }
        let wmd = (SCALE * (both - 2 * middle + guard + exit) / (3 * both)).max(0);
        Solution {
            wmg: 0,
            wme: 0,
            wed,
            wgd: SCALE - wed - wmd,
        }
    }

    /// Case 3 where guards are the scarce class.
    fn guards_scarce(self, total: i128) -> Solution {
        let Self {
            guard,
            middle,
            exit,
            both,
        } = self;
        if 3 * (guard + both) < total {
            let wme = (SCALE * (exit - middle) / (2 * exit)).max(0);
            return Solution {
                wmg: 0,
                wme,
                wed: 0,
                wgd: SCALE,
            };
        }
        let wgd = SCALE * (both - 2 * guard + exit + middle) / (3 * both);
        Solution {
            wmg: 0,
            wme: SCALE - SCALE * (exit + middle) / (2 * exit),
            wed: (SCALE - wgd) / 2,
            wgd,
        }
    }

    /// Case 3 where exits are the scarce class.
    fn exits_scarce(self, total: i128) -> Solution {
        let Self {
            guard,
            middle,
            exit,
            both,
        } = self;
        if 3 * (exit + both) < total {
            let wmg = (SCALE * (guard - middle) / (2 * guard)).max(0);
            return Solution {
                wmg,
                wme: 0,
                wed: SCALE,
                wgd: 0,
            };
        }
        let wed = SCALE * (both - 2 * exit + guard + middle) / (3 * both);
        Solution {
            wmg: SCALE - SCALE * (guard + middle) / (2 * guard),
            wme: 0,
            wed,
            wgd: (SCALE - wed) / 2,
        }
    }
}

#[cfg(test)]
mod tests;
