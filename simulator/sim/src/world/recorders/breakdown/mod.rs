//! Where the time of downloads goes.
//!
//! Of every transfer the cell with the last byte is followed: it has a mark, which changes with each
//! transmission, so that what arrives can be told from what was lost. Each machine notes what happens
//! to marked cells there; at the end the notes of all machines are put together, and the way of each
//! cell is read backwards from its delivery (`lives.rs`). What holds a cell back at a node is asked
//! for after each event there (`stays.rs`).

mod account;
mod index;
mod lives;
mod notes;
mod stays;

use hopflow_overlay::StreamHandle;
use hopflow_units::{Bytes, Duration, Instant, LinkId};
use hopflow_wire::{Cell, Frame};

pub(crate) use self::index::{Arriving, FlowAt, FlowIndex, StreamAt};
pub(crate) use self::lives::Lives;
use self::notes::{Departed, Received, Sent};
pub(crate) use self::notes::{Followed, Note};
use self::stays::Stays;
use crate::payload::{DataOffset, Simulated};
use crate::spec::Fetch;
use crate::world::address::LinkEnd;
use crate::world::connections::Connections;
use crate::world::machine::{Machine, Node};
use crate::world::marks::{Crossing, Least, Read, SentCell};
use crate::world::outbox::Arrival;
use crate::world::packets::{Content, Packet, Packets};
use crate::world::routes::Routes;
use crate::world::shared::Shared;

/// A datagram that has been behind its last router for so long is lost.
const LOST: Duration = Duration::from_secs(60);

/// Notes what happens to marked cells at a machine.
#[derive(Clone, Debug)]
pub(crate) struct BreakdownRecorder {
    machine: u32,
    index: FlowIndex,
    stays: Stays,
    notes: Vec<Note>,
    /// The mark of the latest transmission.
    mark: u16,
    /// When packets with marked cells were at the machine's router.
    at_router: Vec<(LinkEnd, Followed, Instant)>,
}

/// The marked cells among frames.
fn marked(frames: &[Frame<Simulated>]) -> impl Iterator<Item = &Cell<Simulated>> {
    frames.iter().filter_map(|frame| match frame {
        Frame::Cell(cell) if cell.payload.mark() > 0 => Some(cell),
        _ => None,
    })
}

impl BreakdownRecorder {
    pub(crate) fn new(machine: u32, index: FlowIndex) -> Self {
        Self {
            machine,
            index,
            stays: Stays::default(),
            notes: Vec::new(),
            mark: Simulated::FIRST_MARK,
            at_router: Vec::new(),
        }
    }

    /// A user or server writes to its stream: what the stream is to take.
    pub(crate) fn on_written(
        &mut self,
        now: Instant,
        stream: (u16, StreamHandle),
        len: Bytes,
    ) -> DataOffset {
        let known = self.index.streams.get_mut(&stream);
        let Some(known) = known else {
            return DataOffset::of(len, false);
        };
        known.written = known.written.wrapping_add(len.get() as u32);
        // What has no end has no last cell.
        let followed = len < Fetch::ENDLESS;
        if followed {
            self.notes.push(Note::Written {
                user: known.user,
                turn: known.turn,
                direction: known.direction,
                end: known.written,
                at: now,
            });
            self.stays.begin(now, stream, known);
        }
        DataOffset::of(len, followed)
    }

    /// A node sends the frames at hand on a link: marked cells get the mark of this transmission.
    pub(crate) fn on_sent(&mut self, at: (u16, LinkId), node: &Node, shared: &mut Shared) {
        let now = shared.now;
        for frame in &mut shared.frames {
            let Frame::Cell(cell) = frame else { continue };
            let before = cell.payload.mark();
            // Few cells are followed.
            if before == 0 {
                continue;
            }
            let flow = self.index.senders.get(&(at.0, at.1, cell.circuit));
            let Some(&flow) = flow else { continue };
            self.mark = self
                .mark
                .checked_add(1)
                .unwrap_or(Simulated::FIRST_MARK + 1);
            cell.payload.set_mark(self.mark);
            let end = cell.payload.end();
            let counters = node.host.counters();
            let stay = self.stays.end(now, (flow, end, before), node);
            self.notes.push(Note::Sent(Sent {
                cell: Followed {
                    flow,
                    end,
                    mark: self.mark,
                },
                before,
                machine: self.machine,
                at: now,
                total: counters.cells_sent + counters.cells_resent,
                stay: stay.map(Box::new),
            }));
        }
    }

    /// Packets have left the uplink: when they are at the machine's router is known.
    pub(crate) fn on_departed(
        &mut self,
        machine: &Machine,
        connections: &mut Connections,
        shared: &Shared,
    ) {
        let (out, routes) = (&shared.out, &shared.routes);
        for arrival in out.arrivals.iter().chain(&out.entries) {
            self.on_packet_departed(arrival, machine, connections, (&shared.packets, routes));
        }
    }

