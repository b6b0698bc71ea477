//! One congestion window for all circuits that enter a node, where others compete for its link.
//!
//! All circuits that a node receives count together as `weight` TCP connections, in the manner of
//! `MulTCP` (Crowcroft and Oechslin, Computer Communication Review 28(3), 1998): the window is that
//! of one [`Cubic`] connection times the weight, and a loss makes it smaller by as much as it would
//! make so many connections on average. A node divides it by the flows that are active, and tells
//! predecessors the part as a grant.

mod arrivals;
mod cubic;
mod links;

use hopflow_units::{Duration, Instant, LinkId, Rate};

use self::arrivals::Arrivals;
use self::cubic::Cubic;
use self::links::Links;
use super::ledger::ON_LINK;

/// Losses are the circuits' own if cells fill the access link to this part: feedback takes some 6 %, and
/// others have next to nothing.
const FULL: f64 = 0.85;
/// For how long a loss means that others compete: CUBIC at the largest windows of these links has a
/// loss more often.
const HOLD: Duration = Duration::from_secs(20);
/// One loss may be a start that went too far; a second one within these times is not.
const AGAIN: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(10)];
/// Losses so soon after competition was found are of the time before.
const SETTLING: Duration = Duration::from_millis(500);
/// The first window holds what arrives in this time, in seconds: some round trip of a hop.
const FIRST: f64 = 0.05;
/// Cells in a packet of TCP.
const SEGMENT: f64 = 1500.0 / ON_LINK;
/// Bounds of a round trip as the window and the rate give it, in seconds.
const TRIP: [f64; 2] = [0.01, 1.0];
/// The longest loss event, in seconds.
const LONGEST: f64 = 2.0;

/// What a node that receives knows of competition for its link.
#[derive(Clone, Debug)]
pub(super) struct Competition {
    weight: f64,
    /// Cells per second that the access link carries.
    capacity: f64,
    connection: Cubic,
    arrivals: Arrivals,
    links: Links,
    /// Until then others count as competing.
    until: Instant,
    /// When the first loss came that may mean it.
    suspected: Option<Instant>,
    /// When it was found.
    found: Instant,
    /// When the last loss event ends, and the cells that it has lost.
    event_ends: Instant,
    lost: f64,
}

impl Competition {
    /// Of a node whose access link carries so much; nothing without a weight, or where that is not
    /// known.
    pub(super) fn new(weight: f64, access: Option<Rate>) -> Option<Self> {
        let access = access.filter(|_| weight > 0.0)?;
        Some(Self {
            weight,
            capacity: access.as_f64() / ON_LINK,
            connection: Cubic::default(),
            arrivals: Arrivals::new(),
            links: Links::default(),
            until: Instant::ZERO,
            suspected: None,
            found: Instant::ZERO,
            event_ends: Instant::ZERO,
            lost: 0.0,
        })
    }

    /// The circuits count as so many connections from now on, each with the window that one had.
    pub(super) const fn weigh(&mut self, weight: f64) {
        self.weight = weight;
    }

    /// A flow is over.
    pub(super) fn close(&mut self, flow: usize) {
        self.arrivals.close(flow);
    }

    /// A link is gone.
    pub(super) fn close_link(&mut self, link: LinkId) {
        self.links.forget(link);
    }

    /// A cell of a flow arrived in order.
    pub(super) fn on_arrival(&mut self, now: Instant, flow: usize, link: LinkId) {
        self.arrivals.note(now, flow);
        self.links.note(link);
        self.end_period(now);
        if now < self.until {
            let segments = 1.0 / (SEGMENT * self.weight);
            let most = self.capacity * TRIP[1] * segments;
            self.connection.grow(now, segments, (self.trip(), most));
        }
    }

    /// So many cells of a link are missing.
    pub(super) fn on_missing(&mut self, now: Instant, link: LinkId, cells: u64) {
        self.end_period(now);
        let Some(loss) = self.links.on_missing(now, link, cells as f64) else {
            return;
        };
        if self.arrivals.rate() >= FULL * self.capacity {
            return;
        }
        if now >= self.until {
            if !self.is_confirmed(now, loss.shared) {
                return;
            }
            self.found = now;
            (self.event_ends, self.lost) = (now, 0.0);
            let cells = FIRST * self.arrivals.rate();
            self.connection = Cubic::starting(cells / (SEGMENT * self.weight));
        }
        if let Some(shared) = loss.shared {
            self.until = self.until.max(shared + HOLD);
        }
        if now.saturating_since(self.found) >= SETTLING {
            self.lose(now, loss.cells);
        }
    }

    fn end_period(&mut self, now: Instant) {
        if self.arrivals.end_period(now) {
            self.links.end_period();
        }
    }

    /// Whether a loss before this one shows that others compete, where another link lost something
    /// at `shared`.
    fn is_confirmed(&mut self, now: Instant, shared: Option<Instant>) -> bool {
        let past = |at: Instant| now.saturating_since(at);
        let Some(first) = self.suspected.filter(|at| past(*at) < AGAIN[1]) else {
            self.suspected = Some(now);
            return false;
        };
        let confirmed =
            past(first) >= AGAIN[0] && shared.is_some_and(|shared| past(shared) < AGAIN[1]);
        if confirmed {
            self.suspected = None;
        }
        confirmed
    }

