//! The feasible allocation nearest to one in which all flows have the same, high rate.

use crate::fair::{FairError, FairFlow, check};

/// Sweeps over all links between two attempts to solve for all prices at once.
const SWEEPS: usize = 4;
/// Attempts in a row, each with the links that the one before found to be full.
const STEPS: usize = 20;
/// Rounds of sweeps and attempts; a few are needed.
const ROUNDS: usize = 5_000;
/// The residual, relative to target and capacities, at which the search ends.
const TOLERANCE: f64 = 1e-12;

/// The allocation that [`nearest`] finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// The rate of each flow, in the unit of the capacities.
    pub rates: Vec<f64>,
    /// The multiplier of each link's capacity, in the same unit: a flow whose rate is neither zero
    /// nor its demand has the target less the prices of the links that it crosses.
    pub prices: Vec<f64>,
    /// How far the conditions of optimality are missed, in the same unit: the most by which a link
    /// is overloaded, or is both not full and not free of charge. Above 1e-12 of the target or of
    /// the largest capacity only if the search was given up.
    pub residual: f64,
}

/// The rates that minimise `Σ (target - rate)²`, subject to the links' capacities, the flows'
/// demands, and no rate below zero.
///
/// There is exactly one such allocation. `PredicTor` defines its fair rates so (section 3.1,
/// equation 8), with a target not below any capacity. On a single link these are the max-min fair
/// rates; over several links they are not: see [`max_min`](crate::max_min) for those.
///
/// The dual problem has a price per link and no coupling but through the flows. It is solved by
/// cyclic coordinate ascent, which raises or lowers one link's price until the link is just full,
/// and is guaranteed to converge, and by Newton steps on the links that have a price, which are
/// exact as soon as these are the right ones.
///
/// # Errors
/// As [`max_min`](crate::max_min), or if the target is negative or not finite.
///
/// ```
/// use hopflow_stats::{FairFlow, nearest};
/// // One flow over both links of capacity 1, and one flow over each.
/// let over = |links: &[usize]| FairFlow { links: links.to_vec(), demand: None };
/// let flows = [over(&[0, 1]), over(&[0]), over(&[1])];
/// let found = nearest(&[1.0, 1.0], &flows, 1.0)?;
/// assert!((found.rates[0] - 1.0 / 3.0).abs() < 1e-12);
/// # Ok::<(), hopflow_stats::FairError>(())
/// ```
pub fn nearest(capacities: &[f64], flows: &[FairFlow], target: f64) -> Result<Nearest, FairError> {
    check(capacities, flows)?;
    if !(target.is_finite() && target >= 0.0) {
        return Err(FairError::Target);
    }
    let dual = Dual::new(capacities, flows, target);
    let scale = capacities.iter().copied().fold(target, f64::max);
    let mut best = dual.state(vec![0.0; capacities.len()]);
    for _ in 0..ROUNDS {
        if best.residual <= TOLERANCE * scale {
            break;
        }
        let mut swept = best.prices.clone();
        for _ in 0..SWEEPS {
            dual.sweep(&mut swept);
        }
        best = dual.state(swept);
        for _ in 0..STEPS {
            let next = dual.state(dual.newton(&best));
            if next.residual >= best.residual {
                break;
            }
            best = next;
        }
    }
    let rates = (0..flows.len()).map(|flow| dual.rate(flow, &best.prices));
    Ok(Nearest {
        rates: rates.collect(),
        residual: best.residual,
        prices: best.prices,
    })
}

/// The dual problem: prices of links.
struct Dual<'a> {
    capacities: &'a [f64],
    target: f64,
    /// The links of each flow, each once, with the number of crossings.
    links_of: Vec<Vec<(usize, f64)>>,
    /// The flows of each link, likewise.
    flows_of: Vec<Vec<(usize, f64)>>,
    /// The most that each flow takes.
    most: Vec<f64>,
}

/// Prices, and what they lead to.
struct State {
    prices: Vec<f64>,
    /// The load of each link less its capacity.
    excess: Vec<f64>,
    residual: f64,
}

impl<'a> Dual<'a> {
    fn new(capacities: &'a [f64], flows: &[FairFlow], target: f64) -> Self {
        let mut flows_of = vec![Vec::new(); capacities.len()];
        let mut links_of = Vec::new();
        for (flow, spec) in flows.iter().enumerate() {
            let mut links = spec.links.clone();
            links.sort_unstable();
            let crossings = |links: &[usize]| (links[0], links.len() as f64);
            let links: Vec<_> = links.chunk_by(|a, b| a == b).map(crossings).collect();
            for (link, times) in &links {
                flows_of[*link].push((flow, *times));
            }
            links_of.push(links);
        }
        let most = |flow: &FairFlow| flow.demand.unwrap_or(target).min(target);
        Self {
            capacities,
            target,
            links_of,
            flows_of,
            most: flows.iter().map(most).collect(),
        }
    }

    /// The target less the prices along a flow's path.
    fn wish(&self, flow: usize, prices: &[f64]) -> f64 {
        let links = self.links_of[flow].iter();
        let paid: f64 = links.map(|(link, times)| times * prices[*link]).sum();
        self.target - paid
    }

    fn rate(&self, flow: usize, prices: &[f64]) -> f64 {
        self.wish(flow, prices).clamp(0.0, self.most[flow])
    }

