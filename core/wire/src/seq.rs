//! Cell sequence numbers.

/// A hop's cell sequence number as it travels: 4 bytes that wrap around.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct CellSeq(u32);

impl CellSeq {
    /// The number of the `count`-th cell of a hop, counted from zero.
    pub const fn of(count: u64) -> Self {
        Self(count as u32)
    }

    /// The number as it is encoded.
    pub const fn from_wire(bits: u32) -> Self {
        Self(bits)
    }

    /// The number as it is encoded.
    pub const fn to_wire(self) -> u32 {
        self.0
    }

    /// The full count nearest to `reference`; exact while both are within 2^31 of each other.
    /// Counts below zero come out as zero.
    pub const fn widen(self, reference: u64) -> u64 {
        let ahead = self.0.wrapping_sub(reference as u32).cast_signed();
        match reference.checked_add_signed(ahead as i64) {
            Some(count) => count,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widening_finds_the_nearest_count() {
        for reference in [0_u64, 5, (1 << 32) - 3, 1 << 32, (7 << 32) + 9] {
            for count in [reference, reference + 100, reference.saturating_sub(3)] {
                assert_eq!(CellSeq::of(count).widen(reference), count);
            }
        }
    }

    #[test]
    fn nonsense_before_the_first_cell_becomes_zero() {
        assert_eq!(CellSeq::from_wire(u32::MAX).widen(0), 0);
    }
}
