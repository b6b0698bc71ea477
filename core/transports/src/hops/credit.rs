//! N23: hop-by-hop credits (Al Sabah et al., PETS '11).
//!
//! A node may send `N2 + N3` cells of a circuit beyond those that its successor has reported as
//! forwarded; the successor reports after every `N2` cells that it forwards, in a message as long
//! as a cell. `N2` says how coarse the reports are, `N3` how many cells cover the time that a
//! report takes. Credits take the place of all end-to-end windows (the option `end-to-end` brings
//! one back); neighbours share one TCP connection, as in vanilla Tor.
//!
//! What leaks: a predecessor learns when each lot of `N2` cells was forwarded, hence the circuit's
//! rate at the successor; a report's size on the wire is that of a cell.

use hopflow_overlay::{
    ConfigError, Features, FeedbackPlan, Gates, HopControl, HopCx, HopPlan, HopSignal, Info,
    NodeEnv, Role, Site, Violation,
};
use hopflow_units::{Cells, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::ignore;
use crate::layer::{Around, LayerOptions, MOST_CELLS};

/// N23 at one node.
#[derive(Clone, Debug)]
pub(crate) struct Credit(CreditConfig);

/// Parameters of N23.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct CreditConfig {
    /// Cells from one report to the next (N23's N2).
    #[schemars(range(min = 1, max = MOST_CELLS))]
    n2: Cells,
    /// Cells that may be under way besides (N3).
    #[schemars(range(max = MOST_CELLS))]
    n3: Cells,
    /// Who needs credit.
    enforce: Enforce,
}

/// Who needs credit to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Enforce {
    /// Every node.
    EveryHop,
    /// The source alone, as in the code with which the BackTap authors compared.
    Source,
}

impl Default for CreditConfig {
    fn default() -> Self {
        Self {
            n2: Cells::new(20),
            n3: Cells::new(70),
            enforce: Enforce::EveryHop,
        }
    }
}

impl LayerOptions for CreditConfig {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        around.need_queue(self.n2 + self.n3, self.n2 + self.n3);
        Ok(())
    }
}

impl HopControl for Credit {
    const INFO: Info = Info {
        provides: Features::BOUND,
        requires: &[(
            Features::STREAMS,
            "Credits bound the queue at the next relay and not the load of the path to it: over \
             datagrams nothing would heed the network between relays.",
        )],
        excludes: &[(
            Features::PER_CIRCUIT,
            "N23 shares one connection between two neighbours; credits bound a circuit's queue, \
             which is what a connection of its own would be for.",
        )],
        ..Info::new("credit", "credits for cells that were forwarded (N23)")
    };
    type Config = CreditConfig;
    type Flow = ();

    fn plan(config: &CreditConfig) -> HopPlan {
        HopPlan::new(FeedbackPlan {
            every: config.n2,
            padded: true,
            ..FeedbackPlan::every_cell(true, Duration::ZERO)
        })
    }

    fn new(config: &CreditConfig, _: &NodeEnv) -> Self {
        Self(*config)
    }

    fn open(&mut self, site: &Site, gates: &mut Gates<'_>) {
        gates.hop.set_window(self.window(site));
    }

    fn check_change(old: &CreditConfig, new: &CreditConfig) -> Result<(), ConfigError> {
        new.keeps(old, &["n2"], "neighbours count reports by it")
    }

    fn reconfigure(&mut self, config: &CreditConfig) {
        self.0 = *config;
    }

    fn reopen(&mut self, (): &mut (), site: &Site, gates: &mut Gates<'_>) {
        gates.hop.set_window(self.window(site));
    }

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

impl Credit {
    /// Cells that a node may have under way.
    fn window(&self, site: &Site) -> Cells {
        if self.0.enforce == Enforce::EveryHop || site.role == Role::Source {
            self.0.n2 + self.0.n3
        } else {
            Cells::new(u64::MAX)
        }
    }
}
