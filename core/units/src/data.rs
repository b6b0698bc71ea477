//! Amounts of data, cells, and rates.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use crate::Duration;

/// An amount of data in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A number of cells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Cells(u64);

/// A data rate in bytes per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

macro_rules! amount {
    ($name:ident, $what:literal) => {
        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);
            /// More than there will ever be.
            pub const MAX: Self = Self(u64::MAX);

            #[doc = concat!("`n` ", $what, ".")]
            pub const fn new(n: u64) -> Self {
                Self(n)
            }

            /// The bare number.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The bare number as a float, for formulas and plots.
            pub fn as_f64(self) -> f64 {
                self.0 as f64
            }

            /// Whether there is nothing.
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }

            /// The difference, or zero.
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// The sum, or the largest amount.
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// The difference, or `None` if `other` is larger.
            pub const fn checked_sub(self, other: Self) -> Option<Self> {
                match self.0.checked_sub(other.0) {
                    Some(rest) => Some(Self(rest)),
                    None => None,
                }
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, factor: u64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

amount!(Bytes, "bytes");
amount!(Cells, "cells");

impl fmt::Display for Bytes {
    /// Prints in the largest decimal or binary unit that shows the amount exactly.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 6] = [
            (1 << 30, "GiB"),
            (1_000_000_000, "GB"),
            (1 << 20, "MiB"),
            (1_000_000, "MB"),
            (1 << 10, "KiB"),
            (1_000, "kB"),
        ];
        match UNITS
            .iter()
            .find(|(scale, _)| self.0 >= *scale && self.0.is_multiple_of(*scale))
        {
            Some((scale, unit)) => write!(f, "{} {unit}", self.0 / scale),
            None => write!(f, "{} B", self.0),
        }
    }
}

impl fmt::Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cells", self.0)
    }
}

impl Rate {
    /// A rate of `n` bytes per second; `None` for zero, at which nothing would ever arrive.
    pub const fn from_bytes_per_sec(n: u64) -> Option<Self> {
        if n == 0 { None } else { Some(Self(n)) }
    }

    /// A rate of `n` kilobytes (1000 bytes) per second.
    ///
    /// # Panics
    /// If `n` is zero.
    pub const fn from_kilobytes_per_sec(n: u64) -> Self {
        assert!(n > 0, "a rate is positive");
        Self(n * 1_000)
    }

    /// A rate of `n` megabits (1,000,000 bits) per second.
    ///
    /// # Panics
    /// If `n` is zero.
    pub const fn from_megabits_per_sec(n: u64) -> Self {
        assert!(n > 0, "a rate is positive");
        Self(n * 125_000)
    }

    /// Bytes per second.
    pub const fn bytes_per_sec(self) -> u64 {
        self.0
    }

    /// Bytes per second as a float, for formulas and plots.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Time that `amount` takes at this rate, rounded up to a nanosecond.
    pub const fn time_for(self, amount: Bytes) -> Duration {
        // Packets are small: the product of 64 bits serves but for absurd amounts.
        match amount.0.checked_mul(1_000_000_000) {
            Some(product) => Duration::from_nanos(product.div_ceil(self.0)),
            None => {
                let nanos = (amount.0 as u128 * 1_000_000_000).div_ceil(self.0 as u128);
                Duration::from_nanos(if nanos > u64::MAX as u128 {
                    u64::MAX
                } else {
                    nanos as u64
                })
            }
        }
    }

    /// Whole bytes that pass within `span`, rounded down.
    pub const fn bytes_in(self, span: Duration) -> Bytes {
        let bytes = self.0 as u128 * span.as_nanos() as u128 / 1_000_000_000;
        Bytes(if bytes > u64::MAX as u128 {
            u64::MAX
        } else {
            bytes as u64
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [
            (1_000_000_000, "GB/s"),
            (1_000_000, "MB/s"),
            (1_000, "kB/s"),
        ];
        match UNITS
            .iter()
            .find(|(scale, _)| self.0.is_multiple_of(*scale))
        {
            Some((scale, unit)) => write!(f, "{} {unit}", self.0 / scale),
            None => write!(f, "{} B/s", self.0),
        }
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_time_rounds_up() {
        let rate = Rate::from_megabits_per_sec(10_000);
        assert_eq!(rate.time_for(Bytes::new(1400)), Duration::from_nanos(1120));
        assert_eq!(
            Rate(3).time_for(Bytes::new(1)),
            Duration::from_nanos(333_333_334)
        );
        assert_eq!(Rate(1).time_for(Bytes::MAX), Duration::MAX);
    }

    #[test]
    fn amounts_within_a_span_round_down() {
        let rate = Rate::from_kilobytes_per_sec(1500);
        assert_eq!(rate.bytes_in(Duration::from_millis(10)), Bytes::new(15_000));
        assert_eq!(rate.bytes_in(Duration::from_nanos(1)), Bytes::ZERO);
    }

    #[test]
    fn amounts_print_with_an_exact_unit() {
        assert_eq!(Bytes::new(5 << 20).to_string(), "5 MiB");
        assert_eq!(Bytes::new(1500).to_string(), "1500 B");
        assert_eq!(Rate(1_500_000).to_string(), "1500 kB/s");
    }
}
