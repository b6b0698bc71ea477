//! Circuits that a client needs no more, while cells of their streams are under way.
//!
//! A stream ends for the client when its end is in the circuit's queue. The word that a circuit is closed overtakes all
//! cells in all queues, and what the exit has not given to servers is lost.

use std::collections::VecDeque;

use hopflow_engine::{CircuitKey, Engine};
use hopflow_units::{Duration, Instant};

use crate::pool::PoolCircuit;

/// How long nothing has left on a circuit before it is closed: relays may have cells of it, and servers may read slowly
/// what the exit has.
const QUIET: Duration = Duration::from_secs(30);
/// Circuits that wait at most.
pub(super) const MOST: usize = 64;

/// What a client has sent on circuits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Sent {
    /// Cells that left.
    departed: u64,
    /// Cells that wait, or may have to leave again.
    held: u64,
}

impl Sent {
    /// On some circuits.
    pub(super) fn of(engine: &Engine, circuits: &[CircuitKey]) -> Self {
        Self::among(engine, |circuit| circuits.contains(&circuit))
    }

    /// On all circuits.
    pub(super) fn of_all(engine: &Engine) -> Self {
        Self::among(engine, |_| true)
    }

    fn among(engine: &Engine, counts: impl Fn(CircuitKey) -> bool) -> Self {
        let flows = engine.flows().filter(|(circuit, _)| counts(*circuit));
        let forward = flows.filter_map(|(_, [forward, _])| forward);
        forward.fold(Self::default(), |sum, flow| Self {
            departed: sum.departed + flow.departed.get(),
            held: sum.held + flow.held.get(),
        })
    }

    /// Whether nothing waits.
    pub(super) const fn is_all(self) -> bool {
        self.held == 0
    }
}

/// The circuits that wait to be closed.
#[derive(Debug, Default)]
pub(super) struct Closing {
    /// In the order of when they are looked at.
    waiting: VecDeque<Leaving>,
}

#[derive(Clone, Copy, Debug)]
struct Leaving {
    circuit: PoolCircuit,
    /// When it is looked at.
    at: Instant,
    /// What had been sent when it was looked at last.
    sent: Sent,
    /// Whether nothing had left then since it was looked at before, although something waited.
    stuck: bool,
}

impl Closing {
    /// A circuit without streams is to be closed. Returns one that is to be closed at once: this one if it has never
    /// carried anything, or, where too many wait, the first.
    pub(super) fn add(
        &mut self,
        now: Instant,
        circuit: PoolCircuit,
        sent: Sent,
    ) -> Option<PoolCircuit> {
        if sent == Sent::default() {
            return Some(circuit);
        }
        let at = now + QUIET;
        self.waiting.push_back(Leaving {
            circuit,
            at,
            sent,
            stuck: false,
        });
        if self.waiting.len() <= MOST {
            return None;
        }
        self.waiting.pop_front().map(|first| first.circuit)
    }

    /// When a circuit is to be looked at.
    pub(super) fn timeout(&self) -> Option<Instant> {
        self.waiting.front().map(|first| first.at)
    }

    /// Takes a circuit of which nothing waits, and nothing has left since it was looked at last.
    pub(super) fn take_quiet(
        &mut self,
        now: Instant,
        sent: impl Fn(PoolCircuit) -> Sent,
    ) -> Option<PoolCircuit> {
        while let Some(first) = self.waiting.front().copied().filter(|it| it.at <= now) {
            self.waiting.pop_front();
            let sent = sent(first.circuit);
            // Of one that moves nothing for twice as long, nothing more will arrive.
            let stuck = sent == first.sent;
            if stuck && (sent.is_all() || first.stuck) {
                return Some(first.circuit);
            }
            let at = now + QUIET;
            self.waiting.push_back(Leaving {
                at,
                sent,
                stuck,
                ..first
            });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    const fn sent(departed: u64, held: u64) -> Sent {
        Sent { departed, held }
    }

    #[test]
    fn a_circuit_stays_until_all_has_left_and_some_time_longer() {
        let mut closing = Closing::default();
        let [fresh, used] = [1, 2].map(PoolCircuit);
        assert_eq!(closing.add(at(0), fresh, sent(0, 0)), Some(fresh));
        assert_eq!(closing.add(at(0), used, sent(10, 5)), None);
        // Something left; then what left may have to leave again; then all has arrived at the first relay.
        for (seconds, seen) in [(30, sent(15, 1)), (60, sent(15, 1)), (90, sent(15, 0))] {
            assert_eq!(closing.timeout(), Some(at(seconds)));
            assert_eq!(closing.take_quiet(at(seconds), |_| seen), None);
        }
        assert_eq!(closing.take_quiet(at(119), |_| sent(15, 0)), None);
        assert_eq!(closing.take_quiet(at(120), |_| sent(15, 0)), Some(used));
        assert_eq!(closing.timeout(), None);
    }

    #[test]
    fn a_circuit_that_moves_nothing_goes_at_the_second_look() {
        let mut closing = Closing::default();
        let circuit = PoolCircuit(1);
        assert_eq!(closing.add(at(0), circuit, sent(10, 5)), None);
        assert_eq!(closing.take_quiet(at(30), |_| sent(10, 5)), None);
        assert_eq!(closing.take_quiet(at(60), |_| sent(10, 5)), Some(circuit));
    }

    #[test]
    fn few_circuits_wait() {
        let mut closing = Closing::default();
        let most = MOST as u64;
        let mut add = |name| closing.add(at(name), PoolCircuit(name), sent(1, 1));
        assert!((0..most).all(|name| add(name).is_none()));
        assert_eq!(add(most), Some(PoolCircuit(0)));
    }
}
