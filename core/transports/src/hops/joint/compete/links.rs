//! Which losses can be those of the access link that all predecessors share.
//!
//! A queue that is full there loses cells of all predecessors, more or less as they send. What one of
//! them alone loses is lost before, or was never sent.

use hopflow_units::{Instant, LinkId};

/// How much of the counts is left after a period of 200 ms: half after seven seconds, some loss events
/// of TCP at the round trips of the Internet.
const KEPT: f64 = 0.98;
/// How many times as often as the others a link may lose cells: bursts do not meet all alike.
const TIMES: f64 = 3.0;
/// Cells that the others are taken to have lost besides: of three that are expected, chance spares all
/// once in twenty times.
const UNSEEN: f64 = 2.0;
/// A link is alone if this part of the cells is its own: what the others lose, if anything, tells
/// little.
const ALONE: f64 = 0.9;

/// The cells that arrived over each link of late, and those that were missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    counts: Vec<Count>,
    total: Count,
    /// The last loss that counted, and the last one on another link.
    last: Option<(LinkId, Instant)>,
    other: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    arrived: f64,
    missing: f64,
}

/// Cells whose loss counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loss {
    pub(super) cells: f64,
    /// When another link lost something last; now if there is no other.
    pub(super) shared: Option<Instant>,
}

impl Links {
    /// A cell arrived over a link.
    pub(super) fn note(&mut self, link: LinkId) {
        if self.counts.len() <= link.index() {
            self.counts.resize(link.index() + 1, Count::default());
        }
        self.counts[link.index()].arrived += 1.0;
        self.total.arrived += 1.0;
    }

    /// Cells are missing on a link: how many of them count, if any.
    pub(super) fn on_missing(&mut self, now: Instant, link: LinkId, cells: f64) -> Option<Loss> {
        let own = self.counts.get_mut(link.index())?;
        let arrived = self.total.arrived - own.arrived;
        let missing = (self.total.missing - own.missing).max(0.0);
        let most = if arrived < 1.0 {
            f64::INFINITY
        } else {
            TIMES * (missing + UNSEEN) * own.arrived / arrived
        };
        let counted = cells.min(most - own.missing);
        own.missing += cells;
        self.total.missing += cells;
        if counted <= 0.0 {
            return None;
        }
        let alone = own.arrived >= ALONE * self.total.arrived;
        let shared = self.witness(now, link);
        Some(Loss {
            cells: counted,
            shared: if alone { Some(now) } else { shared },
        })
    }

    /// When another link lost something last.
    fn witness(&mut self, now: Instant, link: LinkId) -> Option<Instant> {
        let before = self.last.replace((link, now));
        if let Some((_, at)) = before.filter(|(last, _)| *last != link) {
            self.other = Some(at);
        }
        self.other
    }

    /// A period is over.
    pub(super) fn end_period(&mut self) {
        self.total = Count::default();
        for count in &mut self.counts {
            count.arrived *= KEPT;
            count.missing *= KEPT;
            self.total.arrived += count.arrived;
            self.total.missing += count.missing;
        }
    }

    /// A link is gone.
    pub(super) fn forget(&mut self, link: LinkId) {
        if let Some(count) = self.counts.get_mut(link.index()) {
            self.total.arrived -= count.arrived;
            self.total.missing -= count.missing;
            *count = Count::default();
        }
        if self.last.is_some_and(|(last, _)| last == link) {
            (self.last, self.other) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use hopflow_units::Duration;

    use super::*;

    const LINKS: [LinkId; 3] = [LinkId::new(0), LinkId::new(1), LinkId::new(2)];

    /// Links that each have brought so many cells.
    fn links(arrived: [u32; 3]) -> Links {
        let mut links = Links::default();
        for (link, cells) in LINKS.into_iter().zip(arrived) {
            (0..cells).for_each(|_| links.note(link));
        }
        links
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn all_losses_of_a_link_that_is_alone_count() {
        let mut links = links([100, 0, 0]);
        let loss = links.on_missing(at(3), LINKS[0], 1e9).unwrap();
        assert_eq!((loss.cells, loss.shared), (1e9, Some(at(3))));
        links.note(LINKS[1]);
        let loss = links.on_missing(at(4), LINKS[1], 5.0).unwrap();
        assert_eq!(loss.shared, Some(at(3)), "the other is not");
    }

    #[test]
    fn losses_that_all_links_have_count() {
        let mut links = links([1000, 1000, 2000]);
        let mut counted = [0.0; 3];
        for second in 0..100 {
            for (number, cells) in [(0, 2.0), (1, 1.0), (2, 4.0)] {
                let loss = links.on_missing(at(second), LINKS[number], cells);
                counted[number] += loss.map_or(0.0, |loss| loss.cells);
            }
        }
        assert!(counted[0] > 195.0 && counted[1] > 95.0 && counted[2] > 395.0);
    }

    #[test]
    fn losses_that_only_one_link_has_hardly_count_and_nobody_shares_them() {
        let mut links = links([1000, 1000, 1000]);
        let mut counted = 0.0;
        for second in 0..100 {
            if let Some(loss) = links.on_missing(at(second), LINKS[1], 1e9) {
                counted += loss.cells;
                assert_eq!(loss.shared, None);
            }
        }
        assert_eq!(counted, TIMES * UNSEEN / 2.0, "and only at first");
        let loss = links.on_missing(at(100), LINKS[0], 1.0).unwrap();
        assert_eq!(loss.shared, Some(at(0)), "when the other's counted");
    }

    #[test]
    fn who_has_brought_nothing_lost_nothing() {
        let mut links = links([10, 10, 0]);
        assert_eq!(links.on_missing(at(0), LINKS[2], 5.0), None);
        links.forget(LINKS[1]);
        assert_eq!(links.on_missing(at(0), LINKS[1], 5.0), None);
    }
}
