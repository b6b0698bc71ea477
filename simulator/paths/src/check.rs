//! Whether two sets of paths over the same relays could come from the same choice.
//!
//! With many paths, small differences are significant, too: the effect sizes tell whether they
//! matter.

use crate::Relay;

/// How often relays take a position, in two sets of paths.
///
/// The chi-square test of homogeneity for two samples; relays that both sets together use fewer
/// than ten times make one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UseTest {
    /// The statistic.
    pub chi_square: f64,
    /// Its degrees of freedom: one less than there are cells.
    pub degrees: usize,
    /// How likely a statistic as large is if both sets come from one distribution.
    pub p_value: f64,
    /// The effect size: the share of paths that would have to take another relay, in cells, for
    /// both sets to be the same (total variation distance).
    pub distance: f64,
}

/// Uses of a relay, in both sets together, from which on it is a cell of its own.
const LEAST_USES: u64 = 10;

impl UseTest {
    /// Compares how often the paths of both sets have each relay at `position`, counted from 0.
    ///
    /// `relays` is the number of relays that there are.
    pub fn at(position: usize, relays: usize, sets: [&[Vec<u32>]; 2]) -> Self {
        let uses = sets.map(|paths| {
            let mut uses = vec![0_u64; relays];
            for relay in paths.iter().filter_map(|path| path.get(position)) {
                uses[*relay as usize] += 1;
            }
            uses
        });
        let mut cells = Vec::new();
        let mut rare = (0, 0);
        for (&one, &other) in uses[0].iter().zip(&uses[1]) {
            if one + other >= LEAST_USES {
                cells.push((one, other));
            } else {
                rare = (rare.0 + one, rare.1 + other);
            }
        }
        if rare != (0, 0) {
            cells.push(rare);
        }
        Self::of_cells(&cells)
    }

    fn of_cells(cells: &[(u64, u64)]) -> Self {
        let total = |pick: fn(&(u64, u64)) -> u64| cells.iter().map(pick).sum::<u64>() as f64;
        let (ones, others) = (total(|cell| cell.0), total(|cell| cell.1));
        let (mut chi_square, mut distance) = (0.0, 0.0);
        for &(one, other) in cells {
            let difference = one as f64 / ones - other as f64 / others;
            chi_square += ones * others * difference * difference / (one + other) as f64;
            distance += difference.abs() / 2.0;
        }
        let degrees = cells.len().saturating_sub(1);
        Self {
            chi_square,
            degrees,
            p_value: chi_square_tail(chi_square, degrees),
            distance,
        }
    }
}

/// The probability that a chi-square variable of `degrees` degrees of freedom exceeds `value`.
///
/// The cube-root approximation of Wilson and Hilferty (PNAS 17, 1931), good to about 0.01.
fn chi_square_tail(value: f64, degrees: usize) -> f64 {
    if degrees == 0 {
        return 1.0;
    }
    let variance = 2.0 / (9.0 * degrees as f64);
    let deviation = (libm::cbrt(value / degrees as f64) - 1.0 + variance) / variance.sqrt();
    libm::erfc(deviation / std::f64::consts::SQRT_2) / 2.0
}

/// The bandwidth of the slowest relay of a path, in two sets of paths.
///
/// The two-sample test of Kolmogorov and Smirnov. The p value is that of continuous
/// distributions; with the few values that relays allow, it is too large rather than too small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandwidthTest {
    /// The statistic, and the effect size: the largest difference of the cumulative shares.
    pub distance: f64,
    /// How likely a statistic as large is if both sets come from one distribution.
    pub p_value: f64,
}

impl BandwidthTest {
    /// Compares two sets of paths over `relays`.
    pub fn of(relays: &[Relay], sets: [&[Vec<u32>]; 2]) -> Self {
        let [ones, others] = sets.map(|paths| path_bandwidths(relays, paths));
        let (mut distance, mut behind) = (0.0_f64, 0);
        for (at, &value) in ones.iter().enumerate() {
            if ones.get(at + 1) == Some(&value) {
                continue;
            }
            // At the value and just below the next one, in both samples.
            let share = (at + 1) as f64 / ones.len() as f64;
            behind += others[behind..].partition_point(|&other| other <= value);
            distance = distance.max((share - behind as f64 / others.len() as f64).abs());
            let next = ones.get(at + 1).copied().unwrap_or(u64::MAX);
            let before = behind + others[behind..].partition_point(|&other| other < next);
            distance = distance.max((share - before as f64 / others.len() as f64).abs());
        }
        let below = others.partition_point(|other| Some(other) < ones.first());
        distance = distance.max(below as f64 / others.len() as f64);
        let size = (ones.len() * others.len()) as f64 / (ones.len() + others.len()) as f64;
        Self {
            distance,
            p_value: kolmogorov_tail(distance * size.sqrt()),
        }
    }
}

/// The bandwidth of the slowest relay of each path, in bytes per second, in ascending order.
pub fn path_bandwidths(relays: &[Relay], paths: &[Vec<u32>]) -> Vec<u64> {
    let slowest = |path: &Vec<u32>| {
        let rates = path.iter().map(|&relay| &relays[relay as usize].bandwidth);
        rates.map(|rate| rate.bytes_per_sec()).min()
    };
    let mut rates: Vec<u64> = paths.iter().filter_map(slowest).collect();
    rates.sort_unstable();
    rates
}

/// The probability that Kolmogorov's variable exceeds `value`, by its alternating series.
fn kolmogorov_tail(value: f64) -> f64 {
    // Below, the series converges slowly and its sum is 1 to more digits than matter.
    if value < 0.3 {
        return 1.0;
    }
    let term = |k: u32| {
        let k = f64::from(k);
        libm::exp(-2.0 * k * k * value * value)
    };
    let sum: f64 = (1..=20)
        .map(|k| if k % 2 == 1 { term(k) } else { -term(k) })
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests;
