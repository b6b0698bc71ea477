//! The circuits of an engine: by key, by their handles in the node, by their alarms; and the
//! circuits of its streams.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_onion::LinkRequest;
use hopflow_overlay::{CircuitHandle, StreamHandle, StreamView};
use hopflow_units::{Bytes, Cells, Instant};
use slotmap::SlotMap;

use super::linked::LinkedSets;
use super::{CircuitState, OpenCircuit, Phase};
use crate::crypt::Crypt;
use crate::origin::Held;
use crate::types::CircuitKey;

/// All circuits.
#[derive(Debug, Default)]
pub(crate) struct CircuitTable {
    circuits: SlotMap<CircuitKey, CircuitState>,
    /// Circuits that carry data.
    by_handle: BTreeMap<CircuitHandle, CircuitKey>,
    alarms: BTreeSet<(Instant, CircuitKey)>,
    /// Circuits that others began.
    begun: Held<CircuitKey>,
    /// Of these, those that carry no data yet.
    nascent: Held<CircuitKey>,
    /// Circuits that clients want linked.
    sets: LinkedSets,
    /// Circuits of streams; some of these streams may be gone.
    streams: BTreeMap<StreamHandle, StreamState>,
}

/// What is kept of a stream.
#[derive(Clone, Copy, Debug)]
struct StreamState {
    circuit: CircuitKey,
    /// To and from the application: one that moves does not make the other look young.
    delivers: Progress,
    packages: Progress,
}

/// How a direction of a stream goes on.
#[derive(Clone, Copy, Default, Debug)]
struct Progress {
    /// What it had moved when it was looked at last.
    moved: Bytes,
    /// Since when it has held data and moved nothing.
    stalled_since: Option<Instant>,
}

impl Progress {
    fn look(&mut self, now: Instant, moved: Bytes, holds: bool) {
        let before = std::mem::replace(&mut self.moved, moved);
        if !holds {
            self.stalled_since = None;
        } else if moved != before {
            self.stalled_since = Some(now);
        } else {
            self.stalled_since.get_or_insert(now);
        }
    }
}

impl StreamState {
    fn look(&mut self, now: Instant, view: Option<StreamView>) {
        let Some(view) = view else { return };
        let (held, pending) = (view.held > Cells::ZERO, view.pending > Bytes::ZERO);
        self.delivers.look(now, view.delivered, held);
        self.packages.look(now, view.packaged, pending);
    }

    /// Since when one of its directions has held data and moved nothing.
    fn stalled_since(&self) -> Option<Instant> {
        let both = [self.delivers, self.packages];
        let since = both.iter().filter_map(|it| it.stalled_since);
        since.min()
    }
}

impl CircuitTable {
    pub(crate) fn len(&self) -> usize {
        self.circuits.len()
    }

