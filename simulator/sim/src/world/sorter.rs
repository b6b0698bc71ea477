//! The packets of a window, lane by lane.

use super::outbox::Arrival;

/// Sorts packets by lane. Nothing is compared: packets are counted first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorter {
    /// Packets of each lane; then where the next of them goes. All zero while nothing is sorted.
    counts: Vec<u32>,
    /// To be used again.
    spare: Sorted,
}

/// Packets of some lanes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorted {
    /// Those of a lane stand together.
    arrivals: Vec<Arrival>,
    /// How many there are up to the end of each lane's.
    ends: Vec<u32>,
}

impl Sorted {
    /// The packets of each lane that is due, in the order of lanes.
    pub(crate) fn parts(&mut self) -> impl Iterator<Item = &mut [Arrival]> {
        let (mut rest, mut begin) = (&mut self.arrivals[..], 0);
        self.ends.iter().map(move |&end| {
            let (first, others) = std::mem::take(&mut rest).split_at_mut((end - begin) as usize);
            (rest, begin) = (others, end);
            first
        })
    }
}

impl Sorter {
    /// Adds the lanes of packets to those that are to be run, puts them in order without repetitions, and
    /// sorts the packets accordingly. There are so many lanes.
    pub(crate) fn sort(
        &mut self,
        arrivals: &[Arrival],
        (lanes, due): (usize, &mut Vec<u32>),
        lane_of: impl Fn(&Arrival) -> u32,
    ) -> Sorted {
        self.counts.resize(lanes, 0);
        for arrival in arrivals {
            let lane = lane_of(arrival);
            let count = &mut self.counts[lane as usize];
            if *count == 0 {
                due.push(lane);
            }
            *count += 1;
        }
        due.sort_unstable();
        due.dedup();
        let mut begin = 0;
        for lane in &*due {
            let count = &mut self.counts[*lane as usize];
            begin += std::mem::replace(count, begin);
        }
        let mut sorted = std::mem::take(&mut self.spare);
        if let Some(any) = arrivals.first() {
            sorted.arrivals.resize(arrivals.len(), *any);
        }
        for arrival in arrivals {
            let place = &mut self.counts[lane_of(arrival) as usize];
            sorted.arrivals[*place as usize] = *arrival;
            *place += 1;
        }
        let ends = due.iter();
        let ends = ends.map(|lane| std::mem::take(&mut self.counts[*lane as usize]));
        sorted.ends.extend(ends);
        sorted
    }

    /// Keeps vectors to be used again, unless they are far larger than what they held: a burst at the
    /// beginning would hold its memory for ever.
    pub(crate) fn give_back(&mut self, mut sorted: Sorted) {
        if sorted.arrivals.capacity() > 4 * sorted.arrivals.len().max(64) {
            sorted.arrivals = Vec::new();
        }
        sorted.arrivals.clear();
        sorted.ends.clear();
        self.spare = sorted;
    }
}
