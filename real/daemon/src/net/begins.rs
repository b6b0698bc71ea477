//! How often streams are begun at an exit.
//!
//! A stream that is begun costs the exit a name to look up and up to eight connections, whether it lasts or
//! not; a port of its own rests for a minute after many of them.

use hopflow_engine::{CircuitKey, Meter, Network, Pace};
use hopflow_units::{Duration, Instant};

use super::ranks::Owner;

/// Time between two looks at who has begun none for long.
const FORGET: Duration = Duration::from_secs(10);

/// How often streams may be begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paces {
    /// On a circuit.
    pub(super) circuit: Pace,
    /// On all circuits of a network; of relays of the directory, on as many times as their share.
    pub(super) network: Pace,
}

/// What becomes of a stream that is begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Begun {
    /// It may be.
    Counted,
    /// Its circuit begins too many.
    TooManyOnCircuit,
    /// All circuits of its network do.
    TooManyOfNetwork,
}

/// Streams that circuits and networks begin.
#[derive(Debug, Default)]
pub(super) struct Begins {
    circuits: Meter<CircuitKey>,
    networks: Meter<Network>,
    forget_at: Instant,
}

impl Begins {
    /// Counts one more stream, if it may be begun.
    pub(super) fn count(&mut self, now: Instant, owner: Owner, paces: Paces) -> Begun {
        if now >= self.forget_at {
            self.circuits.forget(now);
            self.networks.forget(now);
            self.forget_at = now + FORGET;
        }
        // A circuit that begins too many takes nothing of what the others of its network may begin.
        let Owner { network, circuit } = owner;
        if !self.circuits.allows(now, circuit, paces.circuit, 1) {
            return Begun::TooManyOnCircuit;
        }
        let share = network.share();
        if !self.networks.allows(now, network, paces.network, share) {
            return Begun::TooManyOfNetwork;
        }
        Begun::Counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotmap::SlotMap;

    const PACES: Paces = Paces {
        circuit: Pace {
            per_second: 10,
            burst: 20,
        },
        network: Pace {
            per_second: 100,
            burst: 50,
        },
    };

    #[test]
    fn a_circuit_and_a_network_begin_as_many_streams_as_they_may() {
        let mut keys = SlotMap::<CircuitKey, ()>::with_key();
        let mut owner = |network| Owner {
            network: Network::of([10, 0, network, 1].into()),
            circuit: keys.insert(()),
        };
        let mut begins = Begins::default();
        let mut begun = |now, owner| {
            let tries = 0..100;
            let begun = tries.filter(|_| begins.count(now, owner, PACES) == Begun::Counted);
            begun.count()
        };
        let start = Instant::from_nanos(5);
        let (first, second, third, other) = (owner(1), owner(1), owner(1), owner(2));
        let at_once = [first, second, third, other].map(|owner| begun(start, owner));
        assert_eq!(at_once, [20, 20, 10, 20]);
        let later = start + Duration::from_secs(1);
        assert_eq!(begun(later, first), 10);
        // Who is forgotten is who may begin as many as at first.
        assert_eq!(begun(start + FORGET + FORGET, other), 20);
    }
}
