//! What a node tells a predecessor about a flow: a rate, in the extension of feedback.

/// A rate that a predecessor may use, and what it means.
///
/// On the wire it has 16 bits: one that says whether the rate is hard, and a number of 4 bits of
/// exponent and 11 of mantissa. It is rounded down to a whole number of cells per second, and to
/// 0.1 %, and is at least one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Word {
    /// Cells per second.
    pub(super) rate: f64,
    /// Whether more than this is lost in a network queue, rather than kept in the successor's.
    pub(super) hard: bool,
}

const HARD: u16 = 1 << 15;
const MANTISSA: u32 = 11;
/// A hard word with this exponent is a grant.
const GRANT: u16 = HARD | 15 << MANTISSA;
const GRANT_MANTISSA: u32 = 7;
/// Of these a grant has a number. It is small where many circuits share a window.
const PARTS: f64 = 256.0;
/// The largest rate that a word can say, and a hard one: some 35 and 17 GB/s.
const MOST: u32 = ((1 << MANTISSA) - 1) << 15;
const MOST_HARD: u32 = MOST / 2;

impl Word {
    /// The word on the wire.
    pub(super) fn encode(self) -> u16 {
        // A float beyond an integer's range becomes its nearest end, and NaN zero.
        let most = if self.hard { MOST_HARD } else { MOST };
        let rate = (self.rate as u32).clamp(1, most);
        let exponent = (u32::BITS - rate.leading_zeros()).saturating_sub(MANTISSA);
        let number = (exponent << MANTISSA | rate >> exponent) as u16;
        number | if self.hard { HARD } else { 0 }
    }

    /// What a neighbour's word says: any word says something. It is never below one cell per
    /// second, so that a circuit does not stop for good.
    pub(super) fn decode(word: u16) -> Self {
        let number = u32::from(word & !HARD);
        let rate = (number & ((1 << MANTISSA) - 1)) << (number >> MANTISSA);
        Self {
            rate: rate.max(1).into(),
            hard: word & HARD != 0,
        }
    }

    /// The lower of two, which says what it means.
    pub(super) fn or_less(self, other: Option<Self>) -> Self {
        other.filter(|other| other.rate < self.rate).unwrap_or(self)
    }
}

/// A grant on the wire: a number of parts of a cell, rounded down.
pub(super) fn encode_grant(cells: f64) -> u16 {
    let parts = ((cells * PARTS) as u32).clamp(1, 127 << 15);
    let exponent = (u32::BITS - parts.leading_zeros()).saturating_sub(GRANT_MANTISSA);
    GRANT | (exponent << GRANT_MANTISSA | parts >> exponent) as u16
}

/// The cells that a word grants, if it does.
pub(super) fn decode_grant(word: u16) -> Option<f64> {
    (word & GRANT == GRANT).then(|| {
        let number = u32::from(word & !GRANT);
        let parts = (number & ((1 << GRANT_MANTISSA) - 1)) << (number >> GRANT_MANTISSA);
        f64::from(parts.max(1)) / PARTS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(rate: f64, hard: bool) -> Word {
        Word::decode(Word { rate, hard }.encode())
    }

    #[test]
    fn a_rate_arrives_rounded_down_by_a_thousandth_at_most() {
        for hard in [false, true] {
            let largest = if hard { 3.0e7 } else { 6.0e7 };
            for rate in [1.0, 7.0, 2047.0, 2048.0, 5801.0, 123_456.0, largest] {
                let word = sent(rate, hard);
                assert!(word.rate <= rate && word.rate > rate * 0.999, "{word:?}");
                assert_eq!(word.hard, hard);
            }
        }
    }

    #[test]
    fn what_no_word_can_say_is_the_nearest_that_one_can() {
        assert_eq!(sent(0.0, false).rate, 1.0);
        assert_eq!(sent(-5.0, true).rate, 1.0);
        assert_eq!(sent(f64::NAN, true).rate, 1.0);
        assert_eq!(sent(f64::INFINITY, false).rate, f64::from(MOST));
        assert_eq!(sent(f64::INFINITY, true).rate, f64::from(MOST_HARD));
    }

    #[test]
    fn any_word_of_a_neighbour_is_a_rate() {
        for word in 0..=u16::MAX {
            let rate = Word::decode(word).rate;
            assert!((1.0..=f64::from(MOST)).contains(&rate), "{word:#x}: {rate}");
        }
    }

    #[test]
    fn of_two_words_the_lower_counts_with_what_it_means() {
        let [low, high] = [(10.0, true), (20.0, false)].map(|(rate, hard)| Word { rate, hard });
        assert_eq!(high.or_less(Some(low)), low);
        assert_eq!(low.or_less(Some(high)), low);
        assert_eq!(low.or_less(None), low);
    }

    #[test]
    fn a_grant_arrives_rounded_down_to_a_part_and_by_a_sixtieth_at_most() {
        for cells in [0.004, 0.0625, 0.5, 1.0, 3.3, 14.0, 800.0, 16_000.0] {
            let granted = decode_grant(encode_grant(cells)).unwrap();
            let least = (cells - 1.0 / PARTS).max(1.0 / PARTS) * (1.0 - 1.0 / 60.0);
            assert!(granted <= cells && granted >= least, "{granted} of {cells}");
        }
        for cells in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let granted = decode_grant(encode_grant(cells)).unwrap();
            assert!((0.003..=16_256.0).contains(&granted), "{granted}");
        }
    }

    #[test]
    fn no_rate_is_a_grant() {
        for rate in [1.0, 1e4, 3e7, 6.0e7, f64::INFINITY] {
            for hard in [false, true] {
                assert_eq!(decode_grant(Word { rate, hard }.encode()), None);
            }
        }
    }
}
