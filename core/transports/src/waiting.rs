//! Windows that follow how many cells wait, as in TCP Vegas: what BackTap and Marut share.

use hopflow_overlay::ConfigError;
use hopflow_units::{Cells, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parts of a cell in which hops report how many cells wait.
pub(crate) const PARTS: u128 = 16;
/// The unit in which hops report how long cells wait.
pub(crate) const WAIT_UNIT: Duration = Duration::from_nanos(62_500);

/// When a window grows and shrinks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// The window grows while fewer cells than this wait.
    pub(crate) alpha: Cells,
    /// The window shrinks while more cells than this wait.
    pub(crate) beta: Cells,
    /// The first window.
    pub(crate) initial: Cells,
    /// The smallest window.
    pub(crate) floor: Cells,
    /// How a window grows.
    pub(crate) growth: Growth,
}

/// A rule as options have it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct RuleOptions {
    /// The window grows while fewer cells than this wait (BackTap paper, section 3.4: 2).
    #[schemars(range(min = 1))]
    pub(crate) alpha: Cells,
    /// The window shrinks while more cells than this wait, at least `alpha`; by default 4 (section
    /// 3.4), or `alpha` if that is more.
    #[schemars(range(min = 1))]
    pub(crate) beta: Option<Cells>,
    /// The first window, in cells, at least `smallest-window`.
    #[schemars(range(min = 1))]
    pub(crate) initial_window: Option<Cells>,
    /// The smallest window, in cells.
    #[schemars(range(min = 1))]
    pub(crate) smallest_window: Option<Cells>,
    /// How a window grows while few cells wait, and shrinks while many do.
    pub(crate) growth: Growth,
}

/// How a window grows while few cells wait, and shrinks while many do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Growth {
    /// One cell more or less per round trip, as printed (eq. 1).
    OneCell,
    /// Twice as many cells more with every round trip in which few cells wait and the window was
    /// what held the flow back; down to what moves, in one step, when most of the window waits.
    Accelerating,
}

impl Default for RuleOptions {
    fn default() -> Self {
        Self {
            alpha: Cells::new(2),
            beta: None,
            initial_window: None,
            smallest_window: None,
            growth: Growth::Accelerating,
        }
    }
}

impl RuleOptions {
    /// The rule, whose first window is `initial` cells, or the smallest window if that is more,
    /// unless the options say otherwise.
    pub(crate) fn rule(&self, initial: Cells) -> Rule {
        let floor = self.smallest_window.unwrap_or(Cells::new(1));
        Rule {
            alpha: self.alpha,
            beta: self.beta.unwrap_or(Cells::new(4).max(self.alpha)),
            initial: self.initial_window.unwrap_or(initial.max(floor)),
            floor,
            growth: self.growth,
        }
    }

    /// Fills in what is left open, where the first window is `initial` cells by default.
    ///
    /// # Errors
    /// If the window would grow and shrink at once, or begin below the smallest.
    pub(crate) fn settle(&mut self, initial: Cells) -> Result<(), ConfigError> {
        let rule = self.rule(initial);
        if rule.beta < rule.alpha {
            let least = rule.alpha.get();
            let allowed = format!("a whole number of cells, at least {least}");
            return Err(ConfigError::new("beta", rule.beta.get(), allowed));
        }
        if rule.initial < rule.floor {
            let least = rule.floor.get();
            let allowed = format!("a whole number of cells, at least {least}, the smallest window");
            return Err(ConfigError::new(
                "initial-window",
                rule.initial.get(),
                allowed,
            ));
        }
        self.beta = Some(rule.beta);
        self.initial_window = Some(rule.initial);
        self.smallest_window = Some(rule.floor);
        Ok(())
    }
}

/// A window's control.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    cells: u64,
    /// By how many cells the window grows next.
    step: u64,
    /// The most cells that were outstanding since the last decision.
    peak: u64,
}

/// What a round trip shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding {
    /// The cells that wait, times `unit`: `diff` of equation 1 in whole numbers.
    pub(crate) diff: u128,
    /// What stands for one cell in `diff`.
    pub(crate) unit: u128,
    /// Cells that moved without waiting.
    pub(crate) moving: u64,
}

impl Finding {
    /// What `load` cells show that took at least `actual` where `base` is needed.
    pub(crate) fn on_hop(load: u64, base: Duration, actual: Duration) -> Self {
        let (load, base) = (u128::from(load), u128::from(base.as_nanos().max(1)));
        let waiting = u128::from(actual.as_nanos()).saturating_sub(base);
        Self {
            diff: load * waiting,
            unit: base,
            moving: (load * base / (base + waiting)) as u64,
        }
    }

    /// What `load` cells show if `diff` is known, in cells times `unit`.
    pub(crate) fn of_diff(load: u64, diff: u128, unit: u128) -> Self {
        // diff = load * (actual / base - 1), and load * base / actual cells move.
        let load = u128::from(load);
        let moving = load * load * unit / (load * unit + diff).max(1);
        Self {
            diff,
            unit,
            moving: moving as u64,
        }
    }

    fn is_below(&self, cells: Cells) -> bool {
        self.diff < u128::from(cells.get()) * self.unit
    }

    /// Whether more than so many cells wait.
    pub(crate) fn is_above(&self, cells: Cells) -> bool {
        self.diff > u128::from(cells.get()) * self.unit
    }
}

impl Window {
    pub(crate) const fn new(rule: &Rule) -> Self {
        Self {
            cells: rule.initial.get(),
            step: 1,
            peak: 0,
        }
    }

    /// The window.
    pub(crate) const fn cells(&self) -> Cells {
        Cells::new(self.cells)
    }

