//! Where the nodes of a world are, by name.

use hopflow_random::Streams;
use hopflow_sim::spec::WorldSpec;

use super::place::CONTINENTS;
use super::{Dumbbell, Relays, Scenario, Topology};

impl Scenario {
    /// Where each node of a world of this scenario is: the code of the continent that the source of
    /// relays tells and the topology goes by, or else the name of its router; empty where nothing says so.
    pub(crate) fn regions(&self, world: &WorldSpec) -> Vec<String> {
        let nodes = 0..world.nodes.len();
        let mut regions: Vec<String> = nodes
            .map(|node| self.router_name(world.backbone.router(node) as usize))
            .collect();
        if let Topology::Dumbbell(Dumbbell {
            as_published: true, ..
        }) = &self.network.topology
        {
            // Relays are where they draw, whatever the source tells.
            return regions;
        }
        // The relays of the source follow those that the scenario lists, in the source's order.
        let listed: u64 = self.network.relays.iter().map(Relays::size).sum();
        if let Some(population) = self.population(Streams::new(world.seed)) {
            let of_source = regions.iter_mut().skip(listed as usize);
            for (region, of) in of_source.zip(&population.relays) {
                of.relay.continent.code().clone_into(region);
            }
        }
        regions
    }

    fn router_name(&self, router: usize) -> String {
        match (&self.network.topology, &self.loaded.graph) {
            (Topology::Dumbbell(_), _) => CONTINENTS[router].to_owned(),
            (Topology::Tree(_) | Topology::Graph(_), Some(graph)) => graph.routers[router].clone(),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(network: &str) -> Vec<(String, String)> {
        let text = format!(
            "name = \"where\"\nduration = \"10 s\"\nseeds = 1\n[transports.vanilla]\n{network}\n\
             [[circuits]]\npath = {{ random = 3 }}\nworkload = \"bulk\"\n"
        );
        let scenario = Scenario::parse(&text, "where.toml").unwrap();
        let world = scenario.sample(3);
        let regions = scenario.regions(&world);
        let names = world.nodes.into_iter().map(|node| node.name);
        names.zip(regions).collect()
    }

    #[test]
    fn relays_of_a_population_are_on_their_continents_and_others_nowhere() {
        let found = regions(
            "[network]\nsource = { population = { relays = 20 } }\n\
             access = { rate = \"1 Gbit/s\", delay = \"5 ms\" }\n\
             [[network.relays]]\nname = \"mine\"\n",
        );
        let codes = ["AF", "AS", "EU", "NA", "OC", "SA"];
        assert_eq!(found[0], ("mine".to_owned(), String::new()));
        let of_source = &found[1..21];
        let known = of_source.iter().all(|(_, at)| codes.contains(&at.as_str()));
        assert!(known, "{of_source:?}");
        assert_eq!(found[21].1, "", "a client");
    }

    #[test]
    fn relays_whose_continents_are_drawn_are_where_they_draw() {
        let network = "[network]\nsource = { population = { relays = 20 } }\n\
                       topology = { dumbbell = { as-published = true } }\n";
        let found = regions(network);
        assert_eq!(found.len(), 21);
        let at_routers = found
            .iter()
            .all(|(_, at)| CONTINENTS.contains(&at.as_str()));
        assert!(at_routers, "{found:?}");
    }

    #[test]
    fn nodes_of_a_dumbbell_are_at_its_routers() {
        let found = regions(
            "[network]\ntopology = { dumbbell = {} }\naccess = { rate = \"1 Gbit/s\" }\n\
             [[network.relays]]\nname = \"relay\"\ncount = 4\nat = \"europe\"\n",
        );
        assert!(found[..4].iter().all(|(_, at)| at == "europe"), "{found:?}");
        assert!(CONTINENTS.contains(&found[4].1.as_str()), "{found:?}");
    }
}
