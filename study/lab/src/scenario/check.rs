//! What a scenario must satisfy beyond its form.

use std::collections::BTreeMap;

use hopflow_traffic::{LiveCircuits, Model};
use hopflow_units::{Bytes, Duration};

use super::check_path::check_path;
use super::limits::{Check, check_count, fail};
use super::network::at_once;
use super::sample::{CLIENT_PREFIX, SERVER_PREFIX};
use super::traffic::TrafficModels;
use super::{
    Access, Bucket, Circuits, Distribution, FaultKind, Faults, Load, Network, Path, Rebuild,
    Record, Relays, Response, Scenario, Shaping, Workload,
};

impl Scenario {
    /// Checks what the form alone does not ensure; a scenario that passes can be sampled.
    ///
    /// # Errors
    /// If a value is outside of what is allowed, or a name is not that of a relay.
    pub fn check(&self) -> Check {
        check_name("name", &self.name)?;
        self.check_times()?;
        self.check_seeds()?;
        if self.transports.is_empty() {
            return fail("transports", "a scenario tests at least one transport");
        }
        for label in self.transports.labels() {
            check_label(&format!("transports.{label}"), label)?;
            self.transport(label)?;
            self.check_upgrade(label)?;
        }
        self.network.check()?;
        self.check_source()?;
        if self.circuits.is_empty() {
            return fail("circuits", "a scenario has at least one circuit");
        }
        let own = self.circuits.len();
        for (number, (key, circuits)) in self.groups().enumerate() {
            circuits.check(&key, self)?;
            circuits.check_effect(&key, &self.faults)?;
            // Those of variants come behind, and count their time from where the variants part.
            let begin = self.branch_at().filter(|_| number >= own);
            circuits.check_start(
                &key,
                self.duration.0.saturating_sub(begin.unwrap_or_default()),
            )?;
        }
        check_count("circuits", self.circuit_count())?;
        self.check_drawn()?;
        self.check_traced()?;
        self.check_faults()?;
        self.check_places()?;
        self.check_branch()
    }

    fn check_upgrade(&self, label: &str) -> Check {
        self.upgrade(label)?;
        let choice = self.transports.get(label);
        let shares = choice.and_then(|choice| Some(choice.upgrade.as_ref()?.shares()));
        for (key, share) in shares.into_iter().flatten() {
            if !(0.0..=1.0).contains(&share) {
                return fail(
                    &format!("transports.{label}.upgrade.{key}"),
                    format!("{share} is outside of what is allowed: 0 to 1"),
                );
            }
        }
        Ok(())
    }

    fn check_times(&self) -> Check {
        if self.duration.0.is_zero() {
            return fail("duration", "is zero; allowed is a time above zero");
        }
        if self.warm_up.0 >= self.duration.0 {
            return fail(
                "warm-up",
                format!(
                    "\"{}\" leaves nothing to evaluate; allowed is less than the duration, \"{}\"",
                    self.warm_up.0, self.duration.0
                ),
            );
        }
        let Record {
            circuits,
            hops,
            queues,
            traces,
            ..
        } = &self.record;
        let intervals = [
            ("record.circuits", Some(*circuits)),
            ("record.hops", *hops),
            ("record.queues", *queues),
            ("record.traces", *traces),
        ];
        let asked = intervals
            .into_iter()
            .filter_map(|(key, interval)| Some((key, interval?)));
        for (key, interval) in asked {
            if interval.0 < Duration::from_millis(1) {
                return fail(
                    key,
                    format!("\"{}\" is too short; allowed is 1 ms or more", interval.0),
                );
            }
        }
        Ok(())
    }

    /// Circuits of variants are not traced: their numbers depend on the variant.
    fn check_traced(&self) -> Check {
        let Record { qlog, packets, .. } = &self.record;
        let last = self.own_circuits() - 1;
        for (key, circuits) in [("record.qlog", qlog), ("record.packets", packets)] {
            let unknown = circuits.iter().find(|circuit| **circuit as usize > last);
            if let Some(circuit) = unknown {
                let allowed = if last == 0 {
                    "0, the only one".to_owned()
                } else {
                    format!("0 to {last}")
                };
                return fail(
                    key,
                    format!("there is no circuit {circuit}; allowed are the numbers {allowed}"),
                );
            }
        }
        Ok(())
    }

