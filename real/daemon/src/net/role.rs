//! What a worker does with its engine's streams: an exit connects them to servers, a client to
//! applications.

use std::collections::BTreeMap;
use std::io;

use hopflow_engine::{Engine, Event, StreamHandle};
use hopflow_onion::OnionPayload;
use hopflow_units::Instant;
use mio::{Interest, Registry, Token};
use slotmap::SlotMap;

use super::change::Change;
use super::owners::Connections;
use super::pipe::{Pipe, State};
use super::tokens::{PlaceKey, Source};
use crate::accounting::Traffic;
use crate::pool::PoolCounts;

/// What a role works with.
#[derive(Debug)]
pub(super) struct Cx<'a> {
    pub(super) now: Instant,
    pub(super) engine: &'a mut Engine,
    pub(super) registry: &'a Registry,
}

/// A role's part of a worker.
pub(super) trait Role: Send {
    /// Something happened at the engine.
    fn on_event(&mut self, cx: &mut Cx<'_>, event: Event);

    /// A connection is there, has something for us, or takes something again.
    fn on_ready(&mut self, cx: &mut Cx<'_>, place: PlaceKey, readable: bool, writable: bool);

    /// Somebody connects.
    fn on_listener(&mut self, cx: &mut Cx<'_>) {
        let _ = cx;
    }

    /// Does what waits to be done; true if that was something.
    fn work(&mut self, cx: &mut Cx<'_>) -> bool;

    /// When [`Role::work`] is due without anything happening.
    fn poll_timeout(&self) -> Instant {
        Instant::FAR_FUTURE
    }

    /// Goes by other limits and another directory from now on.
    fn change(&mut self, change: &Change) {
        let _ = change;
    }

    /// This host has another address: what failed before does not count any more.
    fn on_moved(&mut self, now: Instant) {
        let _ = now;
    }

    /// Takes nothing new while `resting`.
    fn rest(&mut self, resting: bool) {
        let _ = resting;
    }

    /// Takes nothing new from now on.
    fn drain(&mut self, cx: &mut Cx<'_>);

    /// Streams that are there; those that wait for a circuit are [apart](Role::pool).
    fn streams(&self) -> usize;

    /// Whether circuits pass here that others built.
    fn carries_for_others(&self) -> bool {
        false
    }

    /// An exit's connections.
    fn connections(&self) -> Connections {
        Connections::default()
    }

    /// What an exit's connections took and gave.
    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    /// A client's circuits.
    fn pool(&self) -> Option<PoolCounts> {
        None
    }
}

/// A place of a role's table.
#[derive(Debug)]
struct Place<S> {
    entry: Entry<S>,
    /// The stream that it belongs to.
    stream: Option<StreamHandle>,
}

impl<S> Place<S> {
    const fn opening(opening: S) -> Self {
        Self {
            entry: Entry::Opening(opening),
            stream: None,
        }
    }
}

/// What a place of a role's table holds.
#[derive(Debug)]
pub(super) enum Entry<S> {
    /// A connection and its stream move bytes.
    Open(Pipe),
    /// They are not joined yet.
    Opening(S),
    /// They are just being joined.
    Between,
}

/// A role's connections.
#[derive(Debug)]
pub(super) struct Table<S> {
    places: SlotMap<PlaceKey, Place<S>>,
    by_stream: BTreeMap<StreamHandle, PlaceKey>,
    /// Places where something may be moved.
    stirred: Vec<PlaceKey>,
    /// What connections took and gave.
    traffic: Traffic,
    buffer: Vec<u8>,
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Self {
            places: SlotMap::with_key(),
            by_stream: BTreeMap::new(),
            stirred: Vec::new(),
            traffic: Traffic::default(),
            buffer: Vec::new(),
        }
    }
}

impl<S> Table<S> {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Places that have a stream.
    pub(super) fn streams(&self) -> usize {
        self.by_stream.len()
    }

    /// Connections that are joined to streams.
    pub(super) fn pipes(&self) -> impl Iterator<Item = (PlaceKey, &Pipe)> {
        self.places
            .iter()
            .filter_map(|(key, place)| match &place.entry {
                Entry::Open(pipe) => Some((key, pipe)),
                _ => None,
            })
    }

    /// What connections took and gave.
    pub(super) const fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// A place for a connection; its token is for the poll.
    pub(super) fn add(&mut self, opening: S) -> PlaceKey {
        self.places.insert(Place::opening(opening))
    }

    /// A place for a connection that the poll takes, if it does; else the connection is closed.
    pub(super) fn add_with(
        &mut self,
        open: impl FnOnce(PlaceKey) -> io::Result<S>,
    ) -> Option<PlaceKey> {
        self.places
            .try_insert_with_key(|place| open(place).map(Place::opening))
            .ok()
    }

    pub(super) fn token(place: PlaceKey) -> Token {
        Source::Pipe(place).token()
    }

    pub(super) const fn interest() -> Interest {
        Interest::READABLE.add(Interest::WRITABLE)
    }

    pub(super) fn opening(&mut self, place: PlaceKey) -> Option<&mut S> {
        match &mut self.places.get_mut(place)?.entry {
            Entry::Opening(opening) => Some(opening),
            _ => None,
        }
    }

    pub(super) fn pipe(&mut self, place: PlaceKey) -> Option<&mut Pipe> {
        match &mut self.places.get_mut(place)?.entry {
            Entry::Open(pipe) => Some(pipe),
            _ => None,
        }
    }

    /// The stream that a place belongs to.
    pub(super) fn stream(&self, place: PlaceKey) -> Option<StreamHandle> {
        self.places.get(place)?.stream
    }

    /// Notes which stream a place belongs to.
    pub(super) fn name(&mut self, place: PlaceKey, stream: StreamHandle) {
        if let Some(named) = self.places.get_mut(place) {
            named.stream = Some(stream);
            self.by_stream.insert(stream, place);
        }
    }

    /// Makes a pipe of what has a stream and is not joined yet; nothing happens at other places.
    pub(super) fn join(&mut self, place: PlaceKey, join: impl FnOnce(S) -> Pipe) {
        let entry = self.places.get_mut(place).map(|place| &mut place.entry);
        let Some(entry) = entry.filter(|entry| matches!(entry, Entry::Opening(_))) else {
            return;
        };
        if let Entry::Opening(opening) = std::mem::replace(entry, Entry::Between) {
            *entry = Entry::Open(join(opening));
            self.stir(place);
        }
    }

    pub(super) fn place(&self, stream: StreamHandle) -> Option<PlaceKey> {
        self.by_stream.get(&stream).copied()
    }

    pub(super) fn stir(&mut self, place: PlaceKey) {
        if self.stirred.last() != Some(&place) {
            self.stirred.push(place);
        }
    }

    /// A cell of a stream for its connection. Streams without one are not read, or refused.
    pub(super) fn deliver(&mut self, stream: StreamHandle, cell: OnionPayload) {
        if let Some(place) = self.place(stream)
            && let Some(pipe) = self.pipe(place)
        {
            pipe.deliver(cell, 0);
            self.stir(place);
        }
    }

    /// The far end of a stream has finished.
    pub(super) fn finish(&mut self, stream: StreamHandle) {
        if let Some(place) = self.place(stream)
            && let Some(pipe) = self.pipe(place)
        {
            pipe.finish();
            self.stir(place);
        }
    }

    /// Moves bytes where something happened; true if there was such a place. Streams that ended are closed; `told`
    /// hears of them, and of those whose other end takes nothing more.
    pub(super) fn pump(&mut self, cx: &mut Cx<'_>, mut told: impl FnMut(PlaceKey, State)) -> bool {
        if self.stirred.is_empty() {
            return false;
        }
        for place in std::mem::take(&mut self.stirred) {
            let entry = self.places.get_mut(place).map(|place| &mut place.entry);
            let Some(Entry::Open(pipe)) = entry else {
                continue;
            };
            let state = pipe.pump(cx.now, cx.engine, &mut self.buffer);
            self.traffic = self.traffic.with(pipe.take_traffic());
            if matches!(state, State::Over | State::Broken) {
                let stream = pipe.stream();
                cx.engine.close_stream(cx.now, stream);
                self.remove(cx, place);
            }
            if state != State::Open {
                told(place, state);
            }
        }
        true
    }

    /// Forgets a place whose stream was broken off; so is its connection.
    pub(super) fn break_off(&mut self, cx: &Cx<'_>, place: PlaceKey) -> Option<Entry<S>> {
        if let Some(pipe) = self.pipe(place) {
            pipe.break_off();
        }
        self.remove(cx, place)
    }

    /// Forgets a place; its connection is closed.
    pub(super) fn remove(&mut self, cx: &Cx<'_>, place: PlaceKey) -> Option<Entry<S>> {
        let mut removed = self.places.remove(place)?;
        if let Entry::Open(pipe) = &mut removed.entry {
            // The socket is closed in any case.
            let _ = cx.registry.deregister(pipe.socket());
        }
        if let Some(stream) = removed.stream {
            self.by_stream.remove(&stream);
        }
        Some(removed.entry)
    }
}
