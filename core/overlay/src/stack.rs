//! A transport as a stack of layers.

use std::sync::Arc;

use crate::layer::{EndControl, Features, HopControl, Info, PathChoice};
use crate::plan::{LinkPlan, Plan, Repair, Tick};

/// A transport: a choice at every layer.
#[derive(Debug)]
pub struct Stack<H: HopControl> {
    /// Control on hops.
    pub hop: H::Config,
    /// Control from end to end.
    pub end: Arc<dyn EndControl>,
    /// The choice among circuits.
    pub path: Arc<dyn PathChoice>,
    plan: Arc<Plan>,
}

impl<H: HopControl> Clone for Stack<H> {
    fn clone(&self) -> Self {
        Self {
            hop: self.hop.clone(),
            end: Arc::clone(&self.end),
            path: Arc::clone(&self.path),
            plan: Arc::clone(&self.plan),
        }
    }
}

impl<H: HopControl> Stack<H> {
    /// Layers that were chosen together.
    pub fn new(
        (link, repair): (LinkPlan, Repair),
        hop: H::Config,
        end: Arc<dyn EndControl>,
        path: Arc<dyn PathChoice>,
    ) -> Self {
        let (hop_plan, mut end_plan) = (H::plan(&hop), end.plan());
        if let Some(ahead) = hop_plan.source_queue {
            end_plan.source_high_water = ahead;
        }
        let plan = Plan {
            link,
            repair,
            hop: hop_plan,
            end: end_plan,
            path: path.plan(),
        };
        Self {
            hop,
            end,
            path,
            plan: Arc::new(plan),
        }
    }

    /// What the layers need of the node.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The same, for nodes, which all read one copy of it.
    pub(crate) fn shared_plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan)
    }

    /// What the layers say of themselves, from the link up.
    pub fn infos(&self) -> [Info; 7] {
        let [carrier, multiplexing, scheduler] = self.plan.link.infos();
        let repair = self.plan.repair.info();
        let end = *self.end.info();
        let hop = ticking(H::INFO, self.plan.hop.tick);
        let path = ticking(*self.path.info(), self.plan.path.tick);
        [carrier, multiplexing, scheduler, repair, hop, end, path]
    }

    /// What the layers need of the driver.
    pub fn driver(&self) -> Features {
        let out_of_band = if self.plan.hop.out_of_band.is_some() {
            Features::OUT_OF_BAND
        } else {
            Features::NONE
        };
        let infos = self.infos().into_iter();
        infos.fold(out_of_band, |all, info| all.or(info.driver))
    }
}

/// What a layer says of itself, and that it uses the regular call if its plan does.
const fn ticking(mut info: Info, tick: Option<Tick>) -> Info {
    if tick.is_some() {
        info.provides = info.provides.or(Features::TICK);
    }
    info
}
