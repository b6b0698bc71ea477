//! Streams at the ends of circuits.

use bytes::BytesMut;
use hopflow_onion::OnionPayload;
use hopflow_overlay::{StreamHandle, StreamSpec, StreamView};
use hopflow_units::{Bytes, Cells, Instant, StreamId};
use hopflow_wire::{Payload, RelayCommand};

use super::Engine;
use crate::types::{CircuitKey, Network};

/// Application bytes of a stream that wait to be packaged at most.
const STREAM_BUFFER: u64 = 128 * 1024;
/// What streams of a circuit share of that: each gets its part when it writes, and keeps what it has.
const CIRCUIT_BUFFER: u64 = 4 << 20;
/// What a stream has of that at least: two cells.
const LEAST_BUFFER: u64 = 1024;

impl Engine {
    /// Begins a stream on a circuit that we built, or on all legs of a [linked](Self::link) set, in their
    /// order; `target` says where it leads and fits one cell. `None` if it does not fit, or a circuit is not
    /// ready or has no place for a stream.
    pub fn open_stream(
        &mut self,
        now: Instant,
        circuits: &[CircuitKey],
        target: &[u8],
    ) -> Option<StreamHandle> {
        if target.len() > OnionPayload::capacity(RelayCommand::Begin) {
            return None;
        }
        let circuit = *circuits.first()?;
        let (mut legs, mut given) = (Vec::new(), 0);
        for leg in circuits {
            let open = self.circuits.opened(*leg)?;
            legs.push(open.handle);
            given = given.max(open.next_stream);
        }
        // A name comes up again after 65,535 streams; so long no circuit is kept.
        let name = given.checked_add(1)?;
        let spec = StreamSpec {
            id: StreamId::new(name),
            legs,
            hold: self.most_early(),
        };
        let stream = self.host.open_stream(&spec)?;
        for leg in circuits {
            self.circuits.opened(*leg)?.next_stream = name;
        }
        let len = Bytes::new(target.len() as u64);
        self.host
            .begin_stream(now, stream, BytesMut::from(target), len);
        self.add_stream(stream, circuit);
        Some(stream)
    }

    /// Notes which circuit a stream has.
    pub(super) fn add_stream(&mut self, stream: StreamHandle, circuit: CircuitKey) {
        self.circuits.add_stream(stream, circuit);
        if let Some(observing) = &mut self.observer {
            observing.add_stream(circuit, stream);
        }
    }

    /// Takes data for a stream and returns how much; [`Event::Writable`](crate::Event::Writable) follows if that was not
    /// all.
    pub fn write(&mut self, now: Instant, stream: StreamHandle, data: &[u8]) -> usize {
        let Some(view) = self.host.stream_view(stream) else {
            return data.len();
        };
        let buffer = self.buffer_of(stream);
        let room = buffer.saturating_sub(view.pending.get()) as usize;
        let taken = room.min(data.len());
        if taken > 0 {
            let len = Bytes::new(taken as u64);
            self.host
                .write(now, stream, BytesMut::from(&data[..taken]), len);
        }
        if taken < data.len() {
            self.host.notify_below(stream, Bytes::new(buffer / 2));
        }
        taken
    }

    /// How much of a stream may wait to be packaged: the streams of a circuit share what that may hold.
    fn buffer_of(&mut self, stream: StreamHandle) -> u64 {
        let circuit = self.circuits.circuit_of(stream);
        let open = circuit.and_then(|key| self.circuits.opened(key));
        let streams = open.map_or(1, |open| open.streams.max(1) as u64);
        (CIRCUIT_BUFFER / streams).clamp(LEAST_BUFFER, STREAM_BUFFER)
    }

    /// Says that no more data of a stream follows. [`Event::Writable`](crate::Event::Writable) follows once all of it is
    /// on its way: a stream that is closed earlier is broken off.
    pub fn finish(&mut self, now: Instant, stream: StreamHandle) {
        self.host.finish_stream(now, stream);
        self.host.notify_below(stream, Bytes::new(1));
    }

    /// Ends a stream; breaks it off unless both ends have finished.
    pub fn close_stream(&mut self, now: Instant, stream: StreamHandle) {
        if let Some(circuit) = self.circuits.circuit_of(stream) {
            self.observe_last(now, circuit);
        }
        self.circuits.remove_stream(stream);
        self.host.close_stream(now, stream);
    }

    /// Says how many cells of a stream's data are taken from now on, those that wait first;
    /// [`Cells::MAX`] is all. At first it is all at a client, and none at an exit.
    pub fn set_credit(&mut self, now: Instant, stream: StreamHandle, credit: Cells) {
        self.host.set_credit(now, stream, credit);
    }

    /// The circuit of a stream; `None` if it is gone.
    pub fn circuit_of(&self, stream: StreamHandle) -> Option<CircuitKey> {
        self.circuits.circuit_of(stream)
    }

    /// Who began a circuit; `None` if we did, or it is gone.
    pub fn network_of(&self, circuit: CircuitKey) -> Option<Network> {
        let origin = self.circuits.get(circuit)?.origin?;
        Some(Network(origin.prefix))
    }

    /// The present state of a stream; `None` if there is none.
    pub fn stream_view(&self, stream: StreamHandle) -> Option<StreamView> {
        self.host.stream_view(stream)
    }
}
