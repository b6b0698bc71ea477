//! What the runs of an experiment measured.

use std::collections::BTreeMap;

use crate::Measured;

/// All measured values, by what was measured.
#[derive(Debug, Default)]
pub(super) struct Observed {
    places: BTreeMap<(String, String, Option<u64>), usize>,
    series: Vec<Series>,
}

/// The values of one quantity of one transport at one x, over the networks.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) transport: String,
    pub(super) quantity: String,
    pub(super) unit: &'static str,
    pub(super) x: Option<f64>,
    /// Seeds of the networks, each with the value.
    by_network: Vec<(u64, f64)>,
}

impl Series {
    /// The values, one per network.
    pub(super) fn values(&self) -> Vec<f64> {
        self.by_network.iter().map(|(_, value)| *value).collect()
    }
}

impl Observed {
    /// Adds what `transport` did on the network of a seed; `x` is the swept value of the run.
    pub(super) fn add(&mut self, transport: &str, seed: u64, x: Option<f64>, measured: Measured) {
        let x = measured.x.or(x);
        let key = (
            transport.to_owned(),
            measured.quantity.clone(),
            x.map(f64::to_bits),
        );
        let next = self.series.len();
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.series.push(Series {
                transport: transport.to_owned(),
                quantity: measured.quantity,
                unit: measured.unit,
                x,
                by_network: Vec::new(),
            });
        }
        self.series[place].by_network.push((seed, measured.value));
    }

    /// All series, in the order in which they began.
    pub(super) fn series(&self) -> &[Series] {
        &self.series
    }

    /// The values of two transports on the networks that both met.
    pub(super) fn pairs(
        &self,
        quantity: &str,
        x: Option<f64>,
        transports: [&str; 2],
    ) -> (Vec<f64>, Vec<f64>) {
        let [first, second] = transports.map(|transport| {
            let key = (
                transport.to_owned(),
                quantity.to_owned(),
                x.map(f64::to_bits),
            );
            let place = self.places.get(&key);
            place.map_or(&[][..], |place| &self.series[*place].by_network)
        });
        let of_second: BTreeMap<u64, f64> = second.iter().copied().collect();
        let both = |(seed, value): &(u64, f64)| Some((*value, *of_second.get(seed)?));
        first.iter().filter_map(both).unzip()
    }
}
