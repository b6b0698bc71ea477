//! The circuits that users have after relays stopped.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hopflow_sim::spec::{Absence, Fault, Rebuilt};
use hopflow_units::{Duration, NodeId};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::quantity::Text;

/// How long a user takes to have a new circuit: a time, or `"never"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuild {
    /// So long after its client learned that the circuit is closed.
    After(Duration),
    /// It stays without one.
    Never,
}

/// Draws of a path before its relays must come back.
const PATIENCE: usize = 100;

/// The paths of a circuit, the first one first, and its further ones.
type Paths = (Vec<NodeId>, Vec<Vec<NodeId>>);

/// When relays are not there.
#[derive(Debug)]
pub(super) struct Stops {
    of_relay: BTreeMap<NodeId, Vec<Absence>>,
    end: Duration,
}

impl Stops {
    pub(super) fn new(faults: &[Fault], end: Duration) -> Self {
        let mut of_relay: BTreeMap<NodeId, Vec<Fault>> = BTreeMap::new();
        for fault in faults {
            of_relay.entry(fault.node).or_default().push(*fault);
        }
        let of_relay = of_relay.into_iter();
        let of_relay = of_relay.map(|(relay, faults)| (relay, Absence::of(&faults)));
        Self {
            of_relay: of_relay.collect(),
            end,
        }
    }

    fn of<'a>(&'a self, (path, legs): &'a Paths) -> impl Iterator<Item = (NodeId, Absence)> {
        let relays = path.iter().chain(legs.iter().flatten());
        relays.flat_map(|relay| {
            let stops = self.of_relay.get(relay).into_iter().flatten();
            stops.map(|stop| (*relay, *stop))
        })
    }

    /// The stop of a circuit's relays, of those from a time on, that its client hears of first.
    fn first(&self, paths: &Paths, from: Duration) -> Option<Absence> {
        let stops = self.of(paths).map(|(_, stop)| stop);
        let stops = stops.filter(|stop| stop.from >= from);
        stops.min_by_key(|stop| (stop.noticed, stop.from))
    }

    /// The first time from `from` on at which all relays of a circuit are there; `None` if that is
    /// never.
    fn there(&self, paths: &Paths, from: Duration) -> Option<Duration> {
        let mut time = from;
        loop {
            let covers =
                |stop: &Absence| stop.from <= time && stop.until.is_none_or(|until| until > time);
            let mut covering = self.of(paths).filter(|(_, stop)| covers(stop));
            let Some((_, stop)) = covering.next() else {
                return Some(time);
            };
            drop(covering);
            time = stop.until?;
        }
    }

    /// The circuits that a user has, one after the other, when the relays of the ones before stop.
    /// Each is drawn anew until all its relays are there. Where none is found, or `draw` gives none,
    /// the user waits for the relays of the last one that come back, the circuit before included.
    pub(super) fn rebuilt(
        &self,
        first: Paths,
        after: Duration,
        mut draw: impl FnMut() -> Option<Paths>,
    ) -> Vec<Rebuilt> {
        let mut rebuilt = Vec::new();
        // With the relay that acts as the client the user is gone; a client of its own never stops.
        let own = first.0.first().and_then(|node| self.of_relay.get(node));
        let gone = own.into_iter().flatten().map(|stop| stop.from).min();
        let possible = |from: &Duration| *from < self.end && gone.is_none_or(|gone| *from <= gone);
        let there = |paths: &Paths, ready| self.there(paths, ready).filter(possible);
        let (mut paths, mut since) = (first, Duration::ZERO);
        while let Some(stop) = self.first(&paths, since) {
            // Later than the stop itself, even if nobody takes any time.
            let ready = stop.noticed.max(stop.from + Duration::from_nanos(1)) + after;
            let mut back = there(&paths, ready);
            for _ in 0..PATIENCE {
                let Some(drawn) = draw() else { break };
                let Some(from) = there(&drawn, ready) else {
                    continue;
                };
                (paths, back) = (drawn, Some(from));
                if from == ready {
                    break;
                }
            }
            let Some(from) = back else { break };
            rebuilt.push(Rebuilt {
                path: paths.0.clone(),
                legs: paths.1.clone(),
                after,
                from,
            });
            since = from;
        }
        rebuilt
    }
}

