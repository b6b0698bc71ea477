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
    /// How a flow starts.
    pub startup: Startup,
    /// When a window may grow.
    pub grow: Grow,
}

/// How a flow's window starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Startup {
    /// By one cell per round trip from the beginning, as printed.
    None,
    /// Doubling each round trip, until cells wait.
    Double,
    /// Likewise, and again whenever the flow was idle for a round trip.
    DoubleAfterIdle,
}

/// When a window may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grow {
    /// Whenever few cells wait, as printed.
    Always,
    /// Only if the window was what held the flow back (compare RFC 7661 for TCP).
    WhenUsed,
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
            startup: options.choice(
                "startup",
                Startup::DoubleAfterIdle,
                &[
                    ("none", Startup::None),
                    ("double", Startup::Double),
                    ("double-after-idle", Startup::DoubleAfterIdle),
                ],
            )?,
            grow: options.choice(
                "grow",
                Grow::WhenUsed,
                &[("always", Grow::Always), ("when-used", Grow::WhenUsed)],
            )?,
        })
    }
}

/// The smallest round trip of all circuits to a successor, by link.
#[derive(Debug, Default)]
pub(crate) struct BaseRtts(Vec<Duration>);

impl BaseRtts {
    /// That of a flow's successor.
    pub(crate) fn of(&mut self, site: &Site) -> &mut Duration {
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
}

impl Round {
    /// Notes that the peer reported `cells` more, the last of them after `rtt`.
    pub(crate) fn note(&mut self, cells: Cells, rtt: Option<Duration>) {
        self.reported += cells.get();
        if let Some(rtt) = rtt.filter(|_| self.reported > self.fresh_from) {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
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
    }
}

/// A window's control.
#[derive(Debug)]
pub(crate) struct DelayWindow {
    cells: u64,
    phase: Phase,
    /// The most cells that were outstanding since the last decision.
    peak: u64,
}

/// Where a flow is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The window doubles every round trip.
    Starting,
    /// The window jumps down to what the path can hold, until few cells wait.
    Settling,
    /// One cell more or less per round trip (eq. 1).
    Steady,
}

/// What a round trip told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding {
    /// The cells that wait, times `unit`: `diff` of equation 1 in whole numbers.
    pub(crate) diff: u128,
    /// What stands for one cell in `diff`.
    pub(crate) unit: u128,
    /// Cells of the window that moved without waiting, if that is known.
    pub(crate) moving: Option<u64>,
}

impl Finding {
    /// What `load` cells tell that took at least `actual` where `base` is needed.
    pub(crate) fn on_hop(load: u64, base: Duration, actual: Duration) -> Self {
        let (load, base) = (u128::from(load), u128::from(base.as_nanos().max(1)));
        let waiting = u128::from(actual.as_nanos()).saturating_sub(base);
        Self {
            diff: load * waiting,
            unit: base,
            moving: Some((load * base / (base + waiting)) as u64),
        }
    }
}

impl DelayWindow {
    pub(crate) const fn new(rule: &Rule) -> Self {
        Self {
            cells: rule.initial.get(),
            phase: match rule.startup {
                Startup::Double | Startup::DoubleAfterIdle => Phase::Starting,
                Startup::None => Phase::Steady,
            },
            peak: 0,
        }
    }

    /// The window.
    pub(crate) const fn cells(&self) -> Cells {
        Cells::new(self.cells)
    }

    /// Whether equation 1 alone decides.
    pub(crate) fn is_steady(&self) -> bool {
        self.phase == Phase::Steady
    }

    /// Doubles again from where it is.
    pub(crate) const fn start_again(&mut self) {
        self.phase = Phase::Starting;
        self.peak = 0;
    }

    /// Notes that `released` cells came back, before which `outstanding` were under way.
    pub(crate) fn note(&mut self, outstanding: Cells, released: Cells) {
        self.peak = self.peak.max(outstanding.get());
        if self.phase == Phase::Starting && self.peak >= self.cells {
            self.cells += released.get();
        }
    }

    /// Cells that can have waited: of a window that is not used, only the used part.
    pub(crate) fn load(&self, rule: &Rule) -> u64 {
        match rule.grow {
            Grow::Always => self.cells,
            Grow::WhenUsed => self.cells.min(self.peak),
        }
    }

    /// Changes the window at the end of a round trip; true if it jumped, so that what was
    /// measured before says nothing any more.
    pub(crate) fn decide(&mut self, rule: &Rule, found: &Finding) -> bool {
        let used = self.peak >= self.cells;
        let [few, many] = [rule.alpha, rule.beta].map(|cells| u128::from(cells.get()) * found.unit);
        let mut jumped = false;
        match self.phase {
            Phase::Starting if found.diff <= few => {}
            Phase::Settling if found.diff <= many => self.phase = Phase::Steady,
            Phase::Starting | Phase::Settling => {
                (self.cells, self.phase) = match found.moving {
                    // What moves, and what may wait.
                    Some(moving) => (moving + rule.alpha.get(), Phase::Settling),
                    // The window of the round trip before.
                    None => (self.load(rule) / 2, Phase::Steady),
                };
                jumped = true;
            }
            Phase::Steady if !used && rule.grow == Grow::WhenUsed => {
                self.cells = self.cells.min((2 * self.peak).max(rule.initial.get()));
            }
            Phase::Steady if found.diff < few => self.cells += 1,
            Phase::Steady if found.diff > many => self.cells = self.cells.saturating_sub(1),
            Phase::Steady => {}
        }
        self.peak = 0;
        jumped
    }

    /// Keeps the window between the rule's floor and `cap`.
    pub(crate) fn bound(&mut self, rule: &Rule, cap: Cells) {
        self.cells = self.cells.max(rule.floor.get()).min(cap.get());
    }
}
