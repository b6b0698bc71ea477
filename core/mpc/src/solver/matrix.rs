//! Small matrices of lanes: one row and column per kind of rate.

use super::lanes::Lanes;

/// A vector with a value per kind of rate.
pub(super) type Vector<const D: usize> = [Lanes; D];

/// A square matrix.
pub(super) type Matrix<const D: usize> = [[Lanes; D]; D];

/// The matrix of zeros.
pub(super) const fn zero<const D: usize>() -> Matrix<D> {
    [[Lanes::ZERO; D]; D]
}

/// `a + b`.
#[inline(always)]
pub(super) fn add<const D: usize>(a: &Matrix<D>, b: &Matrix<D>) -> Matrix<D> {
    let mut sum = *a;
    for i in 0..D {
        for j in 0..D {
            sum[i][j] += b[i][j];
        }
    }
    sum
}

/// `a b`.
#[inline(always)]
pub(super) fn product<const D: usize>(a: &Matrix<D>, b: &Matrix<D>) -> Matrix<D> {
    let mut result = zero();
    for i in 0..D {
        for j in 0..D {
            let mut sum = a[i][0] * b[0][j];
            for l in 1..D {
                sum += a[i][l] * b[l][j];
            }
            result[i][j] = sum;
        }
    }
    result
}

/// `a b` where that is known to be symmetric.
#[inline(always)]
pub(super) fn symmetric_product<const D: usize>(a: &Matrix<D>, b: &Matrix<D>) -> Matrix<D> {
    let mut result = zero();
    for i in 0..D {
        for j in 0..=i {
            let mut sum = a[i][0] * b[0][j];
            for l in 1..D {
                sum += a[i][l] * b[l][j];
            }
            result[i][j] = sum;
            result[j][i] = sum;
        }
    }
    result
}

/// `a bᵀ` where that is known to be symmetric.
#[inline(always)]
pub(super) fn symmetric_outer<const D: usize>(a: &Matrix<D>, b: &Matrix<D>) -> Matrix<D> {
    let mut result = zero();
    for i in 0..D {
        for j in 0..=i {
            let mut sum = a[i][0] * b[j][0];
            for l in 1..D {
                sum += a[i][l] * b[j][l];
            }
            result[i][j] = sum;
            result[j][i] = sum;
        }
    }
    result
}

/// `1 - a`.
#[inline(always)]
pub(super) fn complement<const D: usize>(a: &Matrix<D>) -> Matrix<D> {
    let mut result = zero();
    for i in 0..D {
        for j in 0..D {
            let one = Lanes::splat(if i == j { 1.0 } else { 0.0 });
            result[i][j] = one - a[i][j];
        }
    }
    result
}

/// `a v`.
#[inline(always)]
pub(super) fn apply<const D: usize>(a: &Matrix<D>, v: &Vector<D>) -> Vector<D> {
    let mut result = [Lanes::ZERO; D];
    for i in 0..D {
        let mut sum = a[i][0] * v[0];
        for l in 1..D {
            sum += a[i][l] * v[l];
        }
        result[i] = sum;
    }
    result
}

/// `aᵀ v`.
#[inline(always)]
pub(super) fn apply_transposed<const D: usize>(a: &Matrix<D>, v: &Vector<D>) -> Vector<D> {
    let mut result = [Lanes::ZERO; D];
    for i in 0..D {
        let mut sum = a[0][i] * v[0];
        for l in 1..D {
            sum += a[l][i] * v[l];
        }
        result[i] = sum;
    }
    result
}

/// The inverse of a symmetric positive definite matrix, by its factors L D Lᵀ. Diagonal elements
/// may be as large as 1e40: their rows of the inverse are as good as zero.
#[inline(always)]
pub(super) fn inverse<const D: usize>(a: &Matrix<D>) -> Matrix<D> {
    let mut lower = *a;
    let mut pivot = [Lanes::ZERO; D];
    for j in 0..D {
        let mut d = lower[j][j];
        for l in 0..j {
            d -= lower[j][l] * lower[j][l] * pivot[l];
        }
        let inverse_pivot = d.recip();
        for i in j + 1..D {
            let mut sum = lower[i][j];
            for l in 0..j {
                sum -= lower[i][l] * lower[j][l] * pivot[l];
            }
            lower[i][j] = sum * inverse_pivot;
        }
        pivot[j] = d;
        lower[j][j] = inverse_pivot;
    }
    from_factors(&lower)
}

/// The inverse from unit lower factors, with the inverse pivots in the diagonal.
#[inline(always)]
fn from_factors<const D: usize>(lower: &Matrix<D>) -> Matrix<D> {
    let mut unit = zero::<D>();
    for j in 0..D {
        unit[j][j] = Lanes::splat(1.0);
        for i in j + 1..D {
            let mut sum = -lower[i][j];
            for l in j + 1..i {
                sum -= lower[i][l] * unit[l][j];
            }
            unit[i][j] = sum;
        }
    }
    let mut result = zero::<D>();
    for i in 0..D {
        for j in 0..=i {
            let mut sum = unit[D - 1][i] * unit[D - 1][j] * lower[D - 1][D - 1];
            for l in i..D - 1 {
                sum += unit[l][i] * unit[l][j] * lower[l][l];
            }
            result[i][j] = sum;
            result[j][i] = sum;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_times_the_matrix_is_one() {
        let a =
            [[4.0, -1.0, 0.5], [-1.0, 3.0, 0.25], [0.5, 0.25, 2.0]].map(|r| r.map(Lanes::splat));
        let one = product(&inverse(&a), &a);
        for (i, row) in one.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((value.0[3] - expected).abs() < 1e-14);
            }
        }
    }
}
