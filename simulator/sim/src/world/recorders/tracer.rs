//! Listening at a machine: what happens to chosen circuits there, and which packets pass.
//!
//! The tracer hears of frames and packets that the machine sends or receives. All else it asks for
//! after each event of the lane, and notes what is no longer as it was.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_overlay::{CircuitHandle, Direction, Host, StreamHandle};
use hopflow_trace::{Contents, Event, Place, Step, Watch, Way};
use hopflow_units::{CircuitId, Instant, LinkId, NodeId};
use hopflow_wire::{Cell, Frame, Payload};

use crate::payload::Simulated;
use crate::trace::{CapturedPacket, CapturedStream, LinkAt, NodeCapture, NodeTrace, PacketContent};
use crate::world::address::{LinkEnd, NodeAt};
use crate::world::packets::{Content, Packet, Packets};

/// Notes what happens at a machine.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tracer {
    machine: u32,
    circuits: Vec<Traced>,
    /// The circuits by the names of their sides, with the direction in which these lead.
    sides: BTreeMap<(u16, LinkId, CircuitId), (usize, Direction)>,
    capture: Option<Capture>,
}

/// A circuit at the machine, and what was noted of it.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    user: u32,
    turn: u32,
    leg: u32,
    /// The node's position.
    position: u16,
    watch: Watch,
    events: Vec<Event>,
}

/// Packets, and what streams among them carry.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    /// The other ends of links: of those of the machine, and of their peers.
    peers: BTreeMap<LinkEnd, LinkEnd>,
    /// Those of connections outside the overlay.
    cross: BTreeSet<LinkEnd>,
    packets: Vec<CapturedPacket>,
    /// Frames sent and received over each connection.
    streams: BTreeMap<(u16, LinkId), [Vec<Frame<Simulated>>; 2]>,
}

/// What the other end of a connection wrote and nobody has read here, by the machine's end.
type Arriving = (LinkEnd, Vec<Frame<Simulated>>);

impl Traced {
    /// A circuit of a user, on one of its legs, at a place there; its stream, where it begins or ends
    /// here on this circuit.
    pub(crate) fn new(
        (user, turn, leg): (u32, u32, u32),
        place: Place,
        (position, circuit): (u16, CircuitHandle),
        stream: Option<StreamHandle>,
    ) -> Self {
        let mut watch = Watch::new(place, circuit);
        if let Some(stream) = stream {
            watch.add_stream(stream);
        }
        Self {
            user,
            turn,
            leg,
            position,
            watch,
            events: Vec::new(),
        }
    }

    /// Notes a frame that leaves, or comes from, where the side leads.
    fn on_frame(&mut self, now: Instant, side: Direction, frame: &Frame<Simulated>, way: Way) {
        let (direction, step) = self.watch.on_frame(side, &noted(frame), way);
        self.note(now, (direction, 0, step));
    }

    /// Notes what is no longer as it was.
    fn ask(&mut self, now: Instant, host: &dyn Host<Simulated>) {
        let mut steps = Vec::new();
        self.watch.ask(now, host, &mut |direction, stream, step| {
            steps.push((direction, stream, step));
        });
        for step in steps {
            self.note(now, step);
        }
    }

    fn note(&mut self, at: Instant, (direction, stream, step): (Option<Direction>, u32, Step)) {
        self.events.push(Event {
            at,
            turn: self.turn,
            leg: self.leg,
            stream,
            direction,
            step,
        });
    }
}

/// What is noted of a frame.
fn noted(frame: &Frame<Simulated>) -> Frame<Contents> {
    match frame {
        Frame::Cell(cell) => Frame::Cell(Cell {
            circuit: cell.circuit,
            flags: cell.flags,
            seq: cell.seq,
            payload: contents(&cell.payload),
        }),
        Frame::Feedback(feedback) => Frame::Feedback(*feedback),
        Frame::Sack(sack) => Frame::Sack(sack.clone()),
        Frame::Probe(circuit) => Frame::Probe(*circuit),
        Frame::Destroy(destroy) => Frame::Destroy(*destroy),
        Frame::Message(message) => Frame::Message(message.clone()),
    }
}

fn contents(payload: &Simulated) -> Contents {
    let data = Some(payload).filter(|payload| !payload.is_empty());
    Contents {
        command: payload.header().ok().map(|header| header.command),
        offset: data.map(Simulated::offset),
        length: data.map(Simulated::len),
    }
}

impl Capture {
    /// Nothing, at a machine with these ends of links, each with the other end. `cross` are those of
    /// connections outside the overlay.
    pub(crate) fn new(
        ends: impl Iterator<Item = (LinkEnd, LinkEnd)>,
        cross: impl Iterator<Item = LinkEnd>,
    ) -> Self {
        Self {
            peers: ends
                .flat_map(|(near, far)| [(near, far), (far, near)])
                .collect(),
            cross: cross.collect(),
            packets: Vec::new(),
            streams: BTreeMap::new(),
        }
    }

