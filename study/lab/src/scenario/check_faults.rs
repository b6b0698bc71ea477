//! What faults must satisfy.

use hopflow_units::Duration;

use super::faults::{FaultKind, Faults};
use super::limits::{Check, fail};
use super::quantity::Text;
use super::{InputError, Scenario, allowed};

/// The shortest mean time to a fault, and to its repair.
const SHORTEST_MEAN: Duration = Duration::from_millis(1);

impl Scenario {
    pub(super) fn check_faults(&self) -> Check {
        for (index, faults) in self.faults.iter().enumerate() {
            let key = format!("faults[{index}]");
            faults.check(&key, self.duration.0)?;
            self.check_meant(&key, faults)?;
        }
        Ok(())
    }

    /// Checks that each name is that of a relay, of a group, or of some relays' beginning.
    fn check_meant(&self, key: &str, faults: &Faults) -> Check {
        let known = self.relay_names();
        let groups = self.network.relays.iter().map(|group| &group.name);
        let names: Vec<&String> = groups.chain(&known).collect();
        for (place, name) in faults.relays.iter().enumerate() {
            let is_meant = |known: &str| match name.strip_suffix('*') {
                Some(beginning) => known.starts_with(beginning),
                None => known == name,
            };
            if !names.iter().any(|known| is_meant(known)) {
                // Groups come first; the names of all relays would be too many.
                let some = names.iter().map(|name| name.as_str());
                let few = match self.network.relays.len() {
                    0 => 5,
                    groups => groups,
                };
                let some = some.take(few);
                let problem = format!(
                    "there is no relay \"{name}\"; {}, relays of these groups, or the beginning of \
                     names with a * behind",
                    allowed(name.trim_end_matches('*'), some)
                );
                return Err(InputError::at(format!("{key}.relays[{place}]"), problem));
            }
        }
        Ok(())
    }

    /// The names of all relays that any network of the scenario has.
    fn relay_names(&self) -> Vec<String> {
        let listed = self.network.relays.iter().flat_map(super::Relays::members);
        let read = self.loaded.relays.iter().flat_map(|all| &all.relays);
        let read = read.map(|relay| relay.relay.name.clone());
        listed
            .chain(read)
            .chain(self.network.made_up_names())
            .collect()
    }
}

impl Faults {
    fn check(&self, key: &str, duration: Duration) -> Check {
        if let Some(share) = self.share.filter(|share| !(0.0..=1.0).contains(share)) {
            let problem = format!("{share} is outside of what is allowed: 0 to 1");
            return fail(&format!("{key}.share"), problem);
        }
        if let FaultKind::Rate(Text(rate)) | FaultKind::Bucket(Text(rate)) = self.what
            && rate.bytes_per_sec() == 0
        {
            return fail(
                &format!("{key}.what"),
                "is a rate of zero; allowed is one above it, or \"outage\"",
            );
        }
        if self.detected.is_some() && self.what != FaultKind::Stop {
            return fail(
                &format!("{key}.detected"),
                "belongs to `what = \"stop\"`; nobody closes a circuit for other faults",
            );
        }
        match (&self.at, self.mttf, self.mttr) {
            (Some(at), None, None) => self.check_once(key, at.smallest(), duration),
            (None, Some(mttf), Some(mttr)) => self.check_means(key, mttf.0, mttr.0),
            _ => fail(
                key,
                "needs either `at`, when it happens once, or `mttf` and `mttr`, the mean times to a \
                 fault and to its repair",
            ),
        }
    }

    fn check_once(&self, key: &str, at: Duration, duration: Duration) -> Check {
        if at >= duration {
            let problem = format!(
                "\"{at}\" is not before the end; allowed is less than the duration, \"{duration}\""
            );
            return fail(&format!("{key}.at"), problem);
        }
        if self
            .lasts
            .as_ref()
            .is_some_and(|lasts| lasts.smallest().is_zero())
        {
            return fail(
                &format!("{key}.for"),
                "may be zero; allowed is a time above zero",
            );
        }
        Ok(())
    }

    fn check_means(&self, key: &str, mttf: Duration, mttr: Duration) -> Check {
        if self.lasts.is_some() {
            return fail(
                &format!("{key}.for"),
                "belongs to `at`; with `mttf`, `mttr` says how long faults last",
            );
        }
        for (name, mean) in [("mttf", mttf), ("mttr", mttr)] {
            if mean < SHORTEST_MEAN {
                let problem = format!("\"{mean}\" is too short; allowed is 1 ms or more");
                return fail(&format!("{key}.{name}"), problem);
            }
        }
        Ok(())
    }
}
