//! Numbers of several circuits side by side, which the compiler turns into vector instructions.

use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// Circuits that are worked on together.
pub(super) const WIDTH: usize = 4;

/// One number for each of [`WIDTH`] circuits. Operations are element-wise, so the results do not
/// depend on how wide the machine's vectors are.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
pub(super) struct Lanes(pub(super) [f64; WIDTH]);

/// A plain loop over the lanes: iterator adapters are not always seen through.
macro_rules! each {
    ($i:ident => $value:expr) => {{
        let mut result = [0.0; WIDTH];
        let mut $i = 0;
        while $i < WIDTH {
            result[$i] = $value;
            $i += 1;
        }
        Lanes(result)
    }};
}

impl Lanes {
    pub(super) const ZERO: Self = Self([0.0; WIDTH]);

    #[inline(always)]
    pub(super) fn splat(value: f64) -> Self {
        Self([value; WIDTH])
    }

    #[inline(always)]
    pub(super) fn recip(self) -> Self {
        each!(i => 1.0 / self.0[i])
    }

    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        each!(i => if self.0[i] > other.0[i] { self.0[i] } else { other.0[i] })
    }

    /// Zero where it is no more than the round-off of a difference of numbers as large as `scale`.
    #[inline(always)]
    pub(super) fn without_noise(self, scale: Self) -> Self {
        each!(i => {
            let noise = 1e-14 * (scale.0[i].abs() + 1.0);
            if self.0[i].abs() > noise { self.0[i] } else { 0.0 }
        })
    }

    /// The sum over the circuits.
    #[inline(always)]
    pub(super) fn sum(self) -> f64 {
        let mut sums = self.0;
        let mut width = WIDTH / 2;
        while width > 0 {
            let mut i = 0;
            while i < width {
                sums[i] += sums[i + width];
                i += 1;
            }
            width /= 2;
        }
        sums[0]
    }

    /// The largest over the circuits.
    pub(super) fn largest(self) -> f64 {
        self.0
            .iter()
            .fold(self.0[0], |a, &b| if a > b { a } else { b })
    }
}

impl Add for Lanes {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        each!(i => self.0[i] + other.0[i])
    }
}

impl Sub for Lanes {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        each!(i => self.0[i] - other.0[i])
    }
}

impl Mul for Lanes {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        each!(i => self.0[i] * other.0[i])
    }
}

impl Mul<f64> for Lanes {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: f64) -> Self {
        each!(i => self.0[i] * other)
    }
}

impl Neg for Lanes {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        each!(i => -self.0[i])
    }
}

impl AddAssign for Lanes {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Lanes {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
