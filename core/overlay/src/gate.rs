//! The gate that decides whether a cell may pass: window, credit and rate.

use hopflow_units::{Cells, Duration, Instant};

use crate::Violation;

/// Lets cells pass while a window, a credit and a rate allow it.
///
/// A transport sets the parts, the machine asks and counts. A part that is not set is open. A
/// window limits the cells that have passed and were not yet *released*. The node releases those of a
/// hop, as feedback or acknowledgements say; the end control those of a source
/// ([`EndCx::release`](crate::EndCx::release)).
#[derive(Clone, Debug)]
pub struct Gate {
    window: u64,
    cap: u64,
    credit: u64,
    passed: u64,
    released: u64,
    /// Apart, for most gates have no rate.
    pacer: Option<Box<Pacer>>,
}

/// Spaces cells in time; the generic cell rate algorithm (ITU-T I.371).
#[derive(Clone, Debug, Default)]
struct Pacer {
    interval: Duration,
    burst: Duration,
    /// When the next cell is due, if none goes ahead of time.
    due: Instant,
    /// When the last cell passed, if one did.
    last: Option<Instant>,
}

impl Pacer {
    /// How long cells that went ahead of time take with this interval.
    fn ahead(&self, last: Instant, interval: Duration) -> Duration {
        let ahead = self.due.saturating_since(last + self.interval);
        if ahead.is_zero() {
            return ahead;
        }
        let at_interval = u128::from(ahead.as_nanos()) * u128::from(interval.as_nanos());
        let ahead = at_interval / u128::from(self.interval.as_nanos().max(1));
        Duration::from_nanos(u64::try_from(ahead).unwrap_or(u64::MAX))
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            window: u64::MAX,
            cap: u64::MAX,
            credit: u64::MAX,
            passed: 0,
            released: 0,
            pacer: None,
        }
    }
}

impl Gate {
    /// Whether a cell may pass at `now`.
    #[inline]
    pub fn is_open(&self, now: Instant) -> bool {
        self.has_room() && self.pacer.as_ref().is_none_or(|pacer| pacer.opens() <= now)
    }

    /// Whether window and credit allow a cell, whatever the rate says.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.passed - self.released < self.window.min(self.cap) && self.passed < self.credit
    }

    /// When the rate allows the next cell; `None` without a rate.
    pub fn opens_at(&self) -> Option<Instant> {
        self.pacer.as_ref().map(|pacer| pacer.opens())
    }

    /// When the gate opens by itself, if it is closed and only its rate is why.
    #[inline]
    pub(crate) fn waits_until(&self, now: Instant) -> Option<Instant> {
        self.opens_at().filter(|at| *at > now && self.has_room())
    }

    /// Counts a cell that passes.
    #[inline]
    pub(crate) fn pass(&mut self, now: Instant) {
        self.passed += 1;
        if let Some(pacer) = &mut self.pacer {
            pacer.due = pacer.due.max(now) + pacer.interval;
            pacer.last = Some(now);
        }
    }

    /// Allows at most `window` cells between passing and release.
    pub fn set_window(&mut self, window: Cells) {
        self.window = window.get();
    }

    /// The window, if one is set; never more than the cap.
    pub fn window(&self) -> Option<Cells> {
        (self.window != u64::MAX).then(|| Cells::new(self.window.min(self.cap)))
    }

    /// Bounds the window from above for good: what the peer can hold, as it said at set-up.
    pub(crate) fn set_cap(&mut self, cap: Cells) {
        self.cap = cap.get();
    }

    /// The bound that the peer set.
    pub fn cap(&self) -> Cells {
        Cells::new(self.cap)
    }

    /// Allows `credit` cells in total since the gate was made; a later, smaller total is ignored.
    pub fn grant_total(&mut self, credit: Cells) {
        self.credit = if self.credit == u64::MAX {
            credit.get()
        } else {
            self.credit.max(credit.get())
        };
    }

    /// Allows `cells` from now on, and nothing of what was allowed before.
    pub fn allow(&mut self, cells: Cells) {
        self.credit = self.passed.saturating_add(cells.get());
    }

    /// Lets a cell pass every `interval` from the last one on, and up to `burst` worth of them
    /// ahead of time. Cells that went ahead of time at the pace before count as ahead at this one.
    pub fn set_pace(&mut self, interval: Duration, burst: Duration) {
        let pacer = self.pacer.get_or_insert_default();
        if let Some(last) = pacer.last {
            pacer.due = last + interval + pacer.ahead(last, interval);
        }
        (pacer.interval, pacer.burst) = (interval, burst);
    }

    /// Lets cells pass at any rate.
    pub fn clear_pace(&mut self) {
        self.pacer = None;
    }

    /// Releases `cells` more.
    ///
    /// # Errors
    /// If so many are not outstanding.
    pub(crate) fn release(&mut self, cells: Cells) -> Result<(), Violation> {
        if cells > self.outstanding() {
            return Err(Violation::BeyondOutstanding);
        }
        self.released += cells.get();
        Ok(())
    }

    /// Cells that passed and were not released.
    #[inline]
    pub fn outstanding(&self) -> Cells {
        Cells::new(self.passed - self.released)
    }

    /// Cells that passed since the gate was made.
    pub fn passed(&self) -> Cells {
        Cells::new(self.passed)
    }

    /// Cells that were released since the gate was made.
    pub fn released(&self) -> Cells {
        Cells::new(self.released)
    }
}