    fn on_packet_departed(
        &mut self,
        arrival: &Arrival,
        machine: &Machine,
        connections: &mut Connections,
        (packets, routes): (&Packets, &Routes),
    ) {
        let packet = &arrival.packet;
        if let Content::Datagram { start, len } = packet.content()
            && marked(packets.frames_of(start, len)).next().is_none()
        {
            return;
        }
        let Some(&(position, link)) = self.index.peers.get(&packet.to) else {
            return;
        };
        let delay = routes.delay(self.machine as usize, packet.to.node.machine());
        let at = Instant::from_nanos(arrival.at.as_nanos() - delay.as_nanos());
        let least = Least::of(machine.up.link().config(), packet.size());
        match packet.content() {
            Content::Datagram { start, len } => {
                for cell in marked(packets.frames_of(start, len)) {
                    let flow = self.index.senders.get(&(position, link, cell.circuit));
                    let cell = flow.map(|&flow| Followed::of(flow, &cell.payload));
                    let note = |cell| {
                        Note::Departed(Departed {
                            cell,
                            at,
                            least,
                            segment: None,
                        })
                    };
                    self.notes.extend(cell.map(note));
                }
            }
            Content::Segment(place) => {
                let end = machine.node(position).links[link.index()].connection;
                let marks = end.and_then(|end| connections.marks(end));
                if let Some(marks) = marks {
                    marks.on_departed(&packets.segment_at(place), (at, least));
                }
            }
        }
    }

    /// A packet is at the machine's router.
    pub(crate) fn on_router(
        &mut self,
        at: Instant,
        packet: &Packet,
        machine: &Machine,
        connections: &mut Connections,
        packets: &Packets,
    ) {
        match packet.content() {
            Content::Datagram { start, len } => {
                for cell in marked(packets.frames_of(start, len)) {
                    if let Some(arriving) = self.index.arriving(packet.to, cell.circuit) {
                        let cell = Followed::of(arriving.flow, &cell.payload);
                        let fresh = |since: Instant| at.saturating_since(since) < LOST;
                        self.at_router.retain(|(_, _, since)| fresh(*since));
                        self.at_router.push((packet.to, cell, at));
                    }
                }
            }
            Content::Segment(place) => {
                let LinkEnd { node, link } = packet.to;
                let end = machine.node(node.position).links[link.index()].connection;
                if let Some(marks) = end.and_then(|end| connections.marks(end)) {
                    marks.on_router(at, &packets.segment_at(place));
                }
            }
        }
    }

    /// A datagram reaches a node of the machine.
    pub(crate) fn on_datagram(
        &mut self,
        now: Instant,
        to: LinkEnd,
        frames: &[Frame<Simulated>],
        least: Least,
    ) {
        for cell in marked(frames) {
            let Some(&arriving) = self.index.arriving(to, cell.circuit) else {
                continue;
            };
            let name = Followed::of(arriving.flow, &cell.payload);
            let known =
                |(end, other, _): &(LinkEnd, Followed, Instant)| (*end, *other) == (to, name);
            let router = self.at_router.iter().position(known);
            let router = router.map_or(now, |place| self.at_router.swap_remove(place).2);
            let crossing = Crossing::datagram(router, now, least);
            self.on_arrived(now, to, (arriving, cell), crossing);
        }
    }

    /// Connections have passed cells to their nodes.
    pub(crate) fn on_read(&mut self, now: Instant, read: &mut Vec<Read>) {
        for Read { at, cell, crossing } in read.drain(..) {
            if let Some(&arriving) = self.index.arriving(at, cell.circuit) {
                self.on_arrived(now, at, (arriving, &cell), crossing);
            }
        }
    }

    fn on_arrived(
        &mut self,
        now: Instant,
        to: LinkEnd,
        (arriving, cell): (Arriving, &Cell<Simulated>),
        crossing: Crossing,
    ) {
        let followed = Followed::of(arriving.flow, &cell.payload);
        self.notes.push(Note::Received(Received {
            cell: followed,
            last: arriving.relay.is_none(),
            machine: self.machine,
            at: now,
            crossing,
        }));
        if let Some(circuit) = arriving.relay {
            let node = to.node.position;
            self.stays.arrive(now, (node, circuit), followed, cell.seq);
        }
    }

    /// An end of a circuit takes a cell.
    pub(crate) fn on_delivered(
        &mut self,
        now: Instant,
        stream: (u16, StreamHandle),
        cell: &Simulated,
    ) {
        if cell.mark() == 0 {
            return;
        }
        if let Some(known) = self.index.streams.get(&stream) {
            self.notes.push(Note::Delivered {
                user: known.user,
                turn: known.turn,
                direction: known.direction.reverse(),
                end: cell.end(),
                mark: cell.mark(),
                machine: self.machine,
                at: now,
            });
        }
    }

    /// Asks what holds the cells back that are at the machine.
    pub(crate) fn ask(&mut self, now: Instant, machine: &Machine) {
        self.stays.ask(now, machine);
    }

    /// All notes of the machine, with those of its connections.
    pub(crate) fn finish(self, connections: &mut Connections) -> Vec<Note> {
        let Self {
            index, mut notes, ..
        } = self;
        for (LinkEnd { node, link }, marks) in connections.take_marks() {
            for sent in marks.into_sent() {
                let name = (node.position, link, sent.circuit);
                if let Some(&flow) = index.senders.get(&name) {
                    notes.extend(notes_of(sent, flow));
                }
            }
        }
        notes
    }
}

/// What a connection knows of a cell, whose hop is `flow`.
fn notes_of(sent: SentCell, flow: FlowAt) -> impl Iterator<Item = Note> {
    let SentCell { end, mark, .. } = sent;
    let cell = Followed { flow, end, mark };
    let first = sent.first.map(|at| Note::First { cell, at });
    let departed = move |(segment, at, least)| {
        Note::Departed(Departed {
            cell,
            at,
            least,
            segment: Some(segment),
        })
    };
    let departed = sent.departed.into_iter().map(departed);
    first.into_iter().chain(departed)
}
