//! The links between nodes.

use std::collections::BTreeMap;

use hopflow_units::{Duration, LinkId};

use crate::Medium;
use crate::medium::Pipe;

/// A pair of nodes, lower first, with the circuit that owns the link if it is not shared.
pub(super) type Between = (usize, usize, Option<usize>);

/// A link, as its two nodes name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joint {
    pub(super) ends: [LinkId; 2],
    /// How many circuits use it.
    pub(super) circuits: u16,
}

/// All links; each is two pipes, which are made as a pair.
#[derive(Debug)]
pub(super) struct Wires {
    /// What links are like that are made from now on.
    medium: Medium,
    pipes: Vec<Pipe>,
    links: BTreeMap<Between, Joint>,
}

impl Wires {
    pub(super) const fn new() -> Self {
        Self {
            medium: Medium::delay(Duration::from_millis(10)),
            pipes: Vec::new(),
            links: BTreeMap::new(),
        }
    }

    pub(super) const fn set_medium(&mut self, medium: Medium) {
        self.medium = medium;
    }

    pub(super) fn has(&self, between: &Between) -> bool {
        self.links.contains_key(between)
    }

    /// Makes a link of a carrier that is a stream or not; returns the pipes that leave its ends.
    pub(super) fn lay(&mut self, between: Between, ends: [LinkId; 2], stream: bool) -> [usize; 2] {
        let (low, high, _) = between;
        let first = self.pipes.len();
        for to in [(high, ends[1]), (low, ends[0])] {
            self.pipes.push(Pipe::new(self.medium, to, stream));
        }
        self.links.insert(between, Joint { ends, circuits: 0 });
        [first, first + 1]
    }

    /// Counts one more circuit on a link, and returns what the link is then.
    pub(super) fn add_circuit(&mut self, between: &Between) -> Joint {
        let joint = self.links.get_mut(between).expect("the link was made");
        joint.circuits += 1;
        *joint
    }

    pub(super) fn pipe(&self, pipe: usize) -> &Pipe {
        &self.pipes[pipe]
    }

    pub(super) fn pipe_mut(&mut self, pipe: usize) -> &mut Pipe {
        &mut self.pipes[pipe]
    }

    /// The node and its link that feed a pipe.
    pub(super) fn source(&self, pipe: usize) -> (usize, LinkId) {
        self.pipes[pipe ^ 1].to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_from_each_of_its_nodes_to_the_other() {
        let mut wires = Wires::new();
        let between = (2, 5, None);
        let ends = [LinkId::new(0), LinkId::new(3)];
        let [from_low, from_high] = wires.lay(between, ends, false);
        assert!(wires.has(&between) && !wires.has(&(2, 5, Some(1))));
        assert_eq!(wires.pipe(from_low).to, (5, ends[1]));
        assert_eq!(wires.pipe(from_high).to, (2, ends[0]));
        assert_eq!(wires.source(from_low), (2, ends[0]));
        assert_eq!(wires.add_circuit(&between).circuits, 1);
        assert_eq!(wires.add_circuit(&between).circuits, 2);
    }
}
