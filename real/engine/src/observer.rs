//! What an engine tells an observer, if its driver installed one.

use std::collections::BTreeMap;
use std::fmt::Debug;

use hopflow_onion::OnionPayload;
use hopflow_overlay::{CircuitHandle, Direction, Host, StreamHandle};
use hopflow_trace::link::Packet;
use hopflow_trace::{Contents, Event, Place, Step, Watch, Way};
use hopflow_units::{Instant, LinkId};
use hopflow_wire::{Cell, CellSeq, Frame};

use crate::types::CircuitKey;

/// Hears what happens at an engine. It learns of cells that they pass and how long they are, but not what
/// they carry, and of links nothing but their numbers.
pub trait Observer: Debug + Send {
    /// A link has frames for the first time: the number by which its packets name it.
    fn on_link(&mut self) -> u32;

    /// Whether it wants packets. It is asked once.
    fn wants_packets(&self) -> bool;

    /// A circuit begins to carry data: the number by which its events name it, or `None` if it is not to be
    /// watched.
    fn on_circuit(&mut self, place: Place) -> Option<u32>;

    /// What has happened since the last turn; false if the observer wants to hear nothing more.
    fn on_turn(&mut self, turn: &mut Turn) -> bool;
}

/// What happened in a turn of the driver. The observer may take all of it, or leave it to be forgotten.
#[derive(Debug, Default)]
pub struct Turn {
    /// Packets of all links, in order.
    pub packets: Vec<Packet>,
    /// Events of circuits that are watched, with their numbers; by time, and simultaneous ones with causes
    /// before their effects.
    pub events: Vec<(u32, Event)>,
    /// Packets and events that there was no room for.
    pub left_out: usize,
}

/// Bytes that what happens in a turn may take; a neighbour may send many frames at once.
const MOST_OF_TURN: usize = 4 << 20;

impl Turn {
    /// Whether nothing happened.
    pub const fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.events.is_empty() && self.left_out == 0
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let packets = self.packets.iter().map(Packet::memory);
        packets.sum::<usize>() + self.events.capacity() * size_of::<(u32, Event)>()
    }
}

/// An observer, and what is kept for it.
#[derive(Debug)]
pub(crate) struct Observing {
    observer: Box<dyn Observer>,
    links: BTreeMap<LinkId, u32>,
    circuits: BTreeMap<CircuitKey, Watched>,
    wants_packets: bool,
    turn: Turn,
    /// Bytes that the turn takes, about.
    taken: usize,
}

/// A circuit that is watched.
#[derive(Debug)]
struct Watched {
    number: u32,
    watch: Watch,
    /// Cells that arrived, by direction, where the carrier keeps their order and they have no numbers.
    arrived: [u64; 2],
}

impl Observing {
    pub(crate) fn new(observer: Box<dyn Observer>) -> Self {
        Self {
            wants_packets: observer.wants_packets(),
            observer,
            links: BTreeMap::new(),
            circuits: BTreeMap::new(),
            turn: Turn::default(),
            taken: 0,
        }
    }

    /// The number of a link.
    pub(crate) fn link(&mut self, link: LinkId) -> u32 {
        let observer = &mut self.observer;
        *self.links.entry(link).or_insert_with(|| observer.on_link())
    }

    /// A link is gone; another one may have its number in the engine.
    pub(crate) fn forget_link(&mut self, link: LinkId) {
        self.links.remove(&link);
    }

    /// A circuit begins to carry data.
    pub(crate) fn add_circuit(&mut self, key: CircuitKey, handle: CircuitHandle, place: Place) {
        if let Some(number) = self.observer.on_circuit(place) {
            let watched = Watched {
                number,
                watch: Watch::new(place, handle),
                arrived: [0; 2],
            };
            self.circuits.insert(key, watched);
        }
    }

    /// A stream of a circuit begins.
    pub(crate) fn add_stream(&mut self, key: CircuitKey, stream: StreamHandle) {
        if let Some(watched) = self.circuits.get_mut(&key) {
            watched.watch.add_stream(stream);
        }
    }

    /// Forgets a circuit that is closed, and notes what `last` says of it.
    pub(crate) fn forget_circuit(&mut self, now: Instant, key: CircuitKey, last: Step) {
        if let Some(watched) = self.circuits.remove(&key) {
            let event = event(now, None, 0, last);
            self.turn.events.push((watched.number, event));
        }
    }

    /// The circuits that are watched.
    pub(crate) fn watched(&self) -> Vec<CircuitKey> {
        self.circuits.keys().copied().collect()
    }

    /// Lets `ask` ask the node what is no longer as it was.
    pub(crate) fn ask(&mut self, now: Instant, host: &dyn Host<OnionPayload>, key: CircuitKey) {
        let Some(watched) = self.circuits.get_mut(&key) else {
            return;
        };
        let (number, events) = (watched.number, &mut self.turn.events);
        watched
            .watch
            .ask(now, host, &mut |direction, stream, step| {
                // The engine knows why, and says so when it forgets the circuit.
                if !matches!(step, Step::Closed(_)) {
                    events.push((number, event(now, direction, stream, step)));
                }
            });
    }

    pub(crate) const fn wants_packets(&self) -> bool {
        self.wants_packets
    }

    pub(crate) fn packet(&mut self, packet: Packet) {
        if self.takes(packet.memory()) {
            self.turn.packets.push(packet);
        }
    }

    /// Whether the turn has room for so many bytes more.
    const fn takes(&mut self, bytes: usize) -> bool {
        let takes = self.taken + bytes <= MOST_OF_TURN;
        if takes {
            self.taken += bytes;
        } else {
            self.turn.left_out += 1;
        }
        takes
    }

    /// A frame of a circuit passes where its `side` leads.
    pub(crate) fn frame(
        &mut self,
        now: Instant,
        (key, side): (CircuitKey, Direction),
        frame: &Frame<Contents>,
        way: Way,
        in_order: bool,
    ) {
        let Some(watched) = self.circuits.get_mut(&key) else {
            return;
        };
        let counted = match frame {
            Frame::Cell(cell) if in_order && way == Way::Received => {
                let arrived = &mut watched.arrived[side.reverse() as usize];
                *arrived += 1;
                let seq = CellSeq::of(*arrived - 1);
                Some(Frame::Cell(Cell { seq, ..*cell }))
            }
            _ => None,
        };
        let frame = counted.as_ref().unwrap_or(frame);
        let (direction, step) = watched.watch.on_frame(side, frame, way);
        let noted = (watched.number, event(now, direction, 0, step));
        if self.takes(size_of_val(&noted)) {
            self.turn.events.push(noted);
        }
    }

    /// A turn is over; false if the observer wants to hear nothing more.
    pub(crate) fn end_turn(&mut self) -> bool {
        if self.turn.is_empty() {
            return true;
        }
        let key = |(_, event): &(u32, Event)| (event.at, event.step.rank());
        self.turn.events.sort_by_key(key);
        let goes_on = self.observer.on_turn(&mut self.turn);
        self.turn = Turn::default();
        self.taken = 0;
        goes_on
    }
}

fn event(at: Instant, direction: Option<Direction>, stream: u32, step: Step) -> Event {
    Event {
        at,
        turn: 0,
        leg: 0,
        stream,
        direction,
        step,
    }
}
