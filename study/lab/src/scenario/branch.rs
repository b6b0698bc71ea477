//! One warm-up for several variants of what follows.

use std::ops::Range;

use hopflow_overlay::{ConfigError, Factory, NodeEnv};
use hopflow_random::Streams;
use hopflow_sim::Simulated;
use hopflow_units::{Duration, Instant, NodeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::check_name;
use super::limits::{Check, fail};
use super::options::any;
use super::quantity::Text;
use super::{Circuits, InputError, Path, Scenario, allowed, bad_option};

/// One warm-up for several variants of what follows.
///
/// Each transport runs once up to the time at which the variants part. From there on every variant
/// goes on from the same state, and so does the run that nothing changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Branch {
    /// When the variants part; at the end of the warm-up by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Text<Duration>>,
    /// The variants, besides the run that nothing changes.
    pub variants: Vec<Variant>,
}

/// What one variant changes when the variants part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Variant {
    /// The name, of lower-case letters, digits and hyphens; results call the run
    /// `TRANSPORT/NAME`.
    #[schemars(regex(pattern = "^[a-z0-9_][a-z0-9_-]*$"))]
    pub name: String,
    /// Labels of the transports that have this variant; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transports: Option<Vec<String>>,
    /// A seed from which all is drawn anew that is drawn from then on: what users fetch, and what
    /// links lose, repeat and delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Options of the transport that change then; what neighbours have agreed on cannot.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(schema_with = "any")]
    pub options: toml::Table,
    /// Circuits whose users start then: `start` counts from when the variants part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub circuits: Vec<Circuits>,
}

impl Variant {
    /// Whether runs of the transport with this label have the variant.
    pub(crate) fn is_of(&self, label: &str) -> bool {
        let labels = self.transports.as_ref();
        labels.is_none_or(|labels| labels.iter().any(|other| other == label))
    }

    fn circuit_count(&self) -> usize {
        self.circuits.iter().map(|group| group.count as usize).sum()
    }
}

impl Scenario {
    /// The labels of the runs of a seed: each transport, followed by its variants.
    pub fn labels(&self) -> Vec<String> {
        let mut labels = Vec::new();
        for label in self.transports.labels() {
            labels.push(label.to_owned());
            let variants = self.variants().iter();
            let variants = variants.filter(|variant| variant.is_of(label));
            labels.extend(variants.map(|variant| format!("{label}/{}", variant.name)));
        }
        labels
    }

    /// When the variants part, if there are some.
    pub(crate) fn branch_at(&self) -> Option<Duration> {
        let branch = self.branch.as_ref()?;
        Some(branch.at.unwrap_or(self.warm_up).0)
    }

    /// The variants, in order.
    pub(crate) fn variants(&self) -> &[Variant] {
        self.branch.as_ref().map_or(&[], |branch| &branch.variants)
    }

    /// All groups of circuits, with their keys: the scenario's own, then those of the variants.
    pub(super) fn groups(&self) -> impl Iterator<Item = (String, &Circuits)> {
        let own = self.circuits.iter().enumerate();
        let own = own.map(|(number, group)| (format!("circuits[{number}]"), group));
        let variants = self.variants().iter().enumerate();
        own.chain(variants.flat_map(|(variant, of)| {
            let groups = of.circuits.iter().enumerate();
            groups.map(move |(number, group)| {
                (
                    format!("branch.variants[{variant}].circuits[{number}]"),
                    group,
                )
            })
        }))
    }

    /// How many circuits there are without variants.
    pub(crate) fn own_circuits(&self) -> usize {
        self.circuits.iter().map(|group| group.count as usize).sum()
    }

    /// The circuits of a variant, by their numbers in the world that has those of all.
    pub(crate) fn circuits_of(&self, variant: usize) -> Range<usize> {
        let before = self.variants()[..variant].iter();
        let first = self.own_circuits() + before.map(Variant::circuit_count).sum::<usize>();
        first..first + self.variants()[variant].circuit_count()
    }

