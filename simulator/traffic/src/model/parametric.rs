//! Independent distributions: lognormal sizes with a Pareto tail.
//!
//! The description has `parameters`, a table for each class. There are no tensors.

use std::collections::BTreeMap;

use hopflow_random::Stream;
use hopflow_sim::spec::Class;
use serde::Deserialize;

use super::source::{ClassName, Source, expect_classes, name_of};
use crate::ModelError;
use crate::step::{Object, upload};
use crate::tensors::Tensors;

/// The most objects of a step.
const MOST_OBJECTS: u64 = 100_000;

/// The most uploads of a step on average.
const MOST_UPLOADS: f64 = 100.0;

/// The largest logarithm of a size, its mean or its deviation.
const LARGEST_LOG: f64 = 30.0;

/// The description of the distributions.
#[derive(Deserialize)]
pub(super) struct Parameters {
    parameters: BTreeMap<ClassName, OfClass>,
}

/// The distributions of classes of users.
#[derive(Clone, Debug)]
pub(super) struct Parametric(BTreeMap<Class, OfClass>);

/// `log(1 + value)` has a normal distribution.
#[derive(Clone, Copy, Debug, Deserialize)]
struct LogNormal {
    mu: f64,
    sigma: f64,
}

#[derive(Clone, Debug, Deserialize)]
struct OfClass {
    /// Number of objects, and its least and largest value.
    count: LogNormal,
    count_range: [u64; 2],
    first: LogNormal,
    /// Sizes of objects up to where the tail begins, in bytes.
    object: LogNormal,
    tail_from: f64,
    /// The share of objects in the tail, and the tail's exponent.
    tail_share: f64,
    tail_exponent: f64,
    /// The largest size.
    largest: f64,
    /// Mean number of uploads, and their sizes.
    uploads: f64,
    upload: LogNormal,
}

impl Parametric {
    pub(super) fn new(
        parameters: Parameters,
        tensors: &Tensors<'_>,
        needed: &[Class],
    ) -> Result<Self, ModelError> {
        for (name, of_class) in &parameters.parameters {
            of_class.check().map_err(|(key, allowed)| {
                let class = name_of((*name).into());
                tensors.error(format!(
                    "parameters.{class}.{key} is wrong; allowed: {allowed}"
                ))
            })?;
        }
        let classes = parameters.parameters.into_iter();
        let parameters = classes.map(|(name, it)| (name.into(), it)).collect();
        expect_classes(tensors, "parameters", needed, &parameters)?;
        Ok(Self(parameters))
    }
}

impl Source for Parametric {
    fn draw(&self, class: Class, random: &mut Stream) -> Vec<Object> {
        self.0[&class].draw(random)
    }
}

impl OfClass {
    /// The key of a wrong parameter, and what is allowed for it.
    fn check(&self) -> Result<(), (&'static str, String)> {
        let [least, most] = self.count_range;
        let logs = format!("mu and sigma from 0 to {LARGEST_LOG}");
        let log_normal = |it: LogNormal| {
            [it.mu, it.sigma]
                .iter()
                .all(|x| (0.0..=LARGEST_LOG).contains(x))
        };
        let checks = [
            ("count", log_normal(self.count), logs.clone()),
            (
                "count_range",
                least <= most && most <= MOST_OBJECTS,
                format!("[LEAST, MOST] from 0 to {MOST_OBJECTS}"),
            ),
            ("first", log_normal(self.first), logs.clone()),
            ("object", log_normal(self.object), logs.clone()),
            ("tail_from", self.tail_from >= 1.0, "1 or more".to_owned()),
            (
                "tail_share",
                (0.0..=1.0).contains(&self.tail_share),
                "0 to 1".to_owned(),
            ),
            (
                "tail_exponent",
                self.tail_exponent > 0.0,
                "above 0".to_owned(),
            ),
            ("largest", self.largest >= 1.0, "1 or more".to_owned()),
            (
                "uploads",
                (0.0..=MOST_UPLOADS).contains(&self.uploads),
                format!("0 to {MOST_UPLOADS}"),
            ),
            ("upload", log_normal(self.upload), logs),
        ];
        let wrong = checks.into_iter().find(|(_, right, _)| !right);
        wrong.map_or(Ok(()), |(key, _, allowed)| Err((key, allowed)))
    }

    fn draw(&self, random: &mut Stream) -> Vec<Object> {
        let [least, most] = self.count_range.map(|count| count as f64);
        let count = self.count.draw(random).round_ties_even().clamp(least, most);
        let first = self.first.draw(random).min(self.largest);
        let mut objects = vec![Object::of(first)];
        objects.extend((0..count as usize).map(|_| Object::of(self.object(random))));
        let uploads = poisson(self.uploads, random);
        let sizes: Vec<f64> = (0..uploads).map(|_| self.upload.draw(random)).collect();
        upload(
            &mut objects,
            sizes.into_iter().map(|size| size.min(self.largest)),
        );
        objects
    }

    /// The size of an object.
    fn object(&self, random: &mut Stream) -> f64 {
        if random.bernoulli(self.tail_share) {
            let survival = 1.0 - random.unit();
            let size = self.tail_from * libm::pow(survival, -1.0 / self.tail_exponent);
            size.min(self.largest)
        } else {
            self.object.draw(random).min(self.tail_from)
        }
    }
}

impl LogNormal {
    fn draw(self, random: &mut Stream) -> f64 {
        libm::expm1(self.mu + self.sigma * random.normal())
    }
}

/// A number with Poisson's distribution.
///
/// Knuth, *The Art of Computer Programming*, volume 2, section 3.4.1, algorithm Q: events of a
/// process until its time is up.
fn poisson(mean: f64, random: &mut Stream) -> usize {
    let limit = libm::exp(-mean);
    let mut product = random.unit();
    let mut count = 0;
    while product > limit {
        product *= random.unit();
        count += 1;
    }
    count
}