    #[inline]
    pub(crate) fn get(&self, key: CircuitKey) -> Option<&CircuitState> {
        self.circuits.get(key)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: CircuitKey) -> Option<&mut CircuitState> {
        self.circuits.get_mut(key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = CircuitKey> + '_ {
        self.circuits.keys()
    }

    /// Circuits that others began.
    pub(crate) const fn begun(&self) -> &Held<CircuitKey> {
        &self.begun
    }

    /// Makes a circuit that carries data a leg of a set; false if it cannot be that one. It may be told again what it
    /// is.
    pub(crate) fn add_leg(&mut self, key: CircuitKey, link: LinkRequest) -> bool {
        let Some(CircuitState {
            phase: Phase::Open(open),
            ..
        }) = self.circuits.get_mut(key)
        else {
            return false;
        };
        if let Some(known) = &open.link {
            return **known == link;
        }
        if !self.sets.takes(&link) {
            return false;
        }
        self.sets.add(&link, key);
        open.link = Some(Box::new(link));
        true
    }

    /// The circuits of a set in the order of its legs, once all are there.
    pub(crate) fn linked(&mut self, link: &LinkRequest) -> Option<Vec<CircuitHandle>> {
        let legs = self.sets.complete(link)?;
        legs.iter()
            .map(|leg| Some(self.opened(*leg)?.handle))
            .collect()
    }

    /// A circuit, and the others of its set if all legs are there.
    pub(crate) fn set_of(&self, key: CircuitKey) -> Vec<CircuitKey> {
        let link = match self.circuits.get(key).map(|circuit| &circuit.phase) {
            Some(Phase::Open(open)) => open.link.as_deref(),
            _ => None,
        };
        let legs = link.and_then(|link| self.sets.complete(link));
        legs.unwrap_or_else(|| vec![key])
    }

    /// Circuits that others began and that carry no data yet.
    pub(crate) const fn nascent(&self) -> &Held<CircuitKey> {
        &self.nascent
    }

    /// Of the network that began most circuits, the oldest that carries no data, or else the oldest.
    pub(crate) fn first_to_go(&self) -> Option<CircuitKey> {
        let heaviest = self.begun.heaviest()?;
        let nascent = self.nascent.oldest_of(heaviest);
        nascent.or_else(|| self.begun.oldest_of(heaviest))
    }

    pub(crate) fn insert(&mut self, circuit: CircuitState) -> CircuitKey {
        let origin = circuit.origin;
        let key = self.circuits.insert(circuit);
        if let Some(origin) = origin {
            self.begun.insert(origin, key);
            self.nascent.insert(origin, key);
        }
        key
    }

    /// Lets a circuit carry data.
    pub(crate) fn open(&mut self, key: CircuitKey, handle: CircuitHandle, crypt: Crypt) {
        if let Some(circuit) = self.circuits.get_mut(key) {
            circuit.phase = Phase::Open(OpenCircuit::new(handle, crypt));
            if let Some(origin) = circuit.origin {
                self.nascent.remove(origin, key);
            }
            self.by_handle.insert(handle, key);
            self.set_alarm(key, None);
        }
    }

    /// Takes a circuit out.
    pub(crate) fn remove(&mut self, key: CircuitKey) -> Option<CircuitState> {
        self.set_alarm(key, None);
        let circuit = self.circuits.remove(key)?;
        if let Some(origin) = circuit.origin {
            self.begun.remove(origin, key);
            self.nascent.remove(origin, key);
        }
        if let Phase::Open(open) = &circuit.phase {
            self.by_handle.remove(&open.handle);
            if let Some(link) = &open.link {
                self.sets.remove(link);
            }
        }
        Some(circuit)
    }

    /// A circuit that carries data.
    #[inline]
    pub(crate) fn opened(&mut self, key: CircuitKey) -> Option<&mut OpenCircuit> {
        match &mut self.circuits.get_mut(key)?.phase {
            Phase::Open(open) => Some(open),
            _ => None,
        }
    }

    /// Circuits that others began and that have carried nothing since then.
    pub(crate) fn idle_since(&self, then: Instant) -> Vec<CircuitKey> {
        let idle = self.circuits.iter().filter(|(_, circuit)| {
            let Phase::Open(open) = &circuit.phase else {
                return false;
            };
            circuit.origin.is_some() && open.idle_since().is_some_and(|since| since <= then)
        });
        idle.map(|(key, _)| key).collect()
    }

    /// All circuits that carry data.
    pub(crate) fn opened_all(&mut self) -> impl Iterator<Item = (CircuitKey, &mut OpenCircuit)> {
        self.circuits
            .iter_mut()
            .filter_map(|(key, circuit)| match &mut circuit.phase {
                Phase::Open(open) => Some((key, open)),
                _ => None,
            })
    }

    /// Whether a circuit carries data.
    #[inline]
    pub(crate) fn is_open(&self, key: CircuitKey) -> bool {
        let phase = self.circuits.get(key).map(|circuit| &circuit.phase);
        matches!(phase, Some(Phase::Open(_)))
    }

    /// The circuit that carries data under this handle.
    pub(crate) fn of(&self, handle: CircuitHandle) -> Option<CircuitKey> {
        self.by_handle.get(&handle).copied()
    }

    /// All circuits that carry data.
    pub(crate) fn open_ones(&self) -> impl Iterator<Item = (CircuitKey, CircuitHandle)> + '_ {
        self.circuits
            .iter()
            .filter_map(|(key, circuit)| match &circuit.phase {
                Phase::Open(open) => Some((key, open.handle)),
                _ => None,
            })
    }

    /// Sets, moves or takes away the time at which a circuit is looked at.
    pub(crate) fn set_alarm(&mut self, key: CircuitKey, at: Option<Instant>) {
        let Some(circuit) = self.circuits.get_mut(key) else {
            return;
        };
        if let Some(old) = std::mem::replace(&mut circuit.alarm, at) {
            self.alarms.remove(&(old, key));
        }
        if let Some(at) = at {
            self.alarms.insert((at, key));
        }
    }

