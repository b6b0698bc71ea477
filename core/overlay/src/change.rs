//! What can change in nodes that run: options of the controls, as far as these say; nothing else.

use crate::layer::HopControl;
use crate::plan::{FeedbackPlan, HopPlan, LinkPlan};
use crate::{ConfigError, Stack};

impl<H: HopControl> Stack<H> {
    /// Whether nodes of this stack can go on with `new` while they run.
    ///
    /// # Errors
    /// Names a layer or an option that cannot change.
    pub fn check_change(&self, new: &Self) -> Result<(), ConfigError> {
        let (old_plan, new_plan) = (self.plan(), new.plan());
        old_plan.link.check_change(&new_plan.link)?;
        ConfigError::if_changed("repair", &old_plan.repair, &new_plan.repair)?;
        H::check_change(&self.hop, &new.hop)?;
        let [old, control] = [&self.end, &new.end].map(|end| end.info().name);
        if control != old {
            return Err(stays("end-to-end", control, old));
        }
        new.end.check_change(&*self.end)?;
        let name = new.path.info().name;
        ConfigError::if_changed(name, &self.path, &new.path)?;
        old_plan.hop.check_change(&new_plan.hop, H::INFO.name)
    }
}

impl LinkPlan {
    /// Whether nodes that run with these links can go on with `new`, which must be the same.
    ///
    /// # Errors
    /// Names an option that differs.
    fn check_change(&self, new: &Self) -> Result<(), ConfigError> {
        let changed = [
            ("carrier", self.carrier != new.carrier),
            ("connections", self.multiplexing != new.multiplexing),
            ("scheduler", self.scheduler != new.scheduler),
            ("charging", self.charging != new.charging),
            ("refill", self.refill != new.refill),
            ("repair", self.excess != new.excess),
        ];
        if let Some((key, _)) = changed.into_iter().find(|(_, changed)| *changed) {
            let problem = "differs, with what belongs to it; nodes that run keep their links";
            return Err(ConfigError::new(key, "", problem));
        }
        let [old, new] = [self, new].map(|link| link.queue_limit.get());
        if old == new {
            return Ok(());
        }
        let allowed = format!(
            "{old}, as neighbours agreed when circuits were opened: give `queue-limit = {old}` where \
             windows get smaller, and a larger one from the start where they get larger"
        );
        Err(ConfigError::new("queue-limit", new, allowed))
    }
}

impl HopPlan {
    /// Whether nodes that run with this plan can go on with `new`: neighbours count on the feedback
    /// and the messages, drivers on their delay.
    ///
    /// # Errors
    /// If they differ, in the name of the control.
    fn check_change(&self, new: &Self, control: &str) -> Result<(), ConfigError> {
        let kept = |plan: &Self| {
            let FeedbackPlan {
                forwarded,
                every,
                padded,
                ..
            } = plan.feedback;
            (forwarded, every, padded, plan.out_of_band, plan.tick)
        };
        ConfigError::if_changed(control, &kept(self), &kept(new))
    }
}

/// Refuses another layer than running nodes have.
pub(crate) fn stays(key: &str, new: &str, old: &str) -> ConfigError {
    let allowed = format!("{old}, for nodes that run keep their layers");
    ConfigError::new(key, new, allowed)
}
