//! What goes wrong at nodes, and when.

use hopflow_units::{Duration, NodeId, Rate};

use super::error::SpecError;
use super::node::NodeSpec;

/// Something that goes wrong at a node, or changes there, for some time.
///
/// All of it is known before the simulation: it depends on no transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The node.
    pub node: NodeId,
    /// When it begins.
    pub from: Duration,
    /// When it is over; `None`: it lasts to the end.
    pub until: Option<Duration>,
    /// What happens.
    pub kind: FaultKind,
}

/// What happens at a node.
///
/// Of several rates, delays or buckets that hold at the same time, the one that began last counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The node's process stops: all circuits over it are closed, and until it is back its machine
    /// neither sends nor receives. Its neighbours notice after `detected`, or when it is back, if that
    /// comes first: they close what they have of these circuits, and tell the others on the path.
    Stop {
        /// How long its neighbours take to notice.
        detected: Duration,
    },
    /// The access link loses every packet that it is handed, in both directions. What was handed to it
    /// before still arrives.
    Outage,
    /// The access link has another rate, in both directions. Packets that wait in a drop-tail queue
    /// when this begins or ends still leave at the rate before.
    Rate(Rate),
    /// The access link has another propagation delay, in both directions, for packets that are sent
    /// from then on.
    Delay(Duration),
    /// The operator sets the token bucket to another rate. A bucket without a depth of its own holds
    /// one second of it. Transports that plan with the rate of the bucket do not learn of it.
    Bucket(Rate),
}

/// A time in which a node is not there: stops that overlap, or follow each other at once, are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Absence {
    /// When it begins.
    pub from: Duration,
    /// When the neighbours notice, which is not after the end. Of several stops the first counts:
    /// nobody can miss again what is not there.
    pub noticed: Duration,
    /// When the node is back; `None`: it stays away.
    pub until: Option<Duration>,
}

impl Absence {
    /// When a node with these faults is not there, in order of time.
    pub fn of(faults: &[Fault]) -> Vec<Self> {
        let mut stops: Vec<_> = faults.iter().filter_map(Self::of_stop).collect();
        stops.sort_by_key(|stop| (stop.from, stop.noticed));
        let mut absences: Vec<Self> = Vec::new();
        for stop in stops {
            match absences.last_mut() {
                Some(last) if last.until.is_none_or(|until| until >= stop.from) => {
                    let ends = last.until.zip(stop.until);
                    last.until = ends.map(|(last, next)| last.max(next));
                }
                _ => absences.push(stop),
            }
        }
        for absence in &mut absences {
            let until = absence.until.unwrap_or(Duration::MAX);
            absence.noticed = absence.noticed.min(until);
        }
        absences
    }

    /// The absence of a stop alone, noticed as if the node did not come back.
    fn of_stop(fault: &Fault) -> Option<Self> {
        let FaultKind::Stop { detected } = fault.kind else {
            return None;
        };
        Some(Self {
            from: fault.from,
            noticed: fault.from + detected,
            until: fault.until,
        })
    }
}

impl Fault {
    pub(super) fn validate(&self, nodes: &[NodeSpec]) -> Result<(), SpecError> {
        let Self {
            node, from, until, ..
        } = *self;
        if node.index() >= nodes.len() {
            return Err(SpecError(format!("{node} has a fault and does not exist")));
        }
        if until.is_some_and(|until| until <= from) {
            let name = &nodes[node.index()].name;
            return Err(SpecError(format!(
                "a fault of {name} that begins at {from} is over before"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(from: u64, until: Option<u64>, detected: u64) -> Fault {
        Fault {
            node: NodeId::new(0),
            from: Duration::from_secs(from),
            until: until.map(Duration::from_secs),
            kind: FaultKind::Stop {
                detected: Duration::from_secs(detected),
            },
        }
    }

    /// From, noticed and until of the absences.
    fn absences(faults: &[Fault]) -> Vec<(u64, u64, Option<u64>)> {
        let secs = |time: Duration| time.as_nanos() / 1_000_000_000;
        let tell = |it: Absence| (secs(it.from), secs(it.noticed), it.until.map(secs));
        Absence::of(faults).into_iter().map(tell).collect()
    }

    #[test]
    fn a_stop_within_another_brings_nobody_back() {
        let faults = [stop(12, Some(13), 1), stop(10, Some(40), 20)];
        assert_eq!(absences(&faults), [(10, 30, Some(40))]);
        let faults = [stop(12, Some(13), 1), stop(10, None, 20)];
        assert_eq!(absences(&faults), [(10, 30, None)]);
    }

    #[test]
    fn stops_that_touch_are_one_and_others_are_not() {
        let faults = [
            stop(30, Some(35), 9),
            stop(10, Some(20), 15),
            stop(20, Some(24), 1),
        ];
        let expected = [(10, 24, Some(24)), (30, 35, Some(35))];
        assert_eq!(absences(&faults), expected);
    }

    #[test]
    fn other_faults_are_no_absence() {
        let outage = Fault {
            kind: FaultKind::Outage,
            ..stop(1, None, 1)
        };
        assert_eq!(absences(&[outage]), []);
    }
}
