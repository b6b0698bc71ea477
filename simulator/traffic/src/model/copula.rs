//! Features with their fitted marginals and rank correlations: a Gaussian copula.
//!
//! Tensors beside those of [`vector`](super::vector): `CLASS.factor`, the lower triangular factor
//! of the correlation matrix of the features' normal scores.

use std::collections::BTreeMap;

use hopflow_random::Stream;
use hopflow_sim::spec::Class;

use super::source::{Source, name_of};
use super::vector::Marginals;
use crate::ModelError;
use crate::step::Object;
use crate::tensors::{Matrix, Tensors};

/// The copulas of classes of users.
#[derive(Clone, Debug)]
pub(super) struct Copula(BTreeMap<Class, OfClass>);

#[derive(Clone, Debug)]
struct OfClass {
    marginals: Marginals,
    factor: Matrix<f64>,
}

impl Copula {
    pub(super) fn read(tensors: &Tensors<'_>, classes: &[Class]) -> Result<Self, ModelError> {
        let of_class = |&class| {
            let marginals = Marginals::read(tensors, class)?;
            let name = format!("{}.factor", name_of(class));
            let factor = tensors.matrix_of(&name, [marginals.len(); 2])?;
            Ok((class, OfClass { marginals, factor }))
        };
        let copulas: Result<_, ModelError> = classes.iter().map(of_class).collect();
        copulas.map(Self)
    }
}

impl Source for Copula {
    fn draw(&self, class: Class, random: &mut Stream) -> Vec<Object> {
        let OfClass { marginals, factor } = &self.0[&class];
        let normal: Vec<f64> = (0..marginals.len()).map(|_| random.normal()).collect();
        let score = |row: &[f64]| row.iter().zip(&normal).fold(0.0, |sum, (a, b)| sum + a * b);
        let unit: Vec<f64> = factor.iter_rows().map(|row| below(score(row))).collect();
        marginals.step(&unit)
    }
}

/// The probability that a normal number is at most this one.
fn below(score: f64) -> f64 {
    0.5 * libm::erfc(-score * std::f64::consts::FRAC_1_SQRT_2)
}
