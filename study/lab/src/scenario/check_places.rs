//! What must hold between a scenario's nodes and circuits and the topology and files it names.

use hopflow_sim::spec::MOST_ROUTERS;

use super::limits::{Check, check_count, fail};
use super::place::CONTINENTS;
use super::topology::Graph;
use super::{Access, InputError, Path, Scenario, Topology, Tree, allowed};

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
        if let (Topology::Graph(_), Some(graph)) = (&self.network.topology, &self.loaded.graph) {
            graph.check("network.topology.graph")?;
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

impl Tree {
    /// Checks the numbers of routers, before these are made.
    pub(super) fn check(&self) -> Check {
        let key = "network.topology.tree.branches";
        if self.branches.is_empty() {
            return fail(key, "is empty; allowed is one number or more");
        }
        let (mut level, mut routers) = (1, 1);
        for branches in &self.branches {
            if *branches == 0 {
                return fail(key, "0 is outside of what is allowed: 1 or more");
            }
            level *= u64::from(*branches);
            routers += level;
            check_routers(key, routers)?;
        }
        Ok(())
    }
}

impl Graph {
    fn check(&self, key: &str) -> Check {
        check_routers(key, self.routers.len() as u64)?;
        let mut reached = vec![false; self.routers.len()];
        let mut left = vec![0];
        while let Some(from) = left.pop() {
            if std::mem::replace(&mut reached[from], true) {
                continue;
            }
            let ends = self.links.iter().map(|link| link.between);
            let ends = ends.filter(|ends| ends.contains(&from));
            left.extend(ends.flatten().filter(|end| !reached[*end]));
        }
        match reached.iter().position(|reached| !reached) {
            Some(router) => fail(
                key,
                format!(
                    "no links lead from the router \"{}\" to \"{}\"; allowed are graphs whose \
                     routers can all be reached from the first",
                    self.routers[0], self.routers[router]
                ),
            ),
            None => Ok(()),
        }
    }
}

fn check_routers(key: &str, routers: u64) -> Check {
    if routers > MOST_ROUTERS as u64 {
        let problem =
            format!("there are {routers} routers or more; allowed are 1 to {MOST_ROUTERS}");
        return fail(key, problem);
    }
    Ok(())
}