    /// Whether a small change of a price along its path changes a flow's rate.
    fn responds(&self, flow: usize, prices: &[f64]) -> bool {
        let wish = self.wish(flow, prices);
        wish > 0.0 && wish <= self.most[flow]
    }

    fn state(&self, prices: Vec<f64>) -> State {
        let mut excess: Vec<f64> = self.capacities.iter().map(|capacity| -capacity).collect();
        for (flow, links) in self.links_of.iter().enumerate() {
            let rate = self.rate(flow, &prices);
            for (link, times) in links {
                excess[*link] += times * rate;
            }
        }
        let miss = |(excess, price): (&f64, &f64)| excess.max(-price).abs();
        let residual = excess.iter().zip(&prices).map(miss).fold(0.0, f64::max);
        State {
            prices,
            excess,
            residual,
        }
    }

    /// Sets the price of each link in turn to the least that the link is not overloaded at.
    fn sweep(&self, prices: &mut [f64]) {
        for link in 0..prices.len() {
            prices[link] = 0.0;
            prices[link] = self.fill(link, prices);
        }
    }

    /// The least price at which `link`, which is free of charge in `prices`, is not overloaded.
    ///
    /// The load is piecewise linear in the price; what a flow takes begins to fall where its wish
    /// is what it takes at most, and ends to where its wish is nothing.
    fn fill(&self, link: usize, prices: &[f64]) -> f64 {
        let mut corners = Vec::with_capacity(2 * self.flows_of[link].len());
        for (flow, times) in &self.flows_of[link] {
            let (wish, most) = (self.wish(*flow, prices), self.most[*flow]);
            let taken = Piece {
                constant: times * most,
                ..Piece::default()
            };
            let falling = Piece {
                constant: times * wish,
                slope: times * times,
            };
            if wish > 0.0 {
                corners.push((((wish - most) / times).max(0.0), falling, taken));
                corners.push((wish / times, Piece::default(), falling));
            }
        }
        corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        let taken = self.flows_of[link].iter();
        let mut load = Piece {
            constant: taken
                .filter(|(flow, _)| self.wish(*flow, prices) > 0.0)
                .map(|(flow, times)| times * self.most[*flow])
                .sum(),
            slope: 0.0,
        };
        let capacity = self.capacities[link];
        for (price, after, before) in &corners {
            if load.at(*price) <= capacity {
                break;
            }
            load.constant += after.constant - before.constant;
            load.slope += after.slope - before.slope;
        }
        load.reaches(capacity)
            .unwrap_or_else(|| corners.last().map_or(0.0, |corner| corner.0))
    }

    /// The prices at which all links that have a price, or are overloaded, would be full if no
    /// flow began or ceased to respond to prices.
    fn newton(&self, state: &State) -> Vec<f64> {
        let prices = &state.prices;
        let priced = |link: &usize| prices[*link] > 0.0 || state.excess[*link] > 0.0;
        let links: Vec<usize> = (0..prices.len()).filter(priced).collect();
        let mut place = vec![None; prices.len()];
        for (row, link) in links.iter().enumerate() {
            place[*link] = Some(row);
        }
        let mut matrix = vec![vec![0.0; links.len()]; links.len()];
        for flow in (0..self.most.len()).filter(|flow| self.responds(*flow, prices)) {
            for (a, times_a) in &self.links_of[flow] {
                for (b, times_b) in &self.links_of[flow] {
                    if let (Some(a), Some(b)) = (place[*a], place[*b]) {
                        matrix[a][b] += times_a * times_b;
                    }
                }
            }
        }
        let excess = links.iter().map(|link| state.excess[*link]).collect();
        let steps = solve(matrix, excess);
        let mut prices = prices.clone();
        for (link, step) in links.iter().zip(steps) {
            prices[*link] = (prices[*link] + step).max(0.0);
        }
        prices
    }
}

/// A piece of a load that falls with a price.
#[derive(Clone, Copy, Default)]
struct Piece {
    constant: f64,
    slope: f64,
}

impl Piece {
    fn at(self, price: f64) -> f64 {
        self.constant - self.slope * price
    }

    /// The price at which the load is `capacity`, if it is not always above it.
    fn reaches(self, capacity: f64) -> Option<f64> {
        let above = self.constant - capacity;
        match self.slope > 0.5 {
            _ if above <= 0.0 => Some(0.0),
            true => Some(above / self.slope),
            false => None,
        }
    }
}

/// Solves a symmetric system of integers that may be singular, by Cholesky's method.
///
/// Unknowns that depend on earlier ones stay zero.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    let mut pivots = vec![None; size];
    for k in 0..size {
        let whole = matrix[k][k];
        let (above, rest) = matrix.split_at_mut(k);
        let row = &mut rest[0];
        for (j, pivot) in pivots[..k].iter().enumerate() {
            let Some(pivot) = pivot else { continue };
            let factor: f64 = above[j][k] / pivot;
            for (entry, above) in row.iter_mut().zip(&above[j]).skip(k) {
                *entry -= factor * above;
            }
            right[k] -= factor * right[j];
        }
        pivots[k] = Some(row[k]).filter(|pivot| *pivot > 1e-9 * whole);
    }
    let mut solution = vec![0.0; size];
    for k in (0..size).rev() {
        let Some(pivot) = pivots[k] else { continue };
        let later = matrix[k].iter().zip(&solution).skip(k + 1);
        let known: f64 = later.map(|(entry, value)| entry * value).sum();
        solution[k] = (right[k] - known) / pivot;
    }
    solution
}

#[cfg(test)]
mod tests;