impl<'de> Deserialize<'de> for Rebuild {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "never" => Ok(Self::Never),
            text => text
                .parse()
                .map(Self::After)
                .map_err(|error| serde::de::Error::custom(format_args!("{error}; or \"never\""))),
        }
    }
}

impl Serialize for Rebuild {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::After(time) => serializer.collect_str(time),
            Self::Never => serializer.serialize_str("never"),
        }
    }
}

impl JsonSchema for Rebuild {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Rebuild".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = Text::<Duration>::json_schema(generator);
        json_schema!({ "anyOf": [{ "const": "never" }, time] })
    }
}

#[cfg(test)]
mod tests {
    use hopflow_sim::spec::FaultKind;

    use super::*;

    fn stop(relay: u32, from: u64, until: Option<u64>) -> Fault {
        Fault {
            node: NodeId::new(relay),
            from: Duration::from_secs(from),
            until: until.map(Duration::from_secs),
            kind: FaultKind::Stop {
                detected: Duration::from_secs(2),
            },
        }
    }

    /// When a user of relay 1, who may draw relay 2, has new circuits, and which relay they have.
    fn rebuilt(faults: &[Fault], drawn: bool) -> Vec<(u64, u32)> {
        let path = |relay| (vec![NodeId::new(0), NodeId::new(relay)], Vec::new());
        let stops = Stops::new(faults, Duration::from_secs(100));
        let mut relays = [2, 1, 2].into_iter().cycle();
        let after = Duration::from_secs(1);
        let rebuilt = stops.rebuilt(path(1), after, || {
            drawn.then(|| path(relays.next().expect("it never ends")))
        });
        let tell = |it: &Rebuilt| (it.from.as_nanos() / 1_000_000_000, it.path[1].get());
        rebuilt.iter().map(tell).collect()
    }

    #[test]
    fn a_new_path_avoids_relays_that_are_not_there() {
        let faults = [
            stop(1, 10, Some(30)),
            stop(2, 15, Some(40)),
            stop(1, 50, None),
        ];
        // Relay 1 is missed at 12 s, and relay 2 at 17 s: neither is there until 30 s.
        assert_eq!(rebuilt(&faults, true), [(13, 2), (30, 1), (53, 2)]);
    }

    #[test]
    fn a_fixed_path_waits_for_its_relays() {
        let faults = [
            stop(1, 10, Some(11)),
            stop(1, 20, Some(40)),
            stop(1, 50, None),
        ];
        // A relay that is back early is noticed then.
        assert_eq!(rebuilt(&faults, false), [(12, 1), (40, 1)]);
    }

    #[test]
    fn a_path_whose_relay_never_returns_does_not_count() {
        // Neither is there at 13 s. The last of a hundred draws is relay 2, which stays away.
        let faults = [stop(1, 10, Some(30)), stop(2, 5, None)];
        assert_eq!(rebuilt(&faults, true), [(30, 1)]);
        let faults = [stop(1, 10, None), stop(2, 5, Some(30))];
        assert_eq!(rebuilt(&faults, true), [(30, 2)]);
        let faults = [stop(1, 10, None), stop(2, 5, None)];
        assert_eq!(rebuilt(&faults, true), []);
    }

    #[test]
    fn a_stop_within_a_longer_one_brings_no_new_circuit() {
        let longer = Fault {
            kind: FaultKind::Stop {
                detected: Duration::from_secs(20),
            },
            ..stop(1, 10, Some(40))
        };
        let faults = [longer, stop(1, 12, Some(13))];
        // Missed at 30 s, a second for the circuit, and there at 31 s: relay 2 never stops.
        assert_eq!(rebuilt(&faults, true), [(31, 2)]);
    }
}
