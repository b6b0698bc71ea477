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
/// The largest rate that a word can say: some 35 GB/s.
const MOST: u32 = ((1 << MANTISSA) - 1) << 15;

impl Word {
    /// The word on the wire.
    pub(super) fn encode(self) -> u16 {
        // A float beyond an integer's range becomes its nearest end, and NaN zero.
        let rate = (self.rate as u32).clamp(1, MOST);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(rate: f64, hard: bool) -> Word {
        Word::decode(Word { rate, hard }.encode())
    }

    #[test]
    fn a_rate_arrives_rounded_down_by_a_thousandth_at_most() {
        for rate in [1.0, 7.0, 2047.0, 2048.0, 5801.0, 123_456.0, 6.0e7] {
            for hard in [false, true] {
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
}
