use super::*;
use crate::max_min;

fn over(links: &[usize]) -> FairFlow {
    FairFlow {
        links: links.to_vec(),
        demand: None,
    }
}

fn rates(capacities: &[f64], flows: &[FairFlow], target: f64) -> Vec<f64> {
    nearest(capacities, flows, target).unwrap().rates
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let close = found.iter().zip(expected);
    assert!(
        close.clone().all(|(a, b)| (a - b).abs() <= tolerance),
        "{found:?} instead of {expected:?}"
    );
}

/// Numbers without a pattern.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1);
        (self.0 >> 33) % end
    }

    fn unit(&mut self) -> f64 {
        self.below(1 << 30) as f64 / (1 << 30) as f64
    }

    /// Links with capacities from `least` to 1, and flows over one to `longest` of them.
    fn network(&mut self, flows: u64, longest: u64, least: f64) -> (Vec<f64>, Vec<FairFlow>) {
        let links = 2 + self.below(12);
        let capacity = |numbers: &mut Self| least + (1.0 - least) * numbers.unit();
        let capacities = (0..links).map(|_| capacity(self)).collect();
        let path = |numbers: &mut Self| -> Vec<usize> {
            let length = 1 + numbers.below(longest);
            (0..length).map(|_| numbers.below(links) as usize).collect()
        };
        let flows = (0..flows).map(|_| FairFlow {
            links: path(self),
            demand: (self.below(4) == 0).then(|| self.unit() / 3.0),
        });
        (capacities, flows.collect())
    }
}

#[test]
fn on_one_link_the_nearest_rates_are_the_max_min_fair_ones() {
    let demands = [None, Some(0.1), None, Some(0.3), None, Some(0.0)];
    let flow = |demand: Option<f64>| FairFlow {
        links: vec![0],
        demand,
    };
    let flows = demands.map(flow);
    for capacity in [0.0, 0.05, 0.5, 1.0, 5.0] {
        let target = 1.7_f64.max(capacity);
        let fair = max_min(&[capacity], &flows).unwrap();
        let fair: Vec<_> = fair.iter().map(|share| share.rate).collect();
        assert_close(&rates(&[capacity], &flows, target), &fair, 1e-12);
    }
}

#[test]
fn two_links_suffice_to_depart_from_max_min_fairness() {
    let flows = [over(&[0, 1]), over(&[0]), over(&[1])];
    let fair = max_min(&[1.0, 1.0], &flows).unwrap();
    assert!(fair.iter().all(|share| share.rate == 0.5));
    let third = 1.0 / 3.0;
    let found = nearest(&[1.0, 1.0], &flows, 1.0).unwrap();
    assert_close(&found.rates, &[third, 2.0 * third, 2.0 * third], 1e-12);
    assert_close(&found.prices, &[third, third], 1e-12);
}

#[test]
fn in_a_parking_lot_the_long_flow_has_what_the_closed_form_says() {
    let capacity = 3.0;
    for links in 1..12 {
        for target in [3.0, 3.3, 4.0, 6.0, 30.0] {
            let long: Vec<usize> = (0..links).collect();
            let mut flows = vec![over(&long)];
            flows.extend((0..links).map(|link| over(&[link])));
            let k = links as f64;
            let long = ((k * capacity - target * (k - 1.0)) / (k + 1.0)).max(0.0);
            let mut expected = vec![capacity - long; links + 1];
            expected[0] = long;
            let found = rates(&vec![capacity; links], &flows, target);
            assert_close(&found, &expected, 1e-9);
        }
    }
}

#[test]
fn flows_without_a_link_or_a_full_one_have_the_target_or_their_demand() {
    let mut free = over(&[]);
    free.demand = Some(7.0);
    assert_eq!(rates(&[], std::slice::from_ref(&free), 5.0), [5.0]);
    assert_eq!(rates(&[], &[free], 9.0), [7.0]);
    assert_eq!(rates(&[9.0], &[over(&[0]), over(&[0])], 2.0), [2.0, 2.0]);
    assert_eq!(rates(&[9.0], &[over(&[0])], 0.0), [0.0]);
    assert_eq!(rates(&[1.0, 1.0], &[], 1.0), [0.0; 0]);
}

/// The conditions of Karush, Kuhn and Tucker, which only the optimum meets: prices are not
/// negative, only full links have one, none is overloaded, and no flow would choose another rate.
#[test]
fn random_networks_meet_the_conditions_of_optimality() {
    let mut numbers = Numbers(11);
    for round in 0..400 {
        let least = if round % 3 == 0 { 0.0 } else { 0.3 };
        let count = 1 + numbers.below(80);
        let (capacities, flows) = numbers.network(count, 5, least);
        let target = 1.0 + 9.0 * numbers.unit() * (round % 2) as f64;
        let found = nearest(&capacities, &flows, target).unwrap();
        let Nearest { rates, prices, .. } = &found;
        let mut load = vec![0.0; capacities.len()];
        for (flow, rate) in flows.iter().zip(rates) {
            let paid: f64 = flow.links.iter().map(|link| prices[*link]).sum();
            let most = flow.demand.unwrap_or(target).min(target);
            assert!((rate - (target - paid).clamp(0.0, most)).abs() <= 1e-12 * target);
            for link in &flow.links {
                load[*link] += rate;
            }
        }
        for (link, capacity) in capacities.iter().enumerate() {
            assert!(prices[link] >= 0.0 && load[link] <= capacity + 1e-11 * target);
            let slack = capacity - load[link];
            assert!(prices[link].min(slack) <= 1e-11 * target, "round {round}");
        }
        assert!(found.residual <= 1e-11 * target, "{}", found.residual);
    }
}

#[test]
fn large_networks_with_capacities_of_all_sizes_are_solved() {
    let mut numbers = Numbers(5);
    for flows in [100, 1000] {
        let links = 50;
        let squared = |unit: f64| 0.01 + unit * unit * unit * 20.0;
        let capacities: Vec<f64> = (0..links).map(|_| squared(numbers.unit())).collect();
        let paths = (0..flows).map(|_| {
            let links: Vec<_> = (0..3).map(|_| numbers.below(links) as usize).collect();
            over(&links)
        });
        let flows: Vec<_> = paths.collect();
        for target in [20.01, 40.0, 200.0] {
            let found = nearest(&capacities, &flows, target).unwrap();
            assert!(found.residual <= 1e-11 * target, "{}", found.residual);
        }
    }
}

#[test]
fn what_has_no_nearest_rates_is_an_error_that_names_it() {
    let error = |capacities: &[f64], flow: FairFlow, target| {
        let found = nearest(capacities, &[flow], target);
        found.unwrap_err()
    };
    let unbounded = FairError::Unbounded { flow: 0 };
    assert_eq!(error(&[1.0], over(&[]), 1.0), unbounded);
    assert_eq!(error(&[1.0], over(&[0]), -1.0), FairError::Target);
    assert_eq!(error(&[1.0], over(&[0]), f64::NAN), FairError::Target);
}
