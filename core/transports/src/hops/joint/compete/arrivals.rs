//! The cells that arrive at a node, and how many flows they are of.

use hopflow_units::{Duration, Instant};

/// Over how long rates are measured, and how much of the last measurement remains: some half of a
/// second in all, a few round trips.
const PERIOD: Duration = Duration::from_millis(200);
const KEPT: f64 = 0.7;
/// A flow is active for so many times the mean time between two cells of a flow (of gaps that chance
/// alone makes, one of twenty is longer than three means), in these bounds in seconds.
const PATIENCE: f64 = 3.0;
const ACTIVE: [f64; 2] = [0.3, 10.0];

/// Arrivals.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// When the period began, and the cells in it.
    since: Instant,
    cells: u64,
    /// Cells per second.
    rate: f64,
    /// Flows that are active: one or more.
    active: f64,
    /// When each flow had its last cell.
    last: Vec<Option<Instant>>,
}

impl Arrivals {
    pub(super) const fn new() -> Self {
        Self {
            since: Instant::ZERO,
            cells: 0,
            rate: 0.0,
            active: 1.0,
            last: Vec::new(),
        }
    }

    /// A flow is over.
    pub(super) fn close(&mut self, flow: usize) {
        if let Some(last) = self.last.get_mut(flow) {
            *last = None;
        }
    }

    /// A cell of a flow arrived.
    pub(super) fn note(&mut self, now: Instant, flow: usize) {
        if self.last.len() <= flow {
            self.last.resize(flow + 1, None);
        }
        self.last[flow] = Some(now);
        self.cells += 1;
    }

    /// Measures, if a period is over; whether one is.
    pub(super) fn end_period(&mut self, now: Instant) -> bool {
        let span = now.saturating_since(self.since);
        if span < PERIOD {
            return false;
        }
        let rate = self.cells as f64 / span.as_secs_f64();
        self.rate = KEPT * self.rate + (1.0 - KEPT) * rate;
        (self.since, self.cells) = (now, 0);
        let patience = (PATIENCE * self.spacing()).clamp(ACTIVE[0], ACTIVE[1]);
        let patience = Duration::from_nanos((patience * 1e9) as u64);
        let last = self.last.iter().flatten();
        let active = last.filter(|at| now.saturating_since(**at) <= patience);
        self.active = (active.count() as f64).max(1.0);
        true
    }

    /// Cells per second.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// Flows that are active: one or more.
    pub(super) const fn active(&self) -> f64 {
        self.active
    }

    /// The mean time between two cells of a flow, in seconds.
    pub(super) fn spacing(&self) -> f64 {
        self.active / self.rate.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_count_while_their_cells_come() {
        let mut arrivals = Arrivals::new();
        let mut run = |millis: std::ops::Range<u64>, flows: usize| {
            for millis in millis {
                let now = Instant::ZERO + Duration::from_millis(millis);
                arrivals.note(now, millis as usize % flows);
                arrivals.end_period(now);
            }
            let rate = arrivals.rate();
            assert!((990.0..1010.0).contains(&rate), "{rate}");
            arrivals.active()
        };
        assert_eq!(run(1..4001, 20), 20.0);
        assert_eq!(run(4001..7001, 5), 5.0);
        arrivals.close(3);
        arrivals.end_period(Instant::ZERO + Duration::from_millis(7200));
        assert_eq!(arrivals.active(), 4.0);
    }
}
