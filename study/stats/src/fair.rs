//! Fairness: Jain's index, max-min fair shares, and the index of `PredicTor`.

use std::fmt;

/// Jain's index of fairness: `(Σ x)² / (n · Σ x²)`, from 1/n (one has all) to 1 (all have the
/// same).
///
/// From Jain, Chiu and Hawe, *A Quantitative Measure of Fairness and Discrimination for Resource
/// Allocation in Shared Computer Systems*, DEC-TR-301, 1984. `None` if there are no shares, all
/// are zero, or one is negative or not finite.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let largest = largest_share(shares)?;
    // Shares relative to the largest can neither overflow nor all vanish when squared.
    let relative = || shares.iter().map(|share| share / largest);
    let sum: f64 = relative().sum();
    let squares: f64 = relative().map(|share| share * share).sum();
    Some((sum * sum / (shares.len() as f64 * squares)).min(1.0))
}

/// The share of traffic that keeps to a fair allocation: `1 - Σ |fair - observed| / Σ fair`
/// (`PredicTor`, section 5, the index F).
///
/// It is 1 for the fair allocation itself and negative if the observed rates are off by more than
/// all of it. `None` if the numbers of rates differ or are zero, the fair rates are all zero, or a
/// rate is negative or not finite.
pub fn fairness_index(fair: &[f64], observed: &[f64]) -> Option<f64> {
    largest_share(fair)?;
    if fair.len() != observed.len()
        || observed
            .iter()
            .any(|rate| !(rate.is_finite() && *rate >= 0.0))
    {
        return None;
    }
    let off: f64 = fair
        .iter()
        .zip(observed)
        .map(|(fair, observed)| (fair - observed).abs())
        .sum();
    let index = 1.0 - off / fair.iter().sum::<f64>();
    index.is_finite().then_some(index)
}

fn largest_share(shares: &[f64]) -> Option<f64> {
    if shares
        .iter()
        .any(|share| !(share.is_finite() && *share >= 0.0))
    {
        return None;
    }
    shares
        .iter()
        .copied()
        .reduce(f64::max)
        .filter(|largest| *largest > 0.0)
}

/// A flow that asks for a share of the links that it crosses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FairFlow {
    /// The links, as indices into the capacities; a link named twice is loaded twice.
    pub links: Vec<usize>,
    /// The most that the flow can use; `None`: as much as it gets.
    pub demand: Option<f64>,
}

/// Why no allocation exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairError {
    /// A flow crosses no link and has no demand, so nothing bounds it.
    Unbounded {
        /// The flow's index.
        flow: usize,
    },
    /// A flow names a link that has no capacity listed.
    UnknownLink {
        /// The flow's index.
        flow: usize,
        /// The link's index.
        link: usize,
    },
    /// A capacity is negative or not finite.
    Capacity {
        /// The link's index.
        link: usize,
    },
    /// A demand is negative or not finite.
    Demand {
        /// The flow's index.
        flow: usize,
    },
    /// The target that all flows strive for is negative or not finite.
    Target,
}

impl fmt::Display for FairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbounded { flow } => write!(f, "flow {flow} crosses no link and has no demand"),
            Self::UnknownLink { flow, link } => {
                write!(f, "flow {flow} crosses link {link}, which has no capacity")
            }
            Self::Capacity { link } => {
                write!(
                    f,
                    "the capacity of link {link} must be finite and at least zero"
                )
            }
            Self::Demand { flow } => {
                write!(
                    f,
                    "the demand of flow {flow} must be finite and at least zero"
                )
            }
            Self::Target => f.write_str("the target must be finite and at least zero"),
        }
    }
}

impl std::error::Error for FairError {}

/// What a flow gets in a max-min fair allocation, and what keeps it from more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FairShare {
    /// The rate, in the unit of the capacities.
    pub rate: f64,
    /// The link that is full, on which no flow gets more than this one; of several the first.
    /// `None`: the flow has all that it demands.
    pub bottleneck: Option<usize>,
}

/// The max-min fair shares of flows over links, by progressive filling.
///
/// All rates rise together; a flow stops when one of its links is full or its demand is met, and
/// the others go on (Bertsekas and Gallager, *Data Networks*, section 6.5.2). In the result, a
/// flow can only get more if another one with no more than it gets less.
///
/// # Errors
/// If a flow is bounded by nothing or names an unknown link, or if a number is not a capacity or
/// demand.
pub fn max_min(capacities: &[f64], flows: &[FairFlow]) -> Result<Vec<FairShare>, FairError> {
    check(capacities, flows)?;
    let mut filling = Filling::new(capacities, flows);
    while filling.active > 0 {
        filling.fill_up(flows);
    }
    Ok(filling.shares)
}

