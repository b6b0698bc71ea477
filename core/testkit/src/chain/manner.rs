//! How the driver treats the nodes, and all chance of a run.

use hopflow_units::{Duration, Instant};

use crate::Rng;

/// Longest time that an adversarial medium stays busy.
const BUSY: Duration = Duration::from_millis(2);
/// Arrivals in an adversarial medium fall on multiples of this, so that many coincide.
const GRID: u64 = 1_000_000;

/// How the driver treats the nodes, always within the contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// Inputs one by one, outputs at once, frames as values.
    Orderly,
    /// Orderly, and every frame is encoded and decoded again.
    WireTrue,
    /// Wire-true, with needless timeouts, outputs that wait, in odd order, and packets that are
    /// split and merged.
    Adversarial,
}

/// Decides what the driver may choose freely within the contract.
#[derive(Debug)]
pub(super) struct Choices {
    manner: Manner,
    rng: Rng,
}

impl Choices {
    pub(super) const fn new(manner: Manner, seed: u64) -> Self {
        Self {
            manner,
            rng: Rng::new(seed),
        }
    }

    pub(super) const fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Whether frames travel encoded.
    pub(super) fn encodes(&self) -> bool {
        self.manner != Manner::Orderly
    }

    fn adversarial(&mut self, probability: f64) -> bool {
        self.manner == Manner::Adversarial && self.rng.chance(probability)
    }

    /// Whether an input comes between timeouts that nobody asked for.
    pub(super) fn adds_timeouts(&mut self) -> bool {
        self.adversarial(0.2)
    }

    /// Until when the medium is busy after a packet, if it is.
    pub(super) fn busy_until(&mut self, now: Instant) -> Option<Instant> {
        self.adversarial(0.1).then(|| now + self.rng.time(BUSY))
    }

    /// Whether what arrives at the same time on the same link comes as one.
    pub(super) fn merges(&mut self) -> bool {
        self.adversarial(0.5)
    }

    /// Takes off the part of an arrival that comes as an input of its own, if any does.
    pub(super) fn split<T>(&mut self, frames: &mut Vec<T>) -> Option<Vec<T>> {
        if frames.len() < 2 || !self.adversarial(0.3) {
            return None;
        }
        let first = 1 + self.rng.below(frames.len() as u64 - 1) as usize;
        Some(frames.split_off(first))
    }

    /// When something arrives that takes until `at`.
    pub(super) fn arrival(&self, at: Instant) -> Instant {
        if self.manner == Manner::Adversarial {
            Instant::from_nanos(at.as_nanos().div_ceil(GRID) * GRID)
        } else {
            at
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orderly_driver_leaves_nothing_to_chance() {
        let mut choices = Choices::new(Manner::Orderly, 1);
        let before = choices.rng.clone().bits();
        assert!(!choices.adds_timeouts() && !choices.merges() && !choices.encodes());
        assert_eq!(choices.busy_until(Instant::ZERO), None);
        assert_eq!(choices.split(&mut vec![1, 2, 3]), None);
        let at = Instant::from_nanos(5);
        assert_eq!(choices.arrival(at), at);
        assert_eq!(choices.rng.bits(), before);
    }

    #[test]
    fn an_adversary_splits_into_two_parts_that_are_not_empty() {
        let mut choices = Choices::new(Manner::Adversarial, 1);
        let splits = (0..100).filter_map(|_| {
            let mut frames = vec![1, 2, 3];
            let behind = choices.split(&mut frames)?;
            Some([frames, behind])
        });
        let splits: Vec<_> = splits.collect();
        assert!(splits.len() > 10 && splits.len() < 60);
        assert!(splits.iter().flatten().all(|part| !part.is_empty()));
        assert!(splits.iter().all(|parts| parts.concat() == [1, 2, 3]));
    }

    #[test]
    fn an_adversary_makes_arrivals_coincide() {
        let choices = Choices::new(Manner::Adversarial, 1);
        let at = |nanos| choices.arrival(Instant::from_nanos(nanos));
        assert_eq!(at(1), at(GRID));
    }
}
