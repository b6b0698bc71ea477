//! Windows that follow how many cells wait, as in TCP Vegas: what BackTap and Marut share.

use hopflow_overlay::{ConfigError, Site};
use hopflow_units::{Cells, Duration};

use crate::options::Options;

/// When a window grows and shrinks.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The window grows while fewer cells than this wait (BackTap paper, section 3.4: 2).
    pub alpha: Cells,
    /// The window shrinks while more cells than this wait (section 3.4: 4).
    pub beta: Cells,
    /// The first window.
    pub initial: Cells,
    /// The smallest window.
    pub floor: Cells,
    /// How a window grows.
    pub growth: Growth,
    /// How much longer than the smallest a round trip may take before cells count as waiting: real
    /// hosts take their time, and take cells in batches.
    pub tolerance: Duration,
}

/// How a window grows while few cells wait, and shrinks while many do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// One cell more or less per round trip, as printed (eq. 1).
    OneCell,
    /// Twice as many cells more with every round trip in which few cells wait and the window was
    /// what held the flow back; down to what moves, in one step, when most of the window waits.
    Accelerating,
}

impl Rule {
    /// Reads a rule whose first window is `initial` cells, unless the options say otherwise.
    pub(crate) fn configure(options: &mut Options, initial: Cells) -> Result<Self, ConfigError> {
        let alpha = options.cells("alpha", Cells::new(2), Cells::new(1))?;
        Ok(Self {
            alpha,
            beta: options.cells("beta", Cells::new(4).max(alpha), alpha)?,
            initial: options.cells("initial-window", initial, Cells::new(1))?,
            floor: options.cells("smallest-window", Cells::new(1), Cells::new(1))?,
            growth: options.choice(
                "growth",
                Growth::Accelerating,
                &[
                    ("one-cell", Growth::OneCell),
                    ("accelerating", Growth::Accelerating),
                ],
            )?,
            tolerance: options.duration("tolerance", Duration::ZERO)?,
        })
    }

    /// The round trip that counts as one without queues, where `base` is the smallest.
    pub(crate) fn unloaded(&self, base: Duration) -> Duration {
        base + self.tolerance
    }
}

/// The smallest round trip of all circuits to a successor, by link.
#[derive(Debug, Default)]
pub(crate) struct BaseRtts(Vec<Duration>);

impl BaseRtts {
    /// That of a flow's successor, once a sample is taken into account.
    pub(crate) fn with(&mut self, site: &Site, sample: Option<Duration>) -> Duration {
        let base = self.of(site);
        if let Some(rtt) = sample {
            *base = rtt.min(*base);
        }
        *base
    }

    fn of(&mut self, site: &Site) -> &mut Duration {
        let link = site.next.map_or(0, hopflow_units::LinkId::index);
        if self.0.len() <= link {
            self.0.resize(link + 1, Duration::MAX);
        }
        &mut self.0[link]
    }
}

/// A round trip: it is over when all cells are reported that had been sent when it began.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Cells reported so far.
    reported: u64,
    /// The round trip is over when the cell before this one is reported.
    end: u64,
    /// Samples of cells before this one are of the time before the last jump.
    fresh_from: u64,
    /// The smallest sample since it was last taken.
    least: Option<Duration>,
    /// The smallest of the latest samples, and their number.
    recent: (Duration, u32),
}

/// Samples of which the smallest tells whether cells wait (as in HyStart, RFC 9406, section 4.2).
const RECENT: u32 = 8;

impl Round {
    /// Notes that the peer reported `cells` more, the last of them after `rtt`.
    pub(crate) fn note(&mut self, cells: Cells, rtt: Option<Duration>) {
        self.reported += cells.get();
        if let Some(rtt) = rtt.filter(|_| self.reported > self.fresh_from) {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            let (least, count) = self.recent;
            let least = if count == 0 { rtt } else { least.min(rtt) };
            self.recent = (least, count + 1);
        }
    }

    /// Takes the smallest of the latest samples, once there are enough of them.
    pub(crate) fn take_recent(&mut self) -> Option<Duration> {
        let (least, count) = self.recent;
        if count < RECENT {
            return None;
        }
        self.recent = (Duration::ZERO, 0);
        Some(least)
    }

    /// Whether all is reported that had been sent when it began.
    pub(crate) const fn is_over(&self) -> bool {
        self.reported >= self.end
    }

    /// Takes the smallest sample.
    pub(crate) const fn take_least(&mut self) -> Option<Duration> {
        self.least.take()
    }

    /// Begins the next round trip after `sent` cells.
    pub(crate) const fn restart(&mut self, sent: Cells) {
        self.end = sent.get();
    }

    /// Ignores samples of cells before number `sent` from now on.
    pub(crate) const fn expect_fresh(&mut self, sent: Cells) {
        self.fresh_from = sent.get();
    }

    /// Begins anew with the last of the `sent` cells.
    pub(crate) fn begin_anew(&mut self, sent: Cells) {
        self.fresh_from = sent.get().saturating_sub(1);
        self.end = sent.get();
        self.least = None;
        self.recent = (Duration::ZERO, 0);
    }
}

/// A window's control.
#[derive(Debug)]
pub(crate) struct DelayWindow {
    cells: u64,
    /// By how many cells the window grows next.
    step: u64,
    /// The most cells that were outstanding since the last decision.
    peak: u64,
}

/// What a round trip told.
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
    /// What `load` cells tell that took at least `actual` where `base` is needed.
    pub(crate) fn on_hop(load: u64, base: Duration, actual: Duration) -> Self {
        let (load, base) = (u128::from(load), u128::from(base.as_nanos().max(1)));
        let waiting = u128::from(actual.as_nanos()).saturating_sub(base);
        Self {
            diff: load * waiting,
            unit: base,
            moving: (load * base / (base + waiting)) as u64,
        }
    }

    /// What `load` cells tell if `diff` is known, in cells times `unit`.
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

impl DelayWindow {
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
    /// measured before says nothing any more.
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
        tolerance: Duration::ZERO,
    };

    /// One decision after a round trip in which `outstanding` cells were under way.
    fn decide(window: &mut DelayWindow, rule: &Rule, outstanding: u64, actual_ms: u64) -> bool {
        window.note(Cells::new(outstanding));
        let [base, actual] = [100, actual_ms].map(Duration::from_millis);
        let found = Finding::on_hop(window.load(rule), base, actual);
        window.decide(rule, &found)
    }

    fn grown(rule: &Rule, rounds: usize) -> DelayWindow {
        let mut window = DelayWindow::new(rule);
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
        let told = Finding::of_diff(40, 40 * 150 / 100 * 16, 16);
        assert_eq!((hop.moving, told.moving), (16, 16));
    }

    #[test]
    fn the_smallest_of_eight_samples_tells_early() {
        let mut round = Round::default();
        for ms in [9, 8, 7, 6, 5, 6, 7] {
            round.note(Cells::new(1), Some(Duration::from_millis(ms)));
            assert_eq!(round.take_recent(), None);
        }
        round.note(Cells::new(1), Some(Duration::from_millis(8)));
        assert_eq!(round.take_recent(), Some(Duration::from_millis(5)));
        assert_eq!(round.take_recent(), None);
    }
}