    fn check_seeds(&self) -> Check {
        let seeds = self.seeds.list();
        if seeds.is_empty() {
            return fail("seeds", "the list is empty; allowed is one seed or more");
        }
        let mut networks: BTreeMap<u32, u64> = BTreeMap::new();
        for seed in seeds {
            // The number of the seed's network in results has 32 bits.
            let problem = match networks.insert(seed as u32, seed) {
                None => continue,
                Some(other) if other == seed => {
                    "a seed occurs twice in the list; both runs would be the same".to_owned()
                }
                Some(other) => format!(
                    "{other} and {seed} agree in their lower 32 bits, by which results number networks; \
                     allowed are seeds that differ in these"
                ),
            };
            return fail("seeds", problem);
        }
        Ok(())
    }
}

pub(super) fn check_name(key: &str, name: &str) -> Check {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(good) {
        let allowed = "allowed are lower-case letters, digits, - and _";
        return fail(key, format!("\"{name}\" is not a valid name; {allowed}"));
    }
    Ok(())
}

/// Labels of transports may also join a preset and its options by a plus.
fn check_label(key: &str, label: &str) -> Check {
    if label.split('+').any(|part| check_name(key, part).is_err()) {
        let allowed = "allowed are lower-case letters, digits, -, _ and +";
        return fail(key, format!("\"{label}\" is not a valid label; {allowed}"));
    }
    Ok(())
}

impl Network {
    fn check(&self) -> Check {
        self.access.check("network.access")?;
        self.clients.check("network.clients")?;
        self.tcp.check("network.tcp")?;
        if self.relays.is_empty() && self.source.is_none() {
            return fail("network.relays", "a network has at least one relay");
        }
        let mut names = self.made_up_names();
        for (index, relays) in self.relays.iter().enumerate() {
            let key = format!("network.relays[{index}]");
            relays.check(&key, &self.bucket)?;
            let group = relays.count.map(|_| relays.name.clone());
            for name in group.into_iter().chain(relays.members()) {
                if let Some(name) = names.replace(name) {
                    let problem = format!("the name \"{name}\" is taken");
                    return fail(&format!("{key}.name"), problem);
                }
            }
        }
        match self.relays.iter().map(Relays::size).sum() {
            0 => Ok(()),
            count => check_count("network.relays", count),
        }
    }
}

impl Relays {
    fn check(&self, key: &str, default_bucket: &Shaping) -> Check {
        check_name(&format!("{key}.name"), &self.name)?;
        if let Some(count) = self.count {
            check_count(&format!("{key}.count"), u64::from(count))?;
        }
        self.check_prefix(&format!("{key}.name"))?;
        self.access.check(&format!("{key}.access"))?;
        Shaping::or(self.bucket.as_ref(), default_bucket).check(&format!("{key}.bucket"))
    }
}

impl Relays {
    /// Nodes are told to be clients by their names.
    fn check_prefix(&self, key: &str) -> Check {
        let prefixes = [CLIENT_PREFIX, SERVER_PREFIX];
        let is_taken = |name: &String| prefixes.iter().any(|prefix| name.starts_with(prefix));
        match self.members().next().filter(is_taken) {
            Some(name) => fail(
                key,
                format!(
                    "\"{name}\" is a name of nodes that are no relays; allowed are names of relays \
                     that do not begin with {CLIENT_PREFIX} or {SERVER_PREFIX}, and groups that are \
                     not called client or server"
                ),
            ),
            None => Ok(()),
        }
    }
}

impl Shaping {
    fn check(&self, key: &str) -> Check {
        let Self::Bucket(bucket) = self else {
            return Ok(());
        };
        if bucket.rate.is_none() {
            return fail(key, "the key \"rate\" is missing");
        }
        bucket.check_times(key)
    }
}

impl Bucket {
    /// Checks all but the rate.
    pub(super) fn check_times(&self, key: &str) -> Check {
        if self.depth.is_some_and(|depth| depth.0.is_zero()) {
            return fail(
                &format!("{key}.depth"),
                "is zero; nothing would ever be sent",
            );
        }
        if self.refill.is_some_and(|refill| refill.0.is_zero()) {
            return fail(
                &format!("{key}.refill"),
                "is zero; allowed is a time above zero",
            );
        }
        Ok(())
    }
}