    /// Cells are lost to competition.
    fn lose(&mut self, now: Instant, cells: f64) {
        if now >= self.event_ends {
            // As long as it is before the window becomes smaller.
            let span = Duration::from_secs_f64(self.span());
            (self.event_ends, self.lost) = (now + span, 0.0);
            self.connection.begin_event();
        }
        self.lost += cells;
        // Of the packets of each connection so many are lost, so for this part of the connections it
        // is one or more.
        let each = self.lost / (SEGMENT * self.weight);
        let trip = self.trip();
        self.connection.reduce(now, 1.0 - libm::exp(-each), trip);
    }

    /// What one flow may have under way, in cells, while others compete.
    pub(super) fn grant(&self, now: Instant) -> Option<f64> {
        (now < self.until).then(|| self.cells() / self.arrivals.active())
    }

    /// Cells that all flows may have under way.
    fn cells(&self) -> f64 {
        self.connection.window() * SEGMENT * self.weight
    }

    /// The mean round trip of the hops, in seconds: what is under way over the rate.
    fn trip(&self) -> f64 {
        (self.cells() / self.arrivals.rate().max(1.0)).clamp(TRIP[0], TRIP[1])
    }

    /// How long a loss event lasts, in seconds: until all flows have slowed down.
    fn span(&self) -> f64 {
        self.trip().max(self.arrivals.spacing()).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: LinkId = LinkId::new(0);
    const OTHER: LinkId = LinkId::new(1);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn node(weight: f64) -> Competition {
        Competition::new(weight, Rate::from_bytes_per_sec(2_000_000)).unwrap()
    }

    /// A node to which cells of a flow come at `rate` per second for 30 s, and which misses `lost` of
    /// them every second from the tenth on.
    fn after_losses(weight: f64, rate: u64, lost: u64) -> Competition {
        let mut node = node(weight);
        for millis in 0..30_000 {
            for _ in 0..rate / 1000 {
                node.on_arrival(at(millis), 0, LINK);
            }
            if lost > 0 && millis >= 10_000 && millis % 1000 == 0 {
                node.on_missing(at(millis), LINK, lost);
            }
        }
        node
    }

    #[test]
    fn without_a_weight_or_a_known_rate_nothing_is_watched() {
        let rate = Rate::from_bytes_per_sec(2_000_000);
        assert!(Competition::new(0.0, rate).is_none());
        assert!(Competition::new(1.0, None).is_none());
    }

    #[test]
    fn who_loses_nothing_competes_with_nobody() {
        assert_eq!(after_losses(1.0, 2000, 0).grant(at(30_000)), None);
    }

    #[test]
    fn competition_ends_some_time_after_the_last_loss() {
        let node = after_losses(1.0, 2000, 1);
        assert!(node.grant(at(48_000)).is_some());
        assert_eq!(node.grant(at(49_001)), None);
    }

    #[test]
    fn who_fills_the_link_competes_with_nobody() {
        // It carries 3656 cells per second.
        assert!(after_losses(1.0, 3000, 1).grant(at(30_000)).is_some());
        assert_eq!(after_losses(1.0, 4000, 1).grant(at(30_000)), None);
    }

    #[test]
    fn a_larger_weight_has_a_larger_window_with_the_same_losses() {
        let [half, one, two] = [0.5, 1.0, 2.0].map(|weight| after_losses(weight, 2000, 2).cells());
        assert!(half < one && one < two, "{half}, {one}, {two}");
    }

    #[test]
    fn a_new_weight_keeps_what_was_learned() {
        let mut node = after_losses(1.0, 2000, 2);
        let before = node.grant(at(30_000)).unwrap();
        node.weigh(3.0);
        let after = node.grant(at(30_000)).unwrap();
        assert!((after - 3.0 * before).abs() < 1e-9, "{before}, {after}");
    }

    #[test]
    fn any_losses_leave_a_window() {
        let node = after_losses(0.001, 1000, 1_000_000_000);
        let grant = node.grant(at(30_000)).unwrap();
        assert!(grant > 0.0 && grant.is_finite(), "{grant}");
    }

    /// The mean grant, if there is any, of a node to which cells of two flows come over two links for a
    /// minute, 1000 per second each, and of which one is missing every so many milliseconds from the
    /// tenth second on.
    fn granted_beside(every: [u64; 2]) -> Option<f64> {
        let mut node = node(1.0);
        let mut grants = Vec::new();
        for millis in 0..60_000 {
            for (flow, link) in [(0, LINK), (1, OTHER)] {
                node.on_arrival(at(millis), flow, link);
                if millis >= 10_000 && millis % every[flow] == 0 {
                    node.on_missing(at(millis), link, 1);
                }
            }
            grants.extend(node.grant(at(millis)));
        }
        (!grants.is_empty()).then(|| grants.iter().sum::<f64>() / grants.len() as f64)
    }

    #[test]
    fn a_neighbour_that_leaves_gaps_competes_with_nobody_where_no_other_has_losses() {
        for every in [1, 10, 100, 1000, 10_000] {
            assert_eq!(granted_beside([every, u64::MAX]), None, "{every}");
        }
    }

    #[test]
    fn where_others_compete_such_a_neighbour_slows_the_rest_as_four_times_their_losses_would() {
        for losses in [800, 2000, 4400] {
            let least = granted_beside([losses / 4; 2]).unwrap();
            for every in [1, 10, 50, 100, 200, 500, 1000, 2000] {
                // Without a grant the others are bound by their words alone.
                let grant = granted_beside([every, losses]);
                assert!(grant.is_none_or(|it| it >= least), "{grant:?} < {least}");
            }
        }
    }
}
