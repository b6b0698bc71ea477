//! The runs of variants, and what they change.

use std::ops::Range;

use hopflow_overlay::{ConfigError, Factory, NodeEnv};
use hopflow_random::Streams;
use hopflow_sim::Simulated;
use hopflow_units::{Duration, Instant, NodeId};

use super::{Circuits, InputError, Scenario, Variant, bad_option};

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
        let own = own.map(|(number, group)| (group_key(None, number), group));
        let variants = self.variants().iter().enumerate();
        own.chain(variants.flat_map(|(variant, of)| {
            let groups = of.circuits.iter().enumerate();
            groups.map(move |(number, group)| (group_key(Some(variant), number), group))
        }))
    }

    /// The groups to be changed: each with the number of its variant, if it is of one, and its key.
    pub(super) fn groups_mut(
        &mut self,
    ) -> impl Iterator<Item = (Option<usize>, String, &mut Circuits)> {
        let own = self.circuits.iter_mut().enumerate();
        let own = own.map(|(number, group)| (None, group_key(None, number), group));
        let variants = self
            .branch
            .iter_mut()
            .flat_map(|branch| &mut branch.variants);
        own.chain(variants.enumerate().flat_map(|(variant, of)| {
            let groups = of.circuits.iter_mut().enumerate();
            groups.map(move |(number, group)| {
                let variant = Some(variant);
                (variant, group_key(variant, number), group)
            })
        }))
    }

    /// Number of circuits, those of variants included.
    pub fn circuit_count(&self) -> u64 {
        let counts = self.groups().map(|(_, group)| u64::from(group.count));
        counts.sum()
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
            let (start, _) = group.times(streams, number as u64);
            (number as u32, at + start)
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
}

/// The key of a group of circuits: of a variant, or of the scenario itself.
fn group_key(variant: Option<usize>, number: usize) -> String {
    match variant {
        None => format!("circuits[{number}]"),
        Some(variant) => format!("branch.variants[{variant}].circuits[{number}]"),
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
