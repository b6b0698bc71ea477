//! What becomes of a machine over time by its faults.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_units::{Duration, Instant, Rate};

use crate::spec::{Absence, AccessSpec, BucketSpec, Fault, FaultKind};

/// A change of an access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkChange {
    Rate(Rate),
    Delay(Duration),
    /// Whether every packet is lost.
    Cut(bool),
}

/// A machine stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stop {
    pub(crate) at: Instant,
    /// When its neighbours notice.
    pub(crate) noticed: Instant,
}

/// The faults of all machines.
#[derive(Debug)]
pub(crate) struct Faults {
    of_machine: BTreeMap<usize, Vec<Fault>>,
    /// When machines stop, of those that do.
    stops: BTreeMap<usize, Vec<Stop>>,
}

impl Faults {
    /// The faults that begin before the end.
    pub(crate) fn new(faults: &[Fault], end: Duration) -> Self {
        let mut of_machine: BTreeMap<usize, Vec<Fault>> = BTreeMap::new();
        for fault in faults.iter().filter(|fault| fault.from < end) {
            of_machine
                .entry(fault.node.index())
                .or_default()
                .push(*fault);
        }
        let stops = of_machine.iter().map(|(machine, faults)| {
            let stop = |absence: Absence| Stop {
                at: Instant::ZERO + absence.from,
                noticed: Instant::ZERO + absence.noticed,
            };
            (
                *machine,
                Absence::of(faults).into_iter().map(stop).collect(),
            )
        });
        let stops = stops.filter(|(_, stops): &(usize, Vec<Stop>)| !stops.is_empty());
        Self {
            stops: stops.collect(),
            of_machine,
        }
    }

    fn of(&self, machine: usize) -> &[Fault] {
        self.of_machine.get(&machine).map_or(&[], Vec::as_slice)
    }

    /// How the access link of a machine changes, in order of time.
    pub(crate) fn link_changes(
        &self,
        machine: usize,
        access: &AccessSpec,
    ) -> Vec<(Instant, LinkChange)> {
        let faults = self.of(machine);
        let rates = values(faults, access.rate, |kind| match kind {
            FaultKind::Rate(rate) => Some(rate),
            _ => None,
        });
        let delays = values(faults, access.delay, |kind| match kind {
            FaultKind::Delay(delay) => Some(delay),
            _ => None,
        });
        let cuts = values(faults, false, |kind| cuts(kind).then_some(true));
        let rates = rates.into_iter().map(|(at, it)| (at, LinkChange::Rate(it)));
        let delays = delays
            .into_iter()
            .map(|(at, it)| (at, LinkChange::Delay(it)));
        let cuts = cuts.into_iter().map(|(at, it)| (at, LinkChange::Cut(it)));
        let mut changes: Vec<_> = rates.chain(delays).chain(cuts).collect();
        changes.sort_by_key(|(at, _)| *at);
        changes
    }

    /// Whether any machine stops.
    pub(crate) fn any_stops(&self) -> bool {
        !self.stops.is_empty()
    }

    /// When a machine stops, and its neighbours notice.
    pub(crate) fn stops(&self, machine: usize) -> impl Iterator<Item = Stop> {
        self.stops.get(&machine).into_iter().flatten().copied()
    }

    /// The same of stops from a time on.
    pub(crate) fn stops_since(&self, machine: usize, from: Instant) -> impl Iterator<Item = Stop> {
        self.stops(machine).filter(move |stop| stop.at >= from)
    }

    /// How often any of these machines stops before a time.
    pub(crate) fn stops_before(&self, machines: [usize; 2], time: Instant) -> usize {
        let stops = machines.into_iter().flat_map(|machine| self.stops(machine));
        stops.filter(|stop| stop.at < time).count()
    }

    /// How the token bucket of a machine changes, in order of time.
    pub(crate) fn bucket_changes(
        &self,
        machine: usize,
        bucket: Option<BucketSpec>,
    ) -> Vec<(Instant, Option<BucketSpec>)> {
        values(self.of(machine), bucket, |kind| match kind {
            FaultKind::Bucket(rate) => Some(Some(bucket.map_or_else(
                || BucketSpec {
                    rate,
                    depth: None,
                    interval: None,
                    reading: false,
                },
                |bucket| BucketSpec { rate, ..bucket },
            ))),
            _ => None,
        })
    }
}

/// Whether the access link is cut meanwhile.
const fn cuts(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Outage | FaultKind::Stop { .. })
}

/// The value that holds from each time on: of the faults that `value` concerns and that hold then, the
/// one that began last says it, and without any it is `usual`.
fn values<T: Copy + PartialEq>(
    faults: &[Fault],
    usual: T,
    value: impl Fn(FaultKind) -> Option<T>,
) -> Vec<(Instant, T)> {
    // At each time those that end, then those that begin, by their number.
    let mut turns = BTreeSet::new();
    for (number, fault) in faults.iter().enumerate() {
        if value(fault.kind).is_some() {
            turns.insert((fault.from, true, number));
            turns.extend(fault.until.map(|until| (until, false, number)));
        }
    }
    let (mut holding, mut values) = (BTreeSet::new(), Vec::<(Instant, T)>::new());
    for (at, begins, number) in turns {
        let fault = &faults[number];
        if begins {
            holding.insert((fault.from, number));
        } else {
            holding.remove(&(fault.from, number));
        }
        let last = holding.last();
        let now = last.and_then(|(_, number)| value(faults[*number].kind));
        let (at, now) = (Instant::ZERO + at, now.unwrap_or(usual));
        // Of what is simultaneous, what comes last counts.
        values.pop_if(|(before, _)| *before == at);
        if values.last().map_or(usual, |(_, before)| *before) != now {
            values.push((at, now));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use hopflow_units::NodeId;

    use super::*;

    fn fault(from: u64, until: Option<u64>, kind: FaultKind) -> Fault {
        Fault {
            node: NodeId::new(0),
            from: Duration::from_secs(from),
            until: until.map(Duration::from_secs),
            kind,
        }
    }

    fn rate(kilobytes: u64) -> Rate {
        Rate::from_kilobytes_per_sec(kilobytes)
    }

    #[test]
    fn of_faults_that_overlap_the_one_that_began_last_counts() {
        let faults = [
            fault(1, Some(9), FaultKind::Rate(rate(10))),
            fault(2, Some(4), FaultKind::Outage),
            fault(3, Some(5), FaultKind::Rate(rate(20))),
            fault(5, Some(6), FaultKind::Rate(rate(30))),
            fault(6, Some(7), FaultKind::Rate(rate(30))),
        ];
        let rates = values(&faults, rate(100), |kind| match kind {
            FaultKind::Rate(rate) => Some(rate),
            _ => None,
        });
        let expected = [(1, 10), (3, 20), (5, 30), (7, 10), (9, 100)];
        let at = |secs| Instant::ZERO + Duration::from_secs(secs);
        assert_eq!(rates, expected.map(|(secs, it)| (at(secs), rate(it))));
    }

    #[test]
    fn a_link_is_cut_as_long_as_any_outage_lasts() {
        let faults = [
            fault(1, Some(4), FaultKind::Outage),
            fault(2, Some(3), FaultKind::Outage),
            fault(4, None, FaultKind::Outage),
        ];
        let cuts = values(&faults, false, |kind| {
            (kind == FaultKind::Outage).then_some(true)
        });
        assert_eq!(cuts, [(Instant::ZERO + Duration::from_secs(1), true)]);
    }
}
