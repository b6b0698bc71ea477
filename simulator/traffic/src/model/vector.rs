//! Steps from vectors of features, and features from probabilities.
//!
//! A vector has the number of objects, the first size, quantiles of the objects' sizes at `levels`,
//! the number of uploads, and what they sum up to; sizes and sums as `log(1 + bytes)`. The tensors:
//! `levels`, the levels of the quantiles; `probabilities`, for which `CLASS.marginals` has the
//! values of each feature, one feature a row.

use hopflow_random::CdfTable;
use hopflow_sim::spec::Class;

use super::source::name_of;
use crate::ModelError;
use crate::step::{Object, upload};
use crate::tensors::Tensors;

/// The most objects, or uploads, of a step.
const MOST_OBJECTS: f64 = 100_000.0;

/// Features beside the quantiles: objects, first size, uploads, their sum.
const OTHERS: usize = 4;

/// How the features of a class are distributed, each for itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marginals {
    /// Levels of the quantiles of the objects' sizes, from 0 to 1.
    levels: Vec<f64>,
    tables: Vec<CdfTable>,
}

impl Marginals {
    /// Reads the distributions of a class.
    pub(super) fn read(tensors: &Tensors<'_>, class: Class) -> Result<Self, ModelError> {
        let levels: Vec<f64> = tensors.list("levels")?;
        let rising = levels.is_sorted_by(|low, high| low < high);
        if !rising || levels.first() != Some(&0.0) || levels.last() != Some(&1.0) {
            let allowed = "allowed are numbers that rise from 0 to 1";
            return Err(tensors.error(format!("the tensor \"levels\" does not rise; {allowed}")));
        }
        let probabilities: Vec<f64> = tensors.list("probabilities")?;
        let name = format!("{}.marginals", name_of(class));
        let shape = [levels.len() + OTHERS, probabilities.len()];
        let values = tensors.matrix_of::<f64>(&name, shape)?;
        let tables = values.iter_rows().enumerate().map(|(feature, row)| {
            let points = row.iter().copied().zip(probabilities.iter().copied());
            CdfTable::new(points.collect()).map_err(|error| {
                tensors.error(format!("row {feature} of the tensor \"{name}\": {error}"))
            })
        });
        Ok(Self {
            tables: tables.collect::<Result<_, _>>()?,
            levels,
        })
    }

    /// Number of features.
    pub(super) fn len(&self) -> usize {
        self.tables.len()
    }

    /// The step whose features have these probabilities of being at most what they are.
    ///
    /// Quantiles that decrease are sorted.
    pub(super) fn step(&self, probabilities: &[f64]) -> Vec<Object> {
        let features = self.tables.iter().zip(probabilities);
        let features: Vec<f64> = features.map(|(table, p)| table.inverse(*p)).collect();
        let [count, first, quantiles @ .., uploads, uploaded] = &features[..] else {
            unreachable!("there are tables of these features and of two quantiles or more");
        };
        let mut quantiles = quantiles.to_vec();
        quantiles.sort_by(f64::total_cmp);
        let sizes = std::iter::once(*first).chain(self.sizes(whole(*count), &quantiles));
        let mut objects: Vec<_> = sizes.map(|size| Object::of(libm::expm1(size))).collect();
        let uploads = whole(*uploads);
        let share = libm::expm1(*uploaded) / uploads as f64;
        upload(&mut objects, std::iter::repeat_n(share, uploads));
        objects
    }

    /// So many sizes, evenly spread over the distribution with these quantiles.
    fn sizes(&self, count: usize, quantiles: &[f64]) -> impl Iterator<Item = f64> {
        let level = move |number: usize| match count {
            1 => 0.5,
            _ => number as f64 / (count - 1) as f64,
        };
        (0..count).map(move |number| self.interpolate(level(number), quantiles))
    }

    /// The value at a level between those of the quantiles.
    fn interpolate(&self, level: f64, quantiles: &[f64]) -> f64 {
        let above = self.levels.partition_point(|known| *known <= level);
        let above = above.clamp(1, self.levels.len() - 1);
        let (low, high) = (self.levels[above - 1], self.levels[above]);
        let (from, to) = (quantiles[above - 1], quantiles[above]);
        from + (to - from) * ((level - low) / (high - low))
    }
}

/// A count, rounded.
fn whole(count: f64) -> usize {
    count.round_ties_even().clamp(0.0, MOST_OBJECTS) as usize
}