impl Pacer {
    fn opens(&self) -> Instant {
        self.due.saturating_sub(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass_all(gate: &mut Gate, now: Instant) -> u64 {
        let before = gate.passed;
        while gate.is_open(now) && gate.passed - before < 1000 {
            gate.pass(now);
        }
        gate.passed - before
    }

    #[test]
    fn a_window_counts_what_is_not_released() {
        let mut gate = Gate::default();
        gate.set_window(Cells::new(3));
        assert_eq!(pass_all(&mut gate, Instant::ZERO), 3);
        gate.release(Cells::new(2)).unwrap();
        assert_eq!(pass_all(&mut gate, Instant::ZERO), 2);
        assert_eq!(
            gate.release(Cells::new(4)),
            Err(Violation::BeyondOutstanding)
        );
        gate.set_window(Cells::new(1));
        assert!(
            !gate.is_open(Instant::ZERO),
            "a window that shrinks closes the gate"
        );
    }

    #[test]
    fn the_cap_bounds_every_window() {
        let mut gate = Gate::default();
        gate.set_cap(Cells::new(2));
        assert_eq!(gate.window(), None);
        gate.set_window(Cells::new(10));
        assert_eq!(gate.window(), Some(Cells::new(2)));
        assert_eq!(pass_all(&mut gate, Instant::ZERO), 2);
    }

    #[test]
    fn credit_is_a_total_and_never_shrinks() {
        let mut gate = Gate::default();
        gate.grant_total(Cells::new(5));
        assert_eq!(pass_all(&mut gate, Instant::ZERO), 5);
        gate.grant_total(Cells::new(8));
        gate.grant_total(Cells::new(6));
        assert_eq!(pass_all(&mut gate, Instant::ZERO), 3);
    }

    #[test]
    fn what_is_allowed_anew_replaces_what_was_left() {
        let mut gate = Gate::default();
        gate.allow(Cells::new(5));
        gate.pass(Instant::ZERO);
        gate.allow(Cells::new(2));
        assert_eq!(pass_all(&mut gate, Instant::ZERO), 2);
        gate.allow(Cells::ZERO);
        assert!(!gate.is_open(Instant::ZERO));
    }

    #[test]
    fn a_pace_spaces_cells_and_allows_its_burst() {
        let mut gate = Gate::default();
        gate.set_pace(Duration::from_millis(10), Duration::from_millis(20));
        let start = Instant::from_nanos(1_000_000_000);
        assert_eq!(pass_all(&mut gate, start), 3);
        assert_eq!(gate.opens_at(), Some(start + Duration::from_millis(10)));
        assert_eq!(pass_all(&mut gate, start + Duration::from_millis(25)), 2);
    }

    #[test]
    fn a_pace_that_is_set_again_forgets_nothing_that_went_ahead_of_time() {
        let (interval, burst) = (Duration::from_millis(10), Duration::from_millis(20));
        let mut gate = Gate::default();
        gate.set_pace(interval, burst);
        let start = Instant::from_nanos(1_000_000_000);
        assert_eq!(pass_all(&mut gate, start), 3);
        gate.set_pace(interval, burst);
        assert_eq!(pass_all(&mut gate, start), 0);
        assert_eq!(gate.opens_at(), Some(start + interval));
        // Three cells that were ahead are so at half of the rate.
        gate.set_pace(interval * 2, burst * 2);
        assert_eq!(gate.opens_at(), Some(start + interval * 2));
    }

    #[test]
    fn a_new_pace_holds_from_the_last_cell_on() {
        let mut gate = Gate::default();
        gate.set_pace(Duration::from_secs(3600), Duration::ZERO);
        let start = Instant::from_nanos(5_000_000);
        assert_eq!(pass_all(&mut gate, start), 1);
        gate.set_pace(Duration::from_millis(1), Duration::ZERO);
        assert_eq!(pass_all(&mut gate, start), 0);
        assert_eq!(pass_all(&mut gate, start + Duration::from_millis(1)), 1);
    }

    #[test]
    fn a_slower_pace_holds_the_cell_that_was_due() {
        let mut gate = Gate::default();
        gate.set_pace(Duration::from_millis(1), Duration::ZERO);
        let start = Instant::from_nanos(5_000_000);
        assert_eq!(pass_all(&mut gate, start), 1);
        gate.set_pace(Duration::from_millis(10), Duration::ZERO);
        assert_eq!(gate.opens_at(), Some(start + Duration::from_millis(10)));
        assert_eq!(pass_all(&mut gate, start + Duration::from_millis(9)), 0);
        assert_eq!(pass_all(&mut gate, start + Duration::from_millis(10)), 1);
    }
}
