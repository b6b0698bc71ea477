//! Features from a neural net that was trained against a discriminator (Goodfellow et al.,
//! *Generative Adversarial Nets*, NIPS 2014), conditioned on the class of the user (section 7).
//!
//! The description has `order`, the classes in the order of the condition; `noise`, the number of
//! noise inputs; and `layers`. Tensors beside those of [`vector`](super::vector):
//! `layers.N.weight`, inputs by outputs, and `layers.N.bias`.

use std::collections::BTreeMap;

use hopflow_random::Stream;
use hopflow_sim::spec::Class;
use serde::Deserialize;

use super::source::{ClassName, Source, expect_classes};
use super::vector::Marginals;
use crate::ModelError;
use crate::step::Object;
use crate::tensors::{Matrix, Tensors};

/// The most layers of a net.
const MOST_LAYERS: usize = 16;

/// The net's shape, as the description has it.
#[derive(Deserialize)]
pub(super) struct Shape {
    order: Vec<ClassName>,
    noise: usize,
    layers: usize,
}

/// A net, and the distributions of the features of its classes.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    net: Net,
    noise: usize,
    /// Position in the condition, and distributions.
    classes: BTreeMap<Class, (usize, Marginals)>,
}

/// Layers that are rectified, but for the last, which ends in a sigmoid.
#[derive(Clone, Debug)]
struct Net {
    layers: Vec<Layer>,
    inputs: usize,
}

#[derive(Clone, Debug)]
struct Layer {
    /// One row per input.
    weight: Matrix<f32>,
    bias: Vec<f32>,
}

impl Generator {
    pub(super) fn read(
        tensors: &Tensors<'_>,
        shape: &Shape,
        needed: &[Class],
    ) -> Result<Self, ModelError> {
        if !(1..=MOST_LAYERS).contains(&shape.layers) {
            let problem = format!("has {} layers; allowed: 1 to {MOST_LAYERS}", shape.layers);
            return Err(tensors.error(problem));
        }
        let mut classes = BTreeMap::new();
        let mut outputs = 0;
        for (position, name) in shape.order.iter().enumerate() {
            let marginals = Marginals::read(tensors, (*name).into())?;
            outputs = marginals.len();
            classes.insert((*name).into(), (position, marginals));
        }
        expect_classes(tensors, "order", needed, &classes)?;
        let inputs = shape.noise.saturating_add(shape.order.len());
        let net = Net::read(tensors, shape.layers, [inputs, outputs])?;
        Ok(Self {
            net,
            noise: shape.noise,
            classes,
        })
    }
}

impl Source for Generator {
    fn draw(&self, class: Class, random: &mut Stream) -> Vec<Object> {
        let (position, marginals) = &self.classes[&class];
        // Uniform with unit variance, as the authors of adversarial nets drew it.
        let bound = 3.0_f64.sqrt();
        let noise = (0..self.noise).map(|_| ((2.0 * random.unit() - 1.0) * bound) as f32);
        let mut input: Vec<f32> = noise.collect();
        input.resize(self.net.inputs, 0.0);
        input[self.noise + position] = 1.0;
        marginals.step(&self.net.forward(input))
    }
}

impl Net {
    fn read(
        tensors: &Tensors<'_>,
        count: usize,
        [inputs, outputs]: [usize; 2],
    ) -> Result<Self, ModelError> {
        let mut layers = Vec::with_capacity(count);
        let mut width = inputs;
        for number in 0..count {
            let bias: Vec<f32> = tensors.list(&format!("layers.{number}.bias"))?;
            let shape = [width, bias.len()];
            let weight = tensors.matrix_of(&format!("layers.{number}.weight"), shape)?;
            width = bias.len();
            layers.push(Layer { weight, bias });
        }
        if width != outputs {
            let problem = format!("the net has {width} outputs; allowed: {outputs}, the features");
            return Err(tensors.error(problem));
        }
        Ok(Self { layers, inputs })
    }

    /// What the net makes of an input: numbers from 0 to 1.
    fn forward(&self, input: Vec<f32>) -> Vec<f64> {
        let last = self.layers.len() - 1;
        let hidden = self.layers[..last].iter().fold(input, |values, layer| {
            let outputs = layer.apply(&values).into_iter();
            outputs.map(|value| value.max(0.0)).collect()
        });
        let outputs = self.layers[last].apply(&hidden).into_iter();
        outputs
            .map(|value| 1.0 / (1.0 + libm::exp(-f64::from(value))))
            .collect()
    }
}

impl Layer {
    /// The sums are taken in the order of the inputs, which makes them the same everywhere.
    fn apply(&self, input: &[f32]) -> Vec<f32> {
        let mut outputs = self.bias.clone();
        for (value, row) in input.iter().zip(self.weight.iter_rows()) {
            for (output, weight) in outputs.iter_mut().zip(row) {
                *output += value * weight;
            }
        }
        outputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    /// Inputs of the built-in net, and what JAX makes of them.
    #[derive(Deserialize)]
    struct Case {
        input: Vec<f32>,
        output: Vec<f64>,
    }

    #[test]
    fn the_net_computes_what_the_framework_that_trained_it_does() {
        let bytes = Model::builtin("generator").unwrap();
        let (tensors, _) = Tensors::read(bytes, "generator").unwrap();
        let fixture = include_str!("../../tests/fixtures/forward.json");
        let cases: Vec<Case> = serde_json::from_str(fixture).unwrap();
        let shape = [cases[0].input.len(), cases[0].output.len()];
        let net = Net::read(&tensors, 3, shape).unwrap();
        for Case { input, output } in cases {
            let found = net.forward(input);
            assert_eq!(found.len(), output.len());
            for (found, expected) in found.iter().zip(output) {
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    }
}
