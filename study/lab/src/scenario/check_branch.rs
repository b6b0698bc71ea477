//! What variants must satisfy beyond their form.

use super::check::check_name;
use super::limits::{Check, fail};
use super::{Path, Scenario, allowed};

impl Scenario {
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
            if circuits.stay.is_some() {
                let problem = "users of variants stay to the end; allowed is this key for the \
                               scenario's own circuits";
                return fail(&format!("{key}.circuits[{group}].stay"), problem);
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
