//! The rows that couple circuits: in each step, each kind of rate adds up to at most a capacity.

use super::matrix::{Matrix, Vector};
use super::step::{FAR, GIVE};

/// The capacities with their slacks and prices (multipliers), and the prices' Newton system.
#[derive(Clone, Debug)]
pub(super) struct Capacity<const D: usize> {
    pub(super) limit: Vec<[f64; D]>,
    pub(super) slack: Vec<[f64; D]>,
    pub(super) price: Vec<[f64; D]>,
    /// The share of products that each step aims at.
    pub(super) share: Vec<f64>,
    /// The direction of the prices: the predictor's, then the final one.
    pub(super) price_step: Vec<[f64; D]>,
    slack_step: Vec<[f64; D]>,
    product: Vec<[f64; D]>,
    rest: Vec<[f64; D]>,
    factor: Vec<f64>,
    vector: Vec<f64>,
}

impl<const D: usize> Capacity<D> {
    pub(super) fn new(horizon: usize) -> Self {
        let zeros = vec![[0.0; D]; horizon];
        let size = horizon * D;
        Self {
            limit: zeros.clone(),
            slack: zeros.clone(),
            price: zeros.clone(),
            share: vec![0.0; horizon],
            price_step: zeros.clone(),
            slack_step: zeros.clone(),
            product: zeros.clone(),
            rest: zeros,
            factor: vec![0.0; size * size],
            vector: vec![0.0; size],
        }
    }

    /// Sets what the limits exceed rates and slacks by.
    pub(super) fn set_rest(&mut self, used: &[[f64; D]]) {
        for (k, used) in used.iter().enumerate() {
            for i in 0..D {
                self.rest[k][i] = if self.slack[k][i] >= 0.5 * FAR {
                    0.0
                } else {
                    self.limit[k][i] - used[i] - self.slack[k][i]
                };
            }
        }
    }

    /// Assembles and factorises the matrix `Σ responses + diag(slack / price)`.
    pub(super) fn factorise(&mut self, responses: &[Matrix<D>]) {
        let horizon = self.limit.len();
        let size = horizon * D;
        for l in 0..horizon {
            for j in 0..=l {
                let block = &responses[l * (l + 1) / 2 + j];
                for a in 0..D {
                    for b in 0..D {
                        self.factor[(l * D + a) * size + j * D + b] = block[a][b].sum();
                    }
                }
            }
            for a in 0..D {
                let at = l * D + a;
                self.factor[at * size + at] += self.slack[l][a] / self.price[l][a] + GIVE;
            }
        }
        cholesky(&mut self.factor, size);
    }

    /// Solves for the predictor's prices; `predictor` is the sum of the rates' directions without.
    pub(super) fn predict(&mut self, predictor: &[Vector<D>]) {
        for (k, rates) in predictor.iter().enumerate() {
            for i in 0..D {
                self.vector[k * D + i] = rates[i].sum() - self.slack[k][i] - self.rest[k][i];
            }
        }
        self.solve();
        for k in 0..self.limit.len() {
            for i in 0..D {
                let step = self.vector[k * D + i];
                let ratio = self.slack[k][i] / self.price[k][i];
                let slack_step = -self.slack[k][i] - ratio * step;
                self.price_step[k][i] = step;
                self.slack_step[k][i] = slack_step;
                self.product[k][i] = slack_step * step;
            }
        }
    }

    /// Solves for the final prices; `rates` is the sum of the rates' directions without.
    pub(super) fn correct(&mut self, rates: impl Fn(usize, usize) -> f64, target: f64) {
        for k in 0..self.limit.len() {
            for i in 0..D {
                let aim = target * self.share[k] - self.product[k][i];
                let slack = aim / self.price[k][i] - self.slack[k][i];
                self.vector[k * D + i] = rates(k, i) + slack - self.rest[k][i];
            }
        }
        self.solve();
        for k in 0..self.limit.len() {
            for i in 0..D {
                let (slack, price) = (self.slack[k][i], self.price[k][i]);
                let aim = target * self.share[k] - slack * price - self.product[k][i];
                let step = self.vector[k * D + i];
                self.price_step[k][i] = step;
                self.slack_step[k][i] = (aim - slack * step) / price;
            }
        }
    }

    /// The largest relative decrease of a slack or price along the direction.
    pub(super) fn decrease(&self) -> f64 {
        let mut largest = 0.0_f64;
        for k in 0..self.limit.len() {
            for i in 0..D {
                let slack = -self.slack_step[k][i] / self.slack[k][i];
                let price = -self.price_step[k][i] / self.price[k][i];
                largest = largest.max(slack).max(price);
            }
        }
        largest
    }

    /// The sum of the products of the predictor's steps.
    pub(super) fn products(&self) -> f64 {
        self.product.iter().flatten().sum()
    }

    /// The sum of slacks times prices.
    pub(super) fn complementarity(&self) -> f64 {
        let slacks = self.slack.iter().flatten();
        slacks
            .zip(self.price.iter().flatten())
            .map(|(slack, price)| slack * price)
            .sum()
    }

    pub(super) fn advance(&mut self, length: f64) {
        for k in 0..self.limit.len() {
            for i in 0..D {
                self.slack[k][i] += length * self.slack_step[k][i];
                self.price[k][i] += length * self.price_step[k][i];
            }
        }
    }

    /// Replaces `vector` by the solution of the factorised system.
    fn solve(&mut self) {
        let size = self.vector.len();
        for i in 0..size {
            let row = &self.factor[i * size..i * size + i];
            let sum: f64 = row.iter().zip(&self.vector).map(|(a, b)| a * b).sum();
            self.vector[i] = (self.vector[i] - sum) * self.factor[i * size + i];
        }
        for i in (0..size).rev() {
            let value = self.vector[i] * self.factor[i * size + i];
            self.vector[i] = value;
            for j in 0..i {
                self.vector[j] -= self.factor[i * size + j] * value;
            }
        }
    }
}

/// Replaces the lower triangle by its Cholesky factor, with the inverse in the diagonal.
fn cholesky(a: &mut [f64], size: usize) {
    for i in 0..size {
        let (above, rest) = a.split_at_mut(i * size);
        let row = &mut rest[..=i];
        for j in 0..i {
            let other = &above[j * size..=j * size + j];
            let value = (row[j] - dot(&row[..j], &other[..j])) * other[j];
            row[j] = value;
        }
        let pivot = row[i] - dot(&row[..i], &row[..i]);
        // Round-off can take a pivot of a redundant row to zero: hold its price then.
        row[i] = if pivot > 0.0 { 1.0 / pivot.sqrt() } else { 0.0 };
    }
}

/// The inner product, in four chains so that additions overlap.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (chunks, others) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = chunks
        .remainder()
        .iter()
        .zip(others.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in chunks.zip(others) {
        for i in 0..4 {
            sums[i] += x[i] * y[i];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
