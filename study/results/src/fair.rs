//! How evenly circuits share a network.

use std::collections::BTreeMap;

use hopflow_stats::{fairness_index, jain};

use crate::rows::Circuit;

/// The share of goodput that keeps to the max-min fair rates, over the circuits for which these
/// are known: [`fairness_index`] (`PredicTor`, section 5, the index F).
///
/// `None` if no circuit has a fair rate.
pub fn max_min_index(circuits: &[Circuit]) -> Option<f64> {
    let rates = circuits
        .iter()
        .filter_map(|c| Some((c.fair_bytes_per_s?, c.goodput_bytes_per_s)));
    let (fair, observed): (Vec<f64>, Vec<f64>) = rates.unzip();
    fairness_index(&fair, &observed)
}

/// [Jain's index](jain) over the goodputs of the circuits with one bottleneck, for each bottleneck of
/// several, in the order of the nodes' numbers, then of fair rates.
///
/// A node can be two bottlenecks: by what it sends, and by what it receives. Circuits with the same
/// node and fair rate count as circuits with one bottleneck.
pub fn jain_at_bottlenecks(circuits: &[Circuit]) -> Vec<f64> {
    // Rates by their bits: progressive filling gives all that one link stops one number.
    let mut at_bottleneck: BTreeMap<(u32, u64), Vec<f64>> = BTreeMap::new();
    for circuit in circuits {
        if let (Some(node), Some(fair)) = (circuit.bottleneck, circuit.fair_bytes_per_s) {
            let goodputs = at_bottleneck.entry((node, fair.to_bits())).or_default();
            goodputs.push(circuit.goodput_bytes_per_s);
        }
    }
    let shared = at_bottleneck.values().filter(|it| it.len() > 1);
    shared.filter_map(|goodputs| jain(goodputs)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Class;

    /// A circuit's goodput, its fair rate, and the node that bounds it.
    fn circuit(goodput: f64, fair: Option<f64>, bottleneck: Option<u32>) -> Circuit {
        Circuit {
            rate_bytes_per_s: goodput,
            goodput_bytes_per_s: goodput,
            fair_bytes_per_s: fair,
            bottleneck,
            ..Circuit::idle(0, 3, Class::Bulk)
        }
    }

    #[test]
    fn circuits_without_a_fair_rate_count_nowhere() {
        let circuits = [
            circuit(8.0, Some(10.0), Some(1)),
            circuit(12.0, Some(10.0), Some(1)),
            circuit(99.0, None, None),
        ];
        let index = max_min_index(&circuits).unwrap();
        assert!((index - 0.8).abs() < 1e-9, "{index}");
        assert_eq!(jain_at_bottlenecks(&circuits).len(), 1);
        assert_eq!(max_min_index(&circuits[2..]), None);
    }

    #[test]
    fn what_a_node_sends_and_what_it_receives_are_two_bottlenecks() {
        let circuits = [
            circuit(1.0, Some(1.0), Some(3)),
            circuit(4.0, Some(4.0), Some(3)),
            circuit(1.0, Some(1.0), Some(3)),
            circuit(4.0, Some(4.0), Some(3)),
        ];
        assert_eq!(jain_at_bottlenecks(&circuits), [1.0, 1.0]);
    }

    #[test]
    fn a_node_that_bounds_one_circuit_shares_nothing() {
        let circuits = [
            circuit(5.0, Some(5.0), Some(2)),
            circuit(1.0, Some(2.0), Some(1)),
            circuit(3.0, Some(2.0), Some(1)),
            circuit(7.0, Some(7.0), Some(0)),
            circuit(7.0, Some(7.0), Some(0)),
        ];
        let indices = jain_at_bottlenecks(&circuits);
        assert_eq!(indices.len(), 2);
        assert!((indices[0] - 1.0).abs() < 1e-9, "{indices:?}");
        assert!((indices[1] - 0.8).abs() < 1e-9, "{indices:?}");
    }
}
