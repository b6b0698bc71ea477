//! Whether this machine kept up with the links between network namespaces.

use std::fmt;

use hopflow_units::Duration;

/// What a packet may come through later than it should without being counted.
const TOLERATED: Duration = Duration::from_millis(1);
/// Lateness packets that change no result, as a share of all.
const HARMLESS: f64 = 0.01;

/// How late packets came through the links: a real network's are not late, this machine is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Lateness {
    packets: u64,
    late: u64,
    most: Duration,
}

impl Lateness {
    /// Counts a packet that came through so much later than it should.
    pub fn note(&mut self, late: Duration) {
        self.packets += 1;
        self.late += u64::from(late > TOLERATED);
        self.most = self.most.max(late);
    }

    /// How many packets came through.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// The part of all packets that came more than a millisecond late, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.late as f64 / self.packets.max(1) as f64
    }

    /// How much later than it should a packet came at most.
    pub const fn most(&self) -> Duration {
        self.most
    }

    /// Whether so many packets came late that results show it.
    pub fn matters(&self) -> bool {
        self.share() > HARMLESS
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (share, most) = (100.0 * self.share(), self.most);
        write!(
            f,
            "{share:.1} % of packets came more than {TOLERATED} late through the links, by {most} at most"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_in_a_hundred_may_be_late() {
        let mut late = Lateness::default();
        assert!(!late.matters());
        late.note(Duration::from_millis(7));
        for _ in 1..100 {
            late.note(Duration::from_millis(1));
        }
        assert!(!late.matters());
        late.note(Duration::from_millis(2));
        assert!(late.matters());
        let said = "2.0 % of packets came more than 1 ms late through the links, by 7 ms at most";
        assert_eq!(late.to_string(), said);
    }
}