    /// When a circuit is to be looked at; `None` if none is.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        self.alarms.first().map(|(at, _)| *at)
    }

    /// A circuit that is to be looked at by now; its alarm is over.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<CircuitKey> {
        let &(_, key) = self.alarms.first().filter(|(at, _)| *at <= now)?;
        self.set_alarm(key, None);
        Some(key)
    }

    /// Notes that a stream is on a circuit.
    pub(crate) fn add_stream(&mut self, stream: StreamHandle, circuit: CircuitKey) {
        let state = StreamState {
            circuit,
            delivers: Progress::default(),
            packages: Progress::default(),
        };
        self.remove_stream(stream);
        self.streams.insert(stream, state);
        if let Some(open) = self.opened(circuit) {
            open.streams += 1;
        }
    }

    /// Forgets a stream.
    pub(crate) fn remove_stream(&mut self, stream: StreamHandle) {
        let removed = self.streams.remove(&stream);
        if let Some(open) = removed.and_then(|state| self.opened(state.circuit)) {
            open.streams -= 1;
        }
    }

    /// The circuit of a stream.
    pub(crate) fn circuit_of(&self, stream: StreamHandle) -> Option<CircuitKey> {
        self.streams.get(&stream).map(|state| state.circuit)
    }

    /// Streams with their circuits.
    pub(crate) fn streams(&self) -> impl Iterator<Item = (StreamHandle, CircuitKey)> + '_ {
        let streams = self.streams.iter();
        streams.map(|(stream, state)| (*stream, state.circuit))
    }

    /// Looks at all streams: notes since when circuits have streams that stall.
    pub(crate) fn look_at_streams(
        &mut self,
        now: Instant,
        view: impl Fn(StreamHandle) -> Option<StreamView>,
    ) {
        for (_, open) in self.opened_all() {
            open.stalled_since = None;
        }
        let mut streams = std::mem::take(&mut self.streams);
        for (stream, state) in &mut streams {
            state.look(now, view(*stream));
            if let (Some(since), Some(open)) = (state.stalled_since(), self.opened(state.circuit)) {
                let first = open.stalled_since.unwrap_or(since);
                open.stalled_since = Some(first.min(since));
            }
        }
        self.streams = streams;
    }

    /// Forgets the streams that are gone, or whose circuit is.
    pub(crate) fn collect_streams(&mut self, is_there: impl Fn(StreamHandle) -> bool) {
        let gone = self.streams.keys().filter(|stream| !is_there(**stream));
        let gone: Vec<StreamHandle> = gone.copied().collect();
        for stream in gone {
            self.remove_stream(stream);
        }
        let circuits = &self.circuits;
        self.streams
            .retain(|_, state| circuits.contains_key(state.circuit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_units::Duration;

    const START: Instant = Instant::from_nanos(1);

    fn closing() -> CircuitState {
        CircuitState {
            prev: None,
            next: None,
            phase: Phase::Closing,
            created_by: None,
            origin: None,
            alarm: None,
        }
    }

    #[test]
    fn circuits_are_looked_at_in_the_order_of_their_alarms() {
        let mut table = CircuitTable::default();
        let keys: Vec<CircuitKey> = (0..3).map(|_| table.insert(closing())).collect();
        for (key, seconds) in [(keys[0], 3), (keys[1], 1), (keys[2], 2), (keys[0], 4)] {
            table.set_alarm(key, Some(START + Duration::from_secs(seconds)));
        }
        assert_eq!(table.timeout(), Some(START + Duration::from_secs(1)));
        assert_eq!(table.take_due(START), None);
        let late = START + Duration::from_secs(4);
        assert_eq!(table.take_due(late), Some(keys[1]));
        assert!(table.remove(keys[2]).is_some());
        assert_eq!(table.take_due(late), Some(keys[0]));
        assert_eq!((table.take_due(late), table.timeout()), (None, None));
    }

    #[test]
    fn a_circuit_that_is_gone_has_no_alarm_and_no_second_end() {
        let mut table = CircuitTable::default();
        let key = table.insert(closing());
        table.set_alarm(key, Some(START));
        assert!(table.remove(key).is_some());
        assert!(table.remove(key).is_none());
        assert_eq!((table.len(), table.timeout()), (0, None));
        table.set_alarm(key, Some(START));
        assert_eq!(table.timeout(), None);
    }
}