    /// Whether the window grows by more than a cell per round trip.
    pub(crate) const fn is_accelerating(&self) -> bool {
        self.step > 1
    }

    /// The most cells that were outstanding since the last decision.
    pub(crate) const fn peak(&self) -> u64 {
        self.peak
    }

    /// Forgets what was outstanding, where nothing is decided.
    pub(crate) const fn forget_peak(&mut self) {
        self.peak = 0;
    }

    /// Notes that `outstanding` cells are under way.
    pub(crate) fn note(&mut self, outstanding: Cells) {
        self.peak = self.peak.max(outstanding.get());
    }

    /// Cells that can have waited: of a window that is not used, only the used part.
    pub(crate) fn load(&self, rule: &Rule) -> u64 {
        match rule.growth {
            Growth::OneCell => self.cells,
            Growth::Accelerating => self.cells.min(self.peak),
        }
    }

    /// Changes the window at the end of a round trip; true if it jumped, so that what was
    /// measured before says nothing about it.
    pub(crate) fn decide(&mut self, rule: &Rule, found: &Finding) -> bool {
        let used = self.peak >= self.cells;
        let step = std::mem::replace(&mut self.step, 1);
        self.peak = 0;
        match rule.growth {
            Growth::OneCell if found.is_below(rule.alpha) => self.cells += 1,
            Growth::OneCell if found.is_above(rule.beta) => {
                self.cells = self.cells.saturating_sub(1);
            }
            // What does not fill its window says nothing about it.
            Growth::Accelerating if !used => {}
            Growth::Accelerating if found.is_below(rule.alpha) => {
                self.cells += step;
                self.step = (2 * step).min(self.cells / 2).max(1);
            }
            Growth::Accelerating if found.is_above(rule.beta) => {
                let target = found.moving + rule.beta.get();
                if target < self.cells / 2 {
                    self.cells = target;
                    return true;
                }
                // By a cell near the equilibrium, and down to it in a few round trips from afar.
                self.cells -= (self.cells.saturating_sub(target) / 8).max(1);
            }
            Growth::OneCell | Growth::Accelerating => {}
        }
        false
    }

    /// Raises the window to what somebody knows to be right.
    pub(crate) fn raise(&mut self, cells: u64) {
        self.cells = self.cells.max(cells);
    }

    /// Lowers the window to what somebody knows to be enough.
    pub(crate) fn lower(&mut self, cells: u64) {
        self.cells = self.cells.min(cells);
    }

    /// Keeps the window between the rule's floor and `cap`.
    pub(crate) fn bound(&mut self, rule: &Rule, cap: Cells) {
        self.cells = self.cells.max(rule.floor.get()).min(cap.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        alpha: Cells::new(2),
        beta: Cells::new(4),
        initial: Cells::new(2),
        floor: Cells::new(1),
        growth: Growth::Accelerating,
    };

    /// One decision after a round trip in which `outstanding` cells were under way.
    fn decide(window: &mut Window, rule: &Rule, outstanding: u64, actual_ms: u64) -> bool {
        window.note(Cells::new(outstanding));
        let [base, actual] = [100, actual_ms].map(Duration::from_millis);
        let found = Finding::on_hop(window.load(rule), base, actual);
        window.decide(rule, &found)
    }

    fn grown(rule: &Rule, rounds: usize) -> Window {
        let mut window = Window::new(rule);
        for _ in 0..rounds {
            let all = window.cells;
            decide(&mut window, rule, all, 100);
        }
        window
    }

    #[test]
    fn a_window_in_use_without_a_queue_grows_by_steps_that_double() {
        let sizes: Vec<u64> = (0..8).map(|rounds| grown(&RULE, rounds).cells).collect();
        assert_eq!(sizes, [2, 3, 4, 6, 9, 13, 19, 28]);
        let printed = Rule {
            growth: Growth::OneCell,
            ..RULE
        };
        assert_eq!(grown(&printed, 7).cells, 9);
    }

    #[test]
    fn a_window_that_is_not_used_stays() {
        let mut window = grown(&RULE, 7);
        decide(&mut window, &RULE, 5, 100);
        assert_eq!((window.cells, window.is_accelerating()), (28, false));
    }

    #[test]
    fn a_window_of_which_most_waits_jumps_to_what_moves() {
        let mut window = grown(&RULE, 7);
        assert!(decide(&mut window, &RULE, 28, 400));
        assert_eq!(window.cells, 28 / 4 + 4);
        assert!(!window.is_accelerating());
    }

    #[test]
    fn near_its_equilibrium_a_window_moves_by_a_cell() {
        let mut window = grown(&RULE, 7);
        assert!(!decide(&mut window, &RULE, 28, 120), "5.6 cells wait");
        assert_eq!(window.cells, 27);
        decide(&mut window, &RULE, 27, 111);
        assert_eq!(window.cells, 27, "3 cells wait");
        decide(&mut window, &RULE, 27, 104);
        assert_eq!(window.cells, 28, "1 cell waits");
    }

    #[test]
    fn far_from_it_a_window_goes_an_eighth_of_the_way() {
        let mut window = grown(&RULE, 12);
        assert_eq!(window.cells, 211);
        // Of 211 cells 158 move, and 4 may wait.
        assert!(!decide(&mut window, &RULE, 211, 133));
        assert_eq!(window.cells, 211 - (211 - 162) / 8);
    }

    #[test]
    fn what_moves_follows_from_diff_as_from_the_round_trips() {
        let [base, actual] = [100, 250].map(Duration::from_millis);
        let hop = Finding::on_hop(40, base, actual);
        let reported = Finding::of_diff(40, 40 * 150 / 100 * 16, 16);
        assert_eq!((hop.moving, reported.moving), (16, 16));
    }
}
