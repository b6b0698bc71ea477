//! No control on hops: cells leave as soon as the link takes them.

use hopflow_overlay::{
    Gates, HopControl, HopCx, HopPlan, HopSignal, Info, NodeEnv, Site, Violation,
};

use super::shared::ignore;
use crate::layer::NoOptions;

/// No control on hops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoHopControl;

impl HopControl for NoHopControl {
    const INFO: Info = Info::new("none", "cells leave as soon as the link takes them");
    type Config = NoOptions;
    type Flow = ();

    fn plan(_: &NoOptions) -> HopPlan {
        HopPlan::default()
    }

    fn new(_: &NoOptions, _: &NodeEnv) -> Self {
        Self
    }

    fn open(&mut self, _: &Site, _: &mut Gates<'_>) {}

    #[inline]
    fn on(
        &mut self,
        (): &mut (),
        _: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        ignore(signal)
    }
}
