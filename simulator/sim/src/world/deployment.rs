//! Several transports in one world: which of them each circuit has.

use hopflow_overlay::Factory;

use crate::payload::Simulated;
use crate::spec::{SpecError, WorldSpec};

/// Which transport each circuit has.
#[derive(Clone, Debug)]
pub struct Deployment<'a> {
    transports: Vec<&'a dyn Factory<Simulated>>,
    /// The transport of each circuit, by its position.
    of_circuit: Vec<u32>,
}

impl<'a> Deployment<'a> {
    /// All circuits have one transport.
    pub fn uniform(transport: &'a dyn Factory<Simulated>, spec: &WorldSpec) -> Self {
        Self {
            transports: vec![transport],
            of_circuit: vec![0; spec.circuits.len()],
        }
    }

    /// Circuits whose number `upgraded` holds for have the second transport, all others the first.
    ///
    /// A transport that no circuit has runs nowhere: with all circuits alike the world is that of
    /// the one transport.
    pub fn mixed(
        [old, new]: [&'a dyn Factory<Simulated>; 2],
        spec: &WorldSpec,
        upgraded: impl Fn(usize) -> bool,
    ) -> Self {
        let of_circuit: Vec<_> = (0..spec.circuits.len())
            .map(|circuit| u32::from(upgraded(circuit)))
            .collect();
        let alike = of_circuit.windows(2).all(|pair| pair[0] == pair[1]);
        match of_circuit.first() {
            Some(1) if alike => Self::uniform(new, spec),
            _ if alike => Self::uniform(old, spec),
            _ => Self {
                transports: vec![old, new],
                of_circuit,
            },
        }
    }

    pub(crate) fn transports(&self) -> &[&'a dyn Factory<Simulated>] {
        &self.transports
    }

    /// The transport of a circuit.
    pub(crate) fn of(&self, circuit: usize) -> usize {
        self.of_circuit[circuit] as usize
    }

    pub(crate) fn check(&self, spec: &WorldSpec) -> Result<(), SpecError> {
        if self.of_circuit.len() == spec.circuits.len() {
            return Ok(());
        }
        let (known, circuits) = (self.of_circuit.len(), spec.circuits.len());
        Err(SpecError(format!(
            "the transports of {known} circuits are known; there are {circuits}"
        )))
    }

    /// How many circuits of each transport lead over each node.
    pub(crate) fn circuits_at(&self, spec: &WorldSpec) -> Vec<Vec<u64>> {
        let mut counts = vec![vec![0; self.transports.len()]; spec.nodes.len()];
        for (number, circuit) in spec.circuits.iter().enumerate() {
            for node in circuit.all_paths().flatten() {
                counts[node.index()][self.of(number)] += 1;
            }
        }
        counts
    }
}
