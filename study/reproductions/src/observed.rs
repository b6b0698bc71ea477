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

/// A transport, and the swept value where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place<'a> {
    pub(super) transport: &'a str,
    pub(super) x: Option<f64>,
}

/// Values of the same quantity at two places, network by network.
#[derive(Debug)]
pub(super) struct Pairs {
    pub(super) unit: &'static str,
    pub(super) firsts: Vec<f64>,
    pub(super) others: Vec<f64>,
}

/// What one network has of a quantity of a transport over x.
#[derive(Debug)]
pub struct Curve<'a> {
    /// The transport's label.
    pub transport: &'a str,
    /// The quantity.
    pub quantity: &'a str,
    /// The seed of the network.
    pub network: u64,
    /// The values, each with its x.
    pub points: Vec<(Option<f64>, f64)>,
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

    /// Whether any run has a value there.
    pub(super) fn has(&self, transport: &str, quantity: &str, x: Option<f64>) -> bool {
        let key = (
            transport.to_owned(),
            quantity.to_owned(),
            x.map(f64::to_bits),
        );
        self.places.contains_key(&key)
    }

    /// The runs of a transport that have a value of anything at one x.
    pub(super) fn runs_of(&self, transport: &str) -> u64 {
        let of_it = self.series.iter().filter(|it| it.transport == transport);
        of_it.map(|it| it.by_network.len()).max().unwrap_or(0) as u64
    }

    /// The values at two places on the networks that have both.
    pub(super) fn pairs(&self, quantity: &str, places: [Place<'_>; 2]) -> Pairs {
        let [first, other] = places.map(|place| {
            let key = (
                place.transport.to_owned(),
                quantity.to_owned(),
                place.x.map(f64::to_bits),
            );
            let found = self.places.get(&key);
            found.map(|found| &self.series[*found])
        });
        let by_network = |series: Option<&Series>| -> BTreeMap<u64, f64> {
            let values = series.map_or(&[][..], |series| &series.by_network);
            values.iter().copied().collect()
        };
        let of_other = by_network(other);
        let both = |(seed, value): (u64, f64)| Some((value, *of_other.get(&seed)?));
        let (firsts, others) = by_network(first).into_iter().filter_map(both).unzip();
        Pairs {
            unit: first.map_or("", |series| series.unit),
            firsts,
            others,
        }
    }

    /// The curves of each quantity and transport over x, network by network; only networks that
    /// have all points of a curve.
    pub(super) fn curves(&self) -> Vec<Curve<'_>> {
        let mut curves: Vec<Vec<&Series>> = Vec::new();
        for series in &self.series {
            let same = |curve: &&mut Vec<&Series>| {
                curve[0].transport == series.transport && curve[0].quantity == series.quantity
            };
            match curves.iter_mut().find(same) {
                Some(curve) => curve.push(series),
                None => curves.push(vec![series]),
            }
        }
        curves
            .iter()
            .flat_map(|curve| Curve::by_network(curve))
            .collect()
    }
}

impl<'a> Curve<'a> {
    fn by_network(series: &[&'a Series]) -> Vec<Self> {
        let points: Vec<BTreeMap<u64, f64>> = series
            .iter()
            .map(|series| series.by_network.iter().copied().collect())
            .collect();
        let of_network = |network: &u64| {
            let points = series.iter().zip(&points);
            let points = points.map(|(series, values)| Some((series.x, *values.get(network)?)));
            Some(Self {
                transport: &series[0].transport,
                quantity: &series[0].quantity,
                network: *network,
                points: points.collect::<Option<_>>()?,
            })
        };
        points[0].keys().filter_map(of_network).collect()
    }
}
