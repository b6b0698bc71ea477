//! Round trips: the smallest to a successor, and when one is over.

use hopflow_overlay::Site;
use hopflow_units::{Cells, Duration, LinkId};

/// The smallest round trip of all circuits to a successor, by link.
///
/// Feedback that waits for company makes samples longer: compare with no less than
/// [`FeedbackPlan::delay`](hopflow_overlay::FeedbackPlan::delay).
#[derive(Clone, Debug, Default)]
pub struct BaseRtts(Vec<Duration>);

impl BaseRtts {
    /// That of a flow's successor, once a sample is taken into account.
    pub fn with(&mut self, site: &Site, sample: Option<Duration>) -> Duration {
        self.least(site.next, sample)
    }

    fn least(&mut self, link: Option<LinkId>, sample: Option<Duration>) -> Duration {
        let place = link.map_or(0, LinkId::index);
        if self.0.len() <= place {
            self.0.resize(place + 1, Duration::MAX);
        }
        let base = &mut self.0[place];
        if let Some(rtt) = sample {
            *base = rtt.min(*base);
        }
        *base
    }

    /// Forgets what was measured on a link that is gone: its number may be given to another one.
    pub fn forget(&mut self, link: LinkId) {
        if let Some(base) = self.0.get_mut(link.index()) {
            *base = Duration::MAX;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_neighbour_on_a_reused_number_is_measured_anew() {
        let [near, far] = [1, 50].map(Duration::from_millis);
        let mut bases = BaseRtts::default();
        let link = Some(LinkId::new(3));
        assert_eq!(bases.least(link, Some(near)), near);
        assert_eq!(bases.least(link, Some(far)), near);
        bases.forget(LinkId::new(3));
        bases.forget(LinkId::new(9));
        assert_eq!(bases.least(link, Some(far)), far);
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
