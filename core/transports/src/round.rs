//! Round trips: the smallest to a successor, when one is over, and the hop's window that follows them.

use hopflow_overlay::{Forwarded, Gate, HopCx, Site};
use hopflow_units::{Cells, Duration, Instant, LinkId};

use crate::waiting::{Finding, Rule, Window};

/// For how long a round trip counts as the smallest, at least; twice this at most. RFC 6817 (LEDBAT,
/// section 4.2) keeps ten minutes: a path that has become longer must not look like a queue for ever,
/// and within minutes some circuit has a cell that no other one waits for.
const PERIOD: Duration = Duration::from_secs(300);

/// The smallest round trip of all circuits to a successor within the five to ten minutes before the latest sample,
/// by link.
///
/// Feedback that waits for company makes samples longer: compare with no less than
/// [`FeedbackPlan::delay`](hopflow_overlay::FeedbackPlan::delay).
#[derive(Clone, Debug, Default)]
pub struct BaseRtts(Vec<Base>);

/// The smallest round trips on a link.
#[derive(Clone, Copy, Debug)]
struct Base {
    /// When the present period began.
    since: Instant,
    /// The smallest in it, and in the one before.
    least: [Duration; 2],
}

impl Base {
    const UNKNOWN: Self = Self {
        since: Instant::ZERO,
        least: [Duration::MAX; 2],
    };

    fn note(&mut self, now: Instant, rtt: Duration) {
        let age = now.saturating_since(self.since);
        if age >= PERIOD {
            let recent = age < PERIOD * 2;
            let before = if recent { self.least[0] } else { Duration::MAX };
            *self = Self {
                since: now,
                least: [Duration::MAX, before],
            };
        }
        self.least[0] = rtt.min(self.least[0]);
    }

    fn get(&self) -> Duration {
        self.least[0].min(self.least[1])
    }
}

impl BaseRtts {
    /// That of a flow's successor, once a sample is taken into account.
    pub fn with(&mut self, now: Instant, site: &Site, sample: Option<Duration>) -> Duration {
        self.least(now, site.next, sample)
    }

    /// That of a flow's successor; [`Duration::MAX`] if it is not known.
    pub(crate) fn of(&self, site: &Site) -> Duration {
        let place = site.next.map_or(0, LinkId::index);
        self.0.get(place).map_or(Duration::MAX, Base::get)
    }

    fn least(&mut self, now: Instant, link: Option<LinkId>, sample: Option<Duration>) -> Duration {
        let place = link.map_or(0, LinkId::index);
        if self.0.len() <= place {
            self.0.resize(place + 1, Base::UNKNOWN);
        }
        let base = &mut self.0[place];
        if let Some(rtt) = sample {
            base.note(now, rtt);
        }
        base.get()
    }

    /// Forgets what was measured on a link that is gone: its number may be given to another one.
    pub fn forget(&mut self, link: LinkId) {
        if let Some(base) = self.0.get_mut(link.index()) {
            *base = Base::UNKNOWN;
        }
    }
}

/// A round trip: it is over when all cells are reported that had been sent when it began.
#[derive(Clone, Debug, Default)]
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

/// Samples of which the smallest shows whether cells wait (as in HyStart, RFC 9406, section 4.2).
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

/// A hop's window, and the round trips by which it is set.
#[derive(Clone, Debug)]
pub(crate) struct HopWindow {
    pub(crate) window: Window,
    round: Round,
}

/// What a round trip took where `load` cells can have waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trip {
    pub(crate) load: u64,
    pub(crate) base: Duration,
    pub(crate) actual: Duration,
    /// Whether it is over.
    pub(crate) over: bool,
}

impl Trip {
    /// What it shows.
    pub(crate) fn finding(&self) -> Finding {
        Finding::on_hop(self.load, self.base, self.actual)
    }
}

impl HopWindow {
    pub(crate) fn new(rule: &Rule) -> Self {
        Self {
            window: Window::new(rule),
            round: Round::default(),
        }
    }

    /// Notes what the successor forwarded, and what was outstanding until then.
    pub(crate) fn note(&mut self, cx: &HopCx<'_>, sample: &Forwarded) {
        self.round.note(sample.cells, sample.rtt);
        self.window.note(cx.gate.outstanding() + sample.cells);
    }

    /// The round trip, if it is over, or so far, if what it shows is urgent: `load` cells can have
    /// waited, `sent` cells were sent so far.
    pub(crate) fn trip(
        &mut self,
        rule: &Rule,
        (load, base): (u64, Duration),
        sent: Cells,
    ) -> Option<Trip> {
        let over = self.round.is_over();
        let trip = |actual| Trip {
            load,
            base,
            actual,
            over,
        };
        if over {
            self.round.restart(sent);
            return self.round.take_least().map(trip);
        }
        if !self.window.is_accelerating() {
            return None;
        }
        // A window that grows fast must stop before the round trip is over.
        let trip = trip(self.round.take_recent()?);
        trip.finding().is_above(rule.beta).then_some(trip)
    }

    /// Changes the window by what was found after `sent` cells; true if it jumped, as most of it waited.
    pub(crate) fn decide(&mut self, rule: &Rule, found: &Finding, sent: Cells) -> bool {
        let jumped = self.window.decide(rule, found);
        if jumped {
            self.round.expect_fresh(sent);
        }
        jumped
    }

    /// Sets the gate, within the bounds of the rule and of the successor.
    pub(crate) fn set(&mut self, rule: &Rule, gate: &mut Gate) {
        self.window.bound(rule, gate.cap());
        gate.set_window(self.window.cells());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_neighbour_on_a_reused_number_is_measured_anew() {
        let [near, far] = [1, 50].map(Duration::from_millis);
        let mut bases = BaseRtts::default();
        let (now, link) = (Instant::ZERO, Some(LinkId::new(3)));
        assert_eq!(bases.least(now, link, Some(near)), near);
        assert_eq!(bases.least(now, link, Some(far)), near);
        bases.forget(LinkId::new(3));
        bases.forget(LinkId::new(9));
        assert_eq!(bases.least(now, link, Some(far)), far);
    }

    #[test]
    fn a_path_that_became_longer_is_known_to_be_within_ten_minutes() {
        let [near, far] = [20, 80].map(Duration::from_millis);
        let mut bases = BaseRtts::default();
        let mut least = |seconds: u64, rtt| {
            let now = Instant::ZERO + Duration::from_secs(seconds);
            bases.least(now, None, rtt)
        };
        assert_eq!(least(0, Some(near)), near);
        for seconds in 1..600 {
            assert_eq!(least(seconds, Some(far)), near, "after {seconds} s");
        }
        assert_eq!(least(600, Some(far)), far);
        assert_eq!(least(5000, None), far, "what is not measured anew stays");
        assert_eq!(least(5000, Some(far * 2)), far * 2, "after a pause");
    }

    #[test]
    fn the_smallest_of_eight_samples_shows_early() {
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