    /// When the users of a variant start, with the numbers of their circuits.
    pub(crate) fn starts(&self, variant: usize, seed: u64) -> Vec<(u32, Duration)> {
        let (streams, at) = (Streams::new(seed), self.branch_at().unwrap_or_default());
        let groups = self.variants()[variant].circuits.iter();
        let groups = groups.flat_map(|group| (0..group.count).map(move |_| group));
        let start = |(number, group): (usize, &Circuits)| {
            let mut stream = streams.stream("start", number as u64);
            (number as u32, at + group.start.sample(&mut stream))
        };
        self.circuits_of(variant).zip(groups).map(start).collect()
    }

    /// The transport of a label with the options of a variant, if it changes some.
    ///
    /// # Errors
    /// If an option is unknown, a value cannot be used, or running nodes cannot change it.
    pub(crate) fn changed_transport(
        &self,
        label: &str,
        variant: usize,
    ) -> Result<Option<Box<dyn Factory<Simulated>>>, InputError> {
        let options = &self.variants()[variant].options;
        let key = format!("branch.variants[{variant}]");
        let Some(choice) = self.transports.get(label).filter(|_| !options.is_empty()) else {
            return Ok(None);
        };
        if choice.upgrade.is_some() {
            let problem = format!("`{label}` has an `upgrade`: its options cannot change");
            return Err(InputError::at(format!("{key}.options"), problem));
        }
        let preset = choice.preset.as_deref().unwrap_or(label);
        let both = [&choice.options, options].into_iter().flatten();
        let both = both.map(|(key, value)| (key.clone(), value.clone()));
        let both: toml::Table = both.collect();
        let refused = |error: ConfigError| {
            let (key, problem) = bad_option(&key, true, &error);
            InputError::at(key, format!("transport \"{label}\": {problem}"))
        };
        let changed = hopflow_simulated_hosts::build(preset, &both).map_err(refused)?;
        let mut node = self.transport(label)?.node(&anywhere());
        let taken = node.reconfigure(Instant::ZERO, &*changed);
        taken.map_err(refused)?;
        Ok(Some(changed))
    }

    pub(super) fn check_branch(&self) -> Check {
        let Some(branch) = &self.branch else {
            return Ok(());
        };
        let at = self.branch_at().unwrap_or_default();
        if at >= self.duration.0 {
            let problem = format!(
                "\"{at}\" leaves nothing to run; allowed is less than the duration, \"{}\"",
                self.duration.0
            );
            return fail("branch.at", problem);
        }
        if branch.variants.is_empty() {
            return fail(
                "branch.variants",
                "is empty; allowed is one variant or more",
            );
        }
        for (number, variant) in branch.variants.iter().enumerate() {
            let key = format!("branch.variants[{number}]");
            check_name(&format!("{key}.name"), &variant.name)?;
            let mut before = branch.variants[..number].iter();
            if before.any(|other| other.name == variant.name) {
                let problem = format!("the name \"{}\" is taken", variant.name);
                return fail(&format!("{key}.name"), problem);
            }
            self.check_variant(number, &key)?;
        }
        Ok(())
    }

    fn check_variant(&self, number: usize, key: &str) -> Check {
        let variant = &self.variants()[number];
        for label in variant.transports.iter().flatten() {
            if self.transports.get(label).is_none() {
                let labels = self.transports.labels();
                let problem = format!("there is no \"{label}\"; {}", allowed(label, labels));
                return fail(&format!("{key}.transports"), problem);
            }
        }
        for (group, circuits) in variant.circuits.iter().enumerate() {
            if circuits.path == Path::Published {
                let problem = "\"published\" paths are for the scenario's own circuits";
                return fail(&format!("{key}.circuits[{group}].path"), problem);
            }
        }
        for label in self
            .transports
            .labels()
            .filter(|label| variant.is_of(label))
        {
            self.changed_transport(label, number)?;
        }
        Ok(())
    }
}

/// A node of which only the transport matters.
const fn anywhere() -> NodeEnv {
    NodeEnv {
        node: NodeId::new(0),
        bucket: None,
        access: None,
        phase: 0.0,
    }
}
