//! Packets under way, by the time of their arrival.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use hopflow_units::Instant;

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Airborne<P> {
    /// When the last bit arrives.
    pub(crate) arrives: Instant,
    /// Bytes.
    pub(crate) size: u32,
    pub(crate) packet: P,
}

/// The packets under way on one link.
#[derive(Clone, Debug)]
pub(crate) enum Flight<P> {
    /// A ring, and the latest arrival of all packets so far: nothing overtakes.
    InOrder(VecDeque<Airborne<P>>, Instant),
    /// A heap: packets overtake.
    ByArrival(Overtaking<P>),
}

impl<P: Copy> Flight<P> {
    /// An empty flight.
    pub(crate) fn new(overtaking: bool) -> Self {
        if overtaking {
            Self::ByArrival(Overtaking::new())
        } else {
            Self::InOrder(VecDeque::new(), Instant::ZERO)
        }
    }

    /// Adds a packet; without overtaking it arrives no sooner than the packet before it.
    #[inline]
    pub(crate) fn push(&mut self, mut packet: Airborne<P>) {
        match self {
            Self::InOrder(ring, latest) => {
                packet.arrives = packet.arrives.max(*latest);
                *latest = packet.arrives;
                ring.push_back(packet);
            }
            Self::ByArrival(heap) => heap.push(packet),
        }
    }

    /// When the next packet arrives.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        match self {
            Self::InOrder(ring, _) => ring.front().map(|packet| packet.arrives),
            Self::ByArrival(heap) => heap.front().map(|packet| packet.arrives),
        }
    }

    /// Takes the next packet that has arrived by `now`.
    #[inline]
    pub(crate) fn pop_arrived(&mut self, now: Instant) -> Option<Airborne<P>> {
        if self.next_arrival()? > now {
            return None;
        }
        self.pop()
    }

    /// Takes the next packet, whenever it arrives.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Airborne<P>> {
        match self {
            Self::InOrder(ring, _) => {
                let packet = ring.pop_front();
                if ring.is_empty() {
                    // The next one comes to where memory is in the cache.
                    ring.clear();
                }
                packet
            }
            Self::ByArrival(heap) => heap.pop(),
        }
    }

    /// Calls `change` for every packet.
    pub(crate) fn for_each_packet(&mut self, change: &mut impl FnMut(&mut P)) {
        match self {
            Self::InOrder(ring, _) => ring.iter_mut().for_each(|next| change(&mut next.packet)),
            Self::ByArrival(heap) => {
                let mut ranking = std::mem::take(&mut heap.ranking).into_vec();
                for Reverse(next) in &mut ranking {
                    change(&mut next.packet.packet);
                }
                heap.ranking = ranking.into();
            }
        }
    }

    /// Calls `visit` with every packet and when it arrives, in any order.
    pub(crate) fn visit(&self, visit: &mut impl FnMut(Instant, &P)) {
        let mut each = |next: &Airborne<P>| visit(next.arrives, &next.packet);
        match self {
            Self::InOrder(ring, _) => ring.iter().for_each(each),
            Self::ByArrival(heap) => {
                let ranking = heap.ranking.iter();
                ranking.for_each(|Reverse(next)| each(&next.packet));
            }
        }
    }

    /// Packets under way.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::InOrder(ring, _) => ring.len(),
            Self::ByArrival(heap) => heap.ranking.len(),
        }
    }
}

/// Packets that overtake: earliest arrival first, of simultaneous arrivals the one sent first.
#[derive(Clone, Debug)]
pub(crate) struct Overtaking<P> {
    ranking: BinaryHeap<Reverse<Ranked<P>>>,
    /// Packets ever pushed: the sequence number of the next one.
    pushed: u64,
}

impl<P: Copy> Overtaking<P> {
    const fn new() -> Self {
        Self {
            ranking: BinaryHeap::new(),
            pushed: 0,
        }
    }

    fn push(&mut self, packet: Airborne<P>) {
        let sequence = self.pushed;
        self.pushed += 1;
        self.ranking.push(Reverse(Ranked { packet, sequence }));
    }

    fn front(&self) -> Option<&Airborne<P>> {
        self.ranking.peek().map(|Reverse(ranked)| &ranked.packet)
    }

    fn pop(&mut self) -> Option<Airborne<P>> {
        self.ranking.pop().map(|Reverse(ranked)| ranked.packet)
    }
}

/// A packet under way, ordered by arrival and then by sequence.
#[derive(Clone, Copy, Debug)]
struct Ranked<P> {
    packet: Airborne<P>,
    sequence: u64,
}

impl<P> Ranked<P> {
    const fn rank(&self) -> (Instant, u64) {
        (self.packet.arrives, self.sequence)
    }
}

impl<P> PartialEq for Ranked<P> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<P> Eq for Ranked<P> {}

impl<P> PartialOrd for Ranked<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Ranked<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}
