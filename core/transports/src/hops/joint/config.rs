//! The options of joint control.

use hopflow_overlay::ConfigError;
use hopflow_units::{Cells, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shared::check_wait;
use super::word::Word;
use crate::layer::{Around, LayerOptions};
use crate::waiting::{Rule, RuleOptions};

/// The first window where no word has come.
const INITIAL: Cells = Cells::new(16);

/// Parameters of joint control.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct JointConfig {
    #[serde(flatten)]
    pub(super) rule: RuleOptions,
    /// How much longer than the smallest a round trip may take before cells count as waiting: real
    /// hosts take their time, and take cells in batches.
    pub(super) tolerance: Duration,
    /// How long feedback may wait for company.
    pub(super) feedback_delay: Duration,
    /// Whether nodes tell their predecessors rates; without them this is BackTap.
    pub(super) hints: bool,
    /// How a node shares what it has among the flows that are busy: flows that are held back
    /// elsewhere leave the rest to the others; flows that sent little of late may go before, too; or
    /// all get the same.
    pub(super) sharing: Sharing,
    /// Whether a node tells the smaller of its own share and of what its successor said, or its own
    /// share alone. With the former an exit learns the rate of a client's link, and how busy a guard is.
    pub(super) relayed: bool,
    /// Whether cells of the other direction take rates along, so that a source may know its rate
    /// before its first cell.
    pub(super) ahead: bool,
    /// Where windows are bounded by rates.
    pub(super) bound: Where,
    /// By how many times the cells of a base round trip at the rate a window is bounded.
    #[schemars(range(min = 1, max = 100))]
    pub(super) slack: f64,
    /// Where cells are paced at rates.
    pub(super) pace: Where,
    /// When a window jumps up to its rate.
    pub(super) jump: Jump,
    /// By how many TCP connections the circuits that enter a node count together where others compete
    /// for its access link; with 0 nothing holds them to a number. Has no effect without `hints`, nor
    /// where a node does not know the rate of its access link.
    #[schemars(range(min = 0, max = 100))]
    pub(super) weight: f64,
}

/// How a capacity is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sharing {
    /// Flows that are held back elsewhere leave the rest to the others.
    MaxMin,
    /// The same, and flows that sent little of late may have what the others would leave to them:
    /// for a scheduler that prefers them.
    QuietFirst,
    /// All get the same.
    Equal,
}

/// Where rates are kept to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Where {
    /// Nowhere.
    Nowhere,
    /// Where more is lost in a network queue.
    Hard,
    /// On all hops.
    Everywhere,
}

/// When a window jumps up to its rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Jump {
    /// Never.
    Never,
    /// At the start, and after a pause.
    Start,
    /// Also when it would grow.
    Growth,
}

impl Default for JointConfig {
    fn default() -> Self {
        Self {
            rule: RuleOptions::default(),
            tolerance: Duration::ZERO,
            feedback_delay: Duration::from_millis(1),
            hints: true,
            sharing: Sharing::MaxMin,
            relayed: false,
            ahead: true,
            bound: Where::Everywhere,
            slack: 1.25,
            pace: Where::Hard,
            jump: Jump::Growth,
            weight: 0.0,
        }
    }
}

impl LayerOptions for JointConfig {
    fn settle(&mut self, _: &mut Around) -> Result<(), ConfigError> {
        self.rule.settle(INITIAL)?;
        check_wait("feedback-delay", self.feedback_delay)
    }
}

impl Where {
    /// Whether a rate is kept to.
    pub(super) const fn holds(self, word: Word) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Hard => word.hard,
            Self::Everywhere => true,
        }
    }
}

impl JointConfig {
    /// How windows follow delay.
    pub(super) fn rule(&self) -> Rule {
        self.rule.rule(INITIAL)
    }
}
