//! Models, of whatever kind.

mod copula;
mod empirical;
mod generator;
mod markov;
mod parametric;
mod source;
mod vector;

use std::collections::BTreeMap;

use hopflow_random::Stream;
use hopflow_sim::spec::Class;
use hopflow_units::Duration;
use serde::Deserialize;

use crate::ModelError;
use crate::step::Step;
use crate::tensors::Tensors;
use source::{ClassName, Source, name_of};

/// The version of the description that is understood.
const VERSION: u32 = 1;

/// The longest pause of a user: a day.
const LONGEST_THINK: f64 = 86_400.0;

/// The models that are part of the program, by name.
const BUILTIN: &[(&str, &[u8])] = &[
    ("copula", include_bytes!("../models/copula.safetensors")),
    (
        "generator",
        include_bytes!("../models/generator.safetensors"),
    ),
    (
        "parametric",
        include_bytes!("../models/parametric.safetensors"),
    ),
];

/// What users do, learned from traffic.
#[derive(Debug)]
pub struct Model {
    manners: BTreeMap<Class, Manners>,
    source: Box<dyn Source>,
}

/// How users of a class go about it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Manners {
    pub(crate) play: Play,
    /// Seconds of pause, each as likely.
    think: Vec<f64>,
}

/// What is one download.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Play {
    /// All objects of a step.
    Page,
    /// Each object.
    Files,
}

/// The description of a model, beside its tensors.
#[derive(Deserialize)]
struct Description {
    version: u32,
    classes: BTreeMap<ClassName, Manners>,
    #[serde(flatten)]
    kind: Kind,
}

/// What is special about a kind of models.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Kind {
    Copula,
    Empirical,
    Generator(generator::Shape),
    Markov(markov::Symbols),
    Parametric(parametric::Parameters),
}

impl Model {
    /// The names of the models that are part of the program.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// The file of the model of this name that is part of the program.
    pub fn builtin(name: &str) -> Option<&'static [u8]> {
        let found = BUILTIN.iter().find(|(builtin, _)| *builtin == name)?;
        Some(found.1)
    }

    /// Reads a model from the content of a file, which errors call `file`.
    ///
    /// # Errors
    /// If it is no model, or one that does not make sense.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, ModelError> {
        let (tensors, text) = Tensors::read(bytes, file)?;
        let description: Description = serde_json::from_str(&text)
            .map_err(|error| tensors.error(format!("the description is wrong: {error}")))?;
        if description.version != VERSION {
            let problem = format!("has version {}; allowed: {VERSION}", description.version);
            return Err(tensors.error(problem));
        }
        let manners: BTreeMap<Class, Manners> = description
            .classes
            .into_iter()
            .map(|(name, manners)| (name.into(), manners))
            .collect();
        for manners in manners.values() {
            manners.check(&tensors)?;
        }
        let classes: Vec<Class> = manners.keys().copied().collect();
        let source = description.kind.read(&tensors, &classes)?;
        Ok(Self { manners, source })
    }

    /// The classes that the model has users of, as scenarios call them.
    pub fn classes(&self) -> impl Iterator<Item = &'static str> {
        self.manners.keys().map(|class| name_of(*class))
    }

    /// Whether the model has users of this class.
    pub fn has(&self, class: Class) -> bool {
        self.manners.contains_key(&class)
    }

    /// Whether users of this class visit pages with objects; others fetch files, one after another.
    ///
    /// # Panics
    /// If the model has no users of the class.
    pub fn has_pages(&self, class: Class) -> bool {
        self.manners(class).play == Play::Page
    }

    /// Draws what a user of the class does next.
    ///
    /// # Panics
    /// If the model has no users of the class.
    pub fn step(&self, class: Class, random: &mut Stream) -> Step {
        let objects = self.source.draw(class, random);
        let think = self.manners(class).pause(random);
        Step { objects, think }
    }

    pub(crate) fn manners(&self, class: Class) -> &Manners {
        let manners = self.manners.get(&class);
        manners.expect("only users of classes that the model has are made")
    }
}

impl Manners {
    fn check(&self, tensors: &Tensors<'_>) -> Result<(), ModelError> {
        let allowed = 0.0..=LONGEST_THINK;
        let wrong = self.think.iter().find(|pause| !allowed.contains(pause));
        let problem = match wrong {
            Some(pause) => format!("a user thinks for {pause} s"),
            None if self.think.is_empty() => "users have no pauses".to_owned(),
            None => return Ok(()),
        };
        Err(tensors.error(format!(
            "{problem}; allowed are pauses of 0 to {LONGEST_THINK} s"
        )))
    }

    fn pause(&self, random: &mut Stream) -> Duration {
        let chosen = random.integer(0, self.think.len() as u64 - 1) as usize;
        Duration::from_nanos((self.think[chosen] * 1e9) as u64)
    }
}

impl Kind {
    fn read(self, tensors: &Tensors<'_>, classes: &[Class]) -> Result<Box<dyn Source>, ModelError> {
        Ok(match self {
            Self::Copula => Box::new(copula::Copula::read(tensors, classes)?),
            Self::Empirical => Box::new(empirical::Empirical::read(tensors, classes)?),
            Self::Generator(shape) => {
                Box::new(generator::Generator::read(tensors, &shape, classes)?)
            }
            Self::Markov(symbols) => Box::new(markov::Markov::read(tensors, &symbols)?),
            Self::Parametric(parameters) => {
                Box::new(parametric::Parametric::new(parameters, tensors, classes)?)
            }
        })
    }
}