impl Access {
    fn check(&self, key: &str) -> Check {
        for (name, probability) in [("loss", self.loss), ("duplicate", self.duplicate)] {
            if let Some(p) = probability.filter(|p| !(0.0..1.0).contains(p)) {
                return fail(
                    &format!("{key}.{name}"),
                    format!("{p} is outside of what is allowed: 0 to below 1"),
                );
            }
        }
        if let Some(stated) = self.stated.filter(|s| !(*s > 0.0 && *s <= 100.0)) {
            return fail(
                &format!("{key}.stated"),
                format!("{stated} is outside of what is allowed: above 0, at most 100"),
            );
        }
        Ok(())
    }
}

impl Circuits {
    fn check(&self, key: &str, scenario: &Scenario) -> Check {
        check_count(&format!("{key}.count"), u64::from(self.count))?;
        self.access.check(&format!("{key}.access"))?;
        self.check_times(key)?;
        let workload = format!("{key}.workload");
        self.workload.check(&workload)?;
        self.workload
            .check_model(&workload, &scenario.loaded.traffic)?;
        let relays = match &self.path {
            Path::Named(names) => check_path(&format!("{key}.path"), names, &scenario.network)?,
            Path::Random(path) => {
                let count = scenario.relay_count();
                if u64::from(path.random) > count {
                    let problem = format!("{} relays of {count} cannot be different", path.random);
                    return fail(&format!("{key}.path.random"), problem);
                }
                path.random as usize
            }
            Path::Tor(path) => {
                scenario.check_tor(&format!("{key}.path.tor"), path.tor)?;
                path.tor as usize
            }
            // Every line of a circuit file has two relays or more.
            Path::Published => 2,
        };
        if relays + usize::from(self.client) < 2 {
            let problem = "is too short; allowed are two nodes or more, the client included";
            return fail(&format!("{key}.path"), problem);
        }
        self.check_legs(key, scenario)
    }
}

impl Circuits {
    /// Refuses keys that change nothing beside the others.
    fn check_effect(&self, key: &str, faults: &[Faults]) -> Check {
        let of_client = [
            ("access", self.access != Access::default()),
            ("at", self.at.is_some()),
        ];
        let of_client = of_client.iter().find(|(_, given)| *given);
        if let (Some((name, _)), false) = (of_client, self.client) {
            let problem = "is for clients, and with `client = false` there are none; leave one of the \
                           two out";
            return fail(&format!("{key}.{name}"), problem);
        }
        let stops = |faults: &Faults| faults.what == FaultKind::Stop;
        if self.rebuild.is_some() && !faults.iter().any(stops) {
            let problem = "is for circuits over relays that stop; needed is one of `[[faults]]` with \
                           `what = \"stop\"`";
            return fail(&format!("{key}.rebuild"), problem);
        }
        Ok(())
    }

    /// Whether somebody starts before `end`.
    fn check_start(&self, key: &str, end: Duration) -> Check {
        if let Some(first) = self.arrivals.as_ref().map(Load::first)
            && first >= end
        {
            let problem = format!(
                "lets nobody arrive before \"{first}\"; allowed is a load above zero before \"{end}\""
            );
            return fail(&format!("{key}.arrivals"), problem);
        }
        if let Some(first) = self.start.as_ref().map(Distribution::smallest)
            && first >= end
        {
            let problem =
                format!("\"{first}\": nobody would start; allowed is less than \"{end}\"");
            return fail(&format!("{key}.start"), problem);
        }
        Ok(())
    }

    fn check_times(&self, key: &str) -> Check {
        if let Some(arrivals) = &self.arrivals {
            arrivals.check(&format!("{key}.arrivals"))?;
            if self.start.as_ref().is_some_and(|start| *start != at_once()) {
                let problem = "conflicts with `arrivals`, which says when users start; remove one of \
                               the two";
                return fail(&format!("{key}.start"), problem);
            }
        }
        if self.workload.uploads() && matches!(self.rebuild, Some(Rebuild::After(_))) {
            let problem = "is for users that download; allowed here is \"never\"";
            return fail(&format!("{key}.rebuild"), problem);
        }
        let stay = self.stay.as_ref();
        if stay.is_some_and(|stay| stay.smallest().is_zero()) {
            return fail(
                &format!("{key}.stay"),
                "may be zero; allowed is a time above zero",
            );
        }
        Ok(())
    }
}