pub(crate) fn check(capacities: &[f64], flows: &[FairFlow]) -> Result<(), FairError> {
    let valid = |number: f64| number.is_finite() && number >= 0.0;
    if let Some(link) = capacities.iter().position(|capacity| !valid(*capacity)) {
        return Err(FairError::Capacity { link });
    }
    for (flow, spec) in flows.iter().enumerate() {
        if let Some(link) = spec
            .links
            .iter()
            .copied()
            .find(|link| *link >= capacities.len())
        {
            return Err(FairError::UnknownLink { flow, link });
        }
        match spec.demand {
            None if spec.links.is_empty() => return Err(FairError::Unbounded { flow }),
            Some(demand) if !valid(demand) => return Err(FairError::Demand { flow }),
            _ => {}
        }
    }
    Ok(())
}

impl FairShare {
    const fn of_demand(rate: f64) -> Self {
        let bottleneck = None;
        Self { rate, bottleneck }
    }
}

/// The state of progressive filling.
struct Filling {
    /// What flows that have stopped leave of each link.
    left: Vec<f64>,
    /// How often flows that still rise cross each link.
    crossings: Vec<usize>,
    /// The flows across each link; a flow that crosses it twice is listed twice.
    flows_of: Vec<Vec<usize>>,
    stopped: Vec<bool>,
    shares: Vec<FairShare>,
    active: usize,
}

impl Filling {
    fn new(capacities: &[f64], flows: &[FairFlow]) -> Self {
        let mut flows_of = vec![Vec::new(); capacities.len()];
        for (flow, spec) in flows.iter().enumerate() {
            for link in &spec.links {
                flows_of[*link].push(flow);
            }
        }
        Self {
            left: capacities.to_vec(),
            crossings: flows_of.iter().map(Vec::len).collect(),
            flows_of,
            stopped: vec![false; flows.len()],
            shares: vec![FairShare::default(); flows.len()],
            active: flows.len(),
        }
    }