    /// What was taken down of a machine.
    fn finish(mut self, machine: u32, arriving: impl Iterator<Item = Arriving>) -> NodeCapture {
        for (end, frames) in arriving {
            let at = (end.node.position, end.link);
            let stream = self.streams.entry(at).or_default();
            stream[Way::Received as usize].extend(frames);
        }
        let streams = self.streams.into_iter();
        let streams = streams.map(|((position, link), [sent, received])| {
            let node = NodeAt::new(machine as usize, position);
            CapturedStream {
                near: LinkEnd { node, link }.into(),
                sent,
                received,
            }
        });
        NodeCapture {
            node: NodeId::new(machine),
            packets: self.packets,
            streams: streams.collect(),
        }
    }
}

impl Tracer {
    pub(crate) fn new(machine: u32) -> Self {
        Self {
            machine,
            ..Self::default()
        }
    }

    /// Traces a circuit, whose sides have these names; returns its number here.
    pub(crate) fn add(&mut self, circuit: Traced) -> usize {
        self.circuits.push(circuit);
        self.circuits.len() - 1
    }

    /// Names the side of a circuit that leads in a direction.
    pub(crate) fn name(
        &mut self,
        name: (u16, LinkId, CircuitId),
        circuit: usize,
        direction: Direction,
    ) {
        self.sides.insert(name, (circuit, direction));
    }

    /// Takes all packets of the machine down, too.
    pub(crate) fn capture(&mut self, capture: Capture) {
        self.capture = Some(capture);
    }

    /// A node sends frames over a link, or has received them.
    #[cold]
    pub(crate) fn on_frames(
        &mut self,
        now: Instant,
        (position, link): (u16, LinkId),
        frames: &[Frame<Simulated>],
        way: Way,
    ) {
        for frame in frames {
            let name = (position, link, frame.circuit());
            if let Some(&(circuit, side)) = self.sides.get(&name) {
                self.circuits[circuit].on_frame(now, side, frame, way);
            }
        }
    }

    /// The same over a connection.
    #[cold]
    pub(crate) fn on_stream(
        &mut self,
        now: Instant,
        at: (u16, LinkId),
        frames: &[Frame<Simulated>],
        way: Way,
    ) {
        self.on_frames(now, at, frames, way);
        if let Some(capture) = &mut self.capture {
            let stream = capture.streams.entry(at).or_default();
            stream[way as usize].extend_from_slice(frames);
        }
    }

    /// A packet passes between the machine and its access link.
    #[cold]
    pub(crate) fn on_packet(&mut self, now: Instant, packet: Packet, packets: &Packets, way: Way) {
        let Some(capture) = &mut self.capture else {
            return;
        };
        let peer = capture.peers[&packet.to];
        let (near, far) = match way {
            Way::Sent => (peer, packet.to),
            Way::Received => (packet.to, peer),
        };
        let content = match packet.content() {
            Content::Datagram { start, len } => {
                PacketContent::Datagram(packets.frames_of(start, len).to_vec())
            }
            Content::Segment(place) => {
                let segment = packets.segment_at(place);
                if capture.cross.contains(&near) {
                    PacketContent::Cross(segment)
                } else {
                    PacketContent::Segment(segment)
                }
            }
        };
        capture.packets.push(CapturedPacket {
            at: now,
            sent: way == Way::Sent,
            near: near.into(),
            far: far.into(),
            content,
        });
    }

    /// An event at the machine is over, whose nodes are found by their positions.
    pub(crate) fn after_event<'a>(
        &mut self,
        now: Instant,
        node: impl Fn(u16) -> &'a dyn Host<Simulated>,
    ) {
        for circuit in &mut self.circuits {
            circuit.ask(now, node(circuit.position));
        }
    }

    /// What was noted of circuits, and of packets, given what is still on its way to the machine.
    pub(crate) fn finish(
        self,
        arriving: impl Iterator<Item = Arriving>,
    ) -> (impl Iterator<Item = NodeTrace>, Option<NodeCapture>) {
        let node = NodeId::new(self.machine);
        let traces = self.circuits.into_iter().map(move |traced| NodeTrace {
            circuit: traced.user,
            node,
            place: traced.watch.place(),
            events: traced.events,
        });
        let capture = self.capture;
        let capture = capture.map(|capture| capture.finish(self.machine, arriving));
        (traces, capture)
    }
}

impl From<LinkEnd> for LinkAt {
    fn from(LinkEnd { node, link }: LinkEnd) -> Self {
        Self {
            node: NodeId::new(node.machine() as u32),
            position: node.position,
            link,
        }
    }
}

/// The traces of all machines, by circuit, then from the client on; what a node has of several of a
/// user's circuits is one.
pub(super) fn merge(mut traces: Vec<NodeTrace>) -> Vec<NodeTrace> {
    let key = |trace: &NodeTrace| (trace.circuit, trace.place, trace.node);
    traces.sort_by_key(key);
    traces.dedup_by(|next, trace| {
        let same = key(next) == key(trace);
        if same {
            trace.events.append(&mut next.events);
        }
        same
    });
    for trace in &mut traces {
        trace
            .events
            .sort_by_key(|event| (event.at, event.step.rank()));
    }
    traces
}
