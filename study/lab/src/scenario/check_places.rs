//! What must hold between a scenario's nodes and circuits and the topology and files it names.

use super::limits::{Check, check_count, fail};
use super::place::CONTINENTS;
use super::{Access, InputError, Path, Scenario, Topology, allowed};

impl Scenario {
    pub(super) fn check_places(&self) -> Check {
        let relays = self.network.relays.iter().enumerate();
        for (index, relays) in relays {
            let key = format!("network.relays[{index}]");
            self.check_at(&key, relays.at.as_deref())?;
            self.check_delay(&format!("{key}.access"), &relays.access)?;
        }
        for (key, circuits) in self.groups() {
            self.check_at(&key, circuits.at.as_deref())?;
            self.check_delay(&format!("{key}.access"), &circuits.access)?;
        }
        self.check_delay("network.access", &self.network.access)?;
        self.check_delay("network.clients", &self.network.clients)?;
        if let Topology::Tree(tree) = &self.network.topology {
            let key = "network.topology.tree.branches";
            if tree.branches.is_empty() {
                return fail(key, "is empty; allowed is one number or more");
            }
            let routers = |levels: &[u32]| levels.iter().map(|n| u64::from(*n)).product();
            for depth in 1..=tree.branches.len() {
                check_count(key, routers(&tree.branches[..depth]))?;
            }
        }
        self.check_cross()?;
        self.check_published()
    }

    /// Checks that `at` names a router of the topology.
    fn check_at(&self, key: &str, at: Option<&str>) -> Check {
        let Some(at) = at else { return Ok(()) };
        let key = format!("{key}.at");
        let unknown = |names: &mut dyn Iterator<Item = &str>| {
            let problem = format!("there is no router \"{at}\"; {}", allowed(at, names));
            Err(InputError::at(key.clone(), problem))
        };
        match (&self.network.topology, &self.loaded.graph) {
            (Topology::Star, _) => fail(&key, "a star has one router; leave the key out"),
            (Topology::Dumbbell(_), _) if CONTINENTS.contains(&at) => Ok(()),
            (Topology::Dumbbell(_), _) => unknown(&mut CONTINENTS.into_iter()),
            (_, Some(graph)) if graph.matching(at).next().is_none() => {
                unknown(&mut graph.routers.iter().take(40).map(String::as_str))
            }
            _ => Ok(()),
        }
    }

    /// In a dumbbell, where a node is decides the delay of its access link, the one at `key`.
    fn check_delay(&self, key: &str, access: &Access) -> Check {
        let is_dumbbell = matches!(self.network.topology, Topology::Dumbbell(_));
        if is_dumbbell && access.delay.is_some() {
            let problem = "a dumbbell sets the delays of access links; leave the key out, or \
                           set network.topology.dumbbell";
            return fail(&format!("{key}.delay"), problem);
        }
        Ok(())
    }

    fn check_cross(&self) -> Check {
        for (index, cross) in self.network.cross.iter().enumerate() {
            let key = format!("network.cross[{index}]");
            check_count(&format!("{key}.count"), u64::from(cross.count))?;
            self.check_delay(&format!("{key}.access"), &cross.access)?;
            let relays = &self.network.relays;
            let group = relays.iter().find(|relays| relays.name == cross.to);
            if let Some(group) = group.filter(|group| group.size() > 1) {
                let (to, size) = (&cross.to, group.size());
                let problem = format!(
                    "\"{to}\" is a group of {size} relays; allowed is one of them: {to}-1 to {to}-{size}"
                );
                return fail(&format!("{key}.to"), problem);
            }
            if !relays.iter().any(|relays| relays.holds(&cross.to)) {
                let names = relays.iter().map(|relays| relays.name.as_str());
                let problem = format!(
                    "there is no relay \"{}\"; {}",
                    cross.to,
                    allowed(&cross.to, names)
                );
                return fail(&format!("{key}.to"), problem);
            }
        }
        Ok(())
    }

    /// Checks that the circuit file has lines for all circuits that take one.
    fn check_published(&self) -> Check {
        let mut wanted = 0;
        for (index, group) in self.circuits.iter().enumerate() {
            if group.path != Path::Published {
                continue;
            }
            let key = format!("circuits[{index}]");
            let Some(file) = &self.loaded.circuits else {
                let problem = "\"published\" needs a file: network.source = { circuits = FILE }";
                return fail(&format!("{key}.path"), problem);
            };
            wanted += group.count as usize;
            if wanted > file.paths.len() {
                let problem = format!(
                    "{wanted} circuits are asked for; the file has {}",
                    file.paths.len()
                );
                return fail(&format!("{key}.count"), problem);
            }
        }
        Ok(())
    }
}