impl Workload {
    fn check(&self, key: &str) -> Check {
        let resolved = self.resolve();
        let (low, high) = resolved.think;
        if low > high {
            return fail(
                &format!("{key}.think"),
                format!("[\"{low}\", \"{high}\"] is decreasing; allowed is [SHORTEST, LONGEST]"),
            );
        }
        if resolved.response.is_some_and(Bytes::is_zero) {
            let problem = "is empty; allowed is an amount above zero, or \"endless\"";
            return fail(&format!("{key}.response"), problem);
        }
        self.check_request(key)?;
        self.check_replay(key)
    }

    /// A recording says what is transferred.
    fn check_replay(&self, key: &str) -> Check {
        let others = [
            ("request", self.request.is_some()),
            ("response", self.response.is_some()),
            ("direction", self.direction.is_some()),
        ];
        match others.into_iter().find(|(_, given)| *given) {
            Some((other, _)) if self.replay.is_some() => fail(
                &format!("{key}.{other}"),
                "conflicts with `replay`, which sets it; remove one of the two",
            ),
            _ => Ok(()),
        }
    }

    fn check_request(&self, key: &str) -> Check {
        let endless = [self.request, self.response].map(|size| size == Some(Response::Endless));
        match (self.request, endless) {
            (Some(Response::Size(size)), _) if size.is_zero() => fail(
                &format!("{key}.request"),
                "is empty; allowed is an amount above zero, or \"endless\" for an upload",
            ),
            (_, [true, _]) if !self.uploads() => fail(
                &format!("{key}.request"),
                "never ends, so there is no response; allowed is an amount of data",
            ),
            (_, [_, true]) if self.uploads() => fail(
                &format!("{key}.response"),
                "never ends, so there is only one upload; allowed is an amount of data",
            ),
            _ => Ok(()),
        }
    }

    /// Checks the keys that belong to a model, and that none is there that it replaces.
    fn check_model(&self, key: &str, models: &TrafficModels) -> Check {
        if self.parallel == Some(0) {
            let key = format!("{key}.parallel");
            return fail(&key, "is 0; allowed are 1 or more objects at once");
        }
        let Some(name) = &self.model else {
            return match self.parallel {
                Some(_) => fail(
                    &format!("{key}.parallel"),
                    "is for pages with objects, which only models have; needed is the key `model`",
                ),
                None => Ok(()),
            };
        };
        if name == LiveCircuits::NAME {
            if self.parallel.is_some() {
                let problem = format!("is for pages with objects; \"{name}\" has streams");
                return fail(&format!("{key}.parallel"), problem);
            }
        } else {
            self.check_class(key, name, &models.get(name))?;
            self.check_parallel(key, name, &models.get(name))?;
        }
        let replaced = [
            ("response", self.response.is_some()),
            ("request", self.request.is_some()),
            ("direction", self.direction.is_some()),
            ("think", self.think.is_some()),
            ("replay", self.replay.is_some()),
        ];
        match replaced.iter().find(|(_, said)| *said) {
            Some((other, _)) => fail(
                &format!("{key}.{other}"),
                format!(
                    "is what the model \"{name}\" draws; allowed beside `model`: class, parallel, \
                     server-delay, server-delay-max"
                ),
            ),
            None => Ok(()),
        }
    }

    fn check_parallel(&self, key: &str, name: &str, model: &Model) -> Check {
        if self.parallel.is_none() || model.has_pages(self.class.into()) {
            return Ok(());
        }
        let problem = format!(
            "is for pages with objects; users of this class of \"{name}\" fetch files, one after \
             another: leave the key out"
        );
        fail(&format!("{key}.parallel"), problem)
    }

    fn check_class(&self, key: &str, name: &str, model: &Model) -> Check {
        if model.has(self.class.into()) {
            return Ok(());
        }
        let classes: Vec<_> = model.classes().collect();
        let problem = format!(
            "the model \"{name}\" has no users of this class; allowed: {}",
            classes.join(", ")
        );
        fail(&format!("{key}.class"), problem)
    }
}