    /// Raises all rates to the next level at which a flow stops, and stops all that do.
    fn fill_up(&mut self, flows: &[FairFlow]) {
        let share = |link: usize| self.left[link] / self.crossings[link] as f64;
        let full = (0..self.left.len())
            .filter(|link| self.crossings[*link] > 0)
            .map(|link| (share(link), link))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let met = (0..flows.len())
            .filter(|flow| !self.stopped[*flow])
            .filter_map(|flow| Some((flows[flow].demand?, flow)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        match (full, met) {
            (Some((level, _)), Some((demand, flow))) if demand <= level => {
                self.stop(flow, FairShare::of_demand(demand), flows);
            }
            (None, Some((demand, flow))) => {
                self.stop(flow, FairShare::of_demand(demand), flows);
            }
            (Some((rate, link)), _) => {
                let bottleneck = Some(link);
                for flow in std::mem::take(&mut self.flows_of[link]) {
                    self.stop(flow, FairShare { rate, bottleneck }, flows);
                }
            }
            (None, None) => unreachable!("a flow that still rises has a link or a demand"),
        }
    }

    fn stop(&mut self, flow: usize, share: FairShare, flows: &[FairFlow]) {
        if std::mem::replace(&mut self.stopped[flow], true) {
            return;
        }
        self.active -= 1;
        self.shares[flow] = share;
        for link in &flows[flow].links {
            self.left[*link] = (self.left[*link] - share.rate).max(0.0);
            self.crossings[*link] -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(links: &[usize]) -> FairFlow {
        FairFlow {
            links: links.to_vec(),
            demand: None,
        }
    }

    fn rates(capacities: &[f64], flows: &[FairFlow]) -> Vec<f64> {
        let shares = max_min(capacities, flows).unwrap();
        shares.into_iter().map(|share| share.rate).collect()
    }

    #[test]
    fn jains_index_lies_between_monopoly_and_equality() {
        assert_eq!(jain(&[2.0; 5]), Some(1.0));
        assert_eq!(jain(&[0.0, 0.0, 3.0, 0.0]), Some(0.25));
        // (1 + 2 + 3)² / (3 · 14)
        assert!((jain(&[1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-15);
        assert!((jain(&[1e300, 2e300, 3e300]).unwrap() - 36.0 / 42.0).abs() < 1e-15);
        for none in [&[][..], &[0.0, 0.0], &[1.0, -1.0], &[1.0, f64::NAN]] {
            assert_eq!(jain(none), None);
        }
    }

    #[test]
    fn the_index_of_predictor_agrees_with_its_table_1() {
        let fair = [136.7; 3];
        // PredicTor, Vanilla and PCTCP in KB/s; the paper rounds the index to two digits.
        let table = [
            ([134.2, 134.1, 134.1], 0.98),
            ([102.5, 102.5, 197.3], 0.68),
            ([130.9, 143.9, 130.5], 0.95),
        ];
        for (observed, index) in table {
            let found = fairness_index(&fair, &observed).unwrap();
            assert!((found - index).abs() < 6e-3, "{found} instead of {index}");
        }
    }

    #[test]
    fn the_index_of_predictor_is_one_for_fair_rates_and_can_be_negative() {
        assert_eq!(fairness_index(&[1.0, 2.0], &[1.0, 2.0]), Some(1.0));
        assert_eq!(fairness_index(&[1.0, 1.0], &[5.0, 1.0]), Some(-1.0));
        assert_eq!(fairness_index(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(fairness_index(&[0.0], &[1.0]), None);
        assert_eq!(fairness_index(&[1.0], &[f64::NAN]), None);
        assert_eq!(fairness_index(&[], &[]), None);
    }

    #[test]
    fn progressive_filling_solves_the_parking_lot() {
        // One long flow over three links, one short flow on each.
        let flows = [over(&[0, 1, 2]), over(&[0]), over(&[1]), over(&[2])];
        let shares = max_min(&[10.0, 4.0, 6.0], &flows).unwrap();
        let shares: Vec<_> = shares.iter().map(|s| (s.rate, s.bottleneck)).collect();
        let expected = [
            (2.0, Some(1)),
            (8.0, Some(0)),
            (2.0, Some(1)),
            (4.0, Some(2)),
        ];
        assert_eq!(shares, expected);
    }

    #[test]
    fn demands_and_double_crossings_bound_rates() {
        let capped = FairFlow {
            links: vec![0],
            demand: Some(1.0),
        };
        assert_eq!(
            rates(&[9.0], &[capped, over(&[0]), over(&[0])]),
            [1.0, 4.0, 4.0]
        );
        assert_eq!(rates(&[9.0], &[over(&[0, 0]), over(&[0])]), [3.0, 3.0]);
        let free = FairFlow {
            links: vec![],
            demand: Some(7.0),
        };
        let met = FairShare {
            rate: 7.0,
            bottleneck: None,
        };
        assert_eq!(max_min(&[], &[free]).unwrap(), [met]);
        assert_eq!(rates(&[0.0], &[over(&[0])]), [0.0]);
        assert_eq!(rates(&[1.0], &[]), [0.0; 0]);
    }

    #[test]
    fn every_flow_is_bounded_by_a_full_link_on_which_none_gets_more() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let links = 2 + random(8) as usize;
            let capacities: Vec<f64> = (0..links).map(|_| 1.0 + random(1000) as f64).collect();
            let flows: Vec<FairFlow> = (0..=random(30))
                .map(|_| {
                    over(
                        &(0..=random(3))
                            .map(|_| random(links as u64) as usize)
                            .collect::<Vec<_>>(),
                    )
                })
                .collect();
            let shares = max_min(&capacities, &flows).unwrap();
            let rates: Vec<f64> = shares.iter().map(|share| share.rate).collect();
            let load = |link: usize| -> f64 {
                let crossing = |flow: &FairFlow| flow.links.iter().filter(|l| **l == link).count();
                flows
                    .iter()
                    .zip(&rates)
                    .map(|(flow, rate)| crossing(flow) as f64 * rate)
                    .sum()
            };
            for (link, capacity) in capacities.iter().enumerate() {
                assert!(load(link) <= capacity * (1.0 + 1e-9));
            }
            for (flow, share) in flows.iter().zip(&shares) {
                let is_bottleneck = |link: &usize| {
                    let largest = flows
                        .iter()
                        .zip(&rates)
                        .filter(|(f, _)| f.links.contains(link))
                        .map(|(_, r)| *r)
                        .fold(0.0, f64::max);
                    load(*link) >= capacities[*link] * (1.0 - 1e-9)
                        && largest <= share.rate * (1.0 + 1e-9)
                };
                let link = share.bottleneck.unwrap();
                assert!(flow.links.contains(&link) && is_bottleneck(&link));
            }
        }
    }

    #[test]
    fn what_has_no_fair_share_is_an_error_that_names_it() {
        let error = |capacities: &[f64], flow: FairFlow| max_min(capacities, &[flow]).unwrap_err();
        assert_eq!(error(&[1.0], over(&[])), FairError::Unbounded { flow: 0 });
        assert_eq!(
            error(&[1.0], over(&[1])),
            FairError::UnknownLink { flow: 0, link: 1 }
        );
        assert_eq!(error(&[-1.0], over(&[0])), FairError::Capacity { link: 0 });
        let greedy = FairFlow {
            links: vec![0],
            demand: Some(f64::INFINITY),
        };
        assert_eq!(
            error(&[1.0], greedy).to_string(),
            "the demand of flow 0 must be finite and at least zero"
        );
    }
}
