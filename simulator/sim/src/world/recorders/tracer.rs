//! Listening at a machine: what happens to chosen circuits there, and which packets pass.
//!
//! The tracer hears of frames and packets that the machine sends or receives. All else it asks for
//! after each event of the lane, and notes what is no longer as it was.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_overlay::{CircuitHandle, Direction, Hold, Host, StreamHandle};
use hopflow_units::{Bytes, CircuitId, Instant, LinkId, NodeId};
use hopflow_wire::{Cell, Frame, Neighbour, Payload, Reason, RelayCommand};

use crate::payload::Simulated;
use crate::trace::{
    CapturedPacket, CapturedStream, CircuitPlace, FlowState, LinkAt, NodeCapture, NodeTrace,
    PacketContent, TraceEvent, TraceStep,
};
use crate::world::address::{LinkEnd, NodeAt};
use crate::world::packets::{Content, Packet, Packets};

/// A step of so much data, from an offset on.
type OfData = fn(Bytes, Bytes) -> TraceStep;

/// A frame's way: it was sent, or received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Sent,
    Received,
}

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
    place: CircuitPlace,
    /// The node's position, and the circuit there.
    at: (u16, CircuitHandle),
    /// The user's stream, where it begins or ends here on this circuit.
    stream: Option<StreamHandle>,
    /// How far the stream was: written, packaged, delivered.
    moved: [Bytes; 3],
    flows: [Flow; 2],
    closed: bool,
    /// The reason in the latest frame that closes the circuit.
    reason: Option<Reason>,
    events: Vec<TraceEvent>,
}

/// What was last seen of a flow.
#[derive(Clone, Copy, Default, Debug)]
struct Flow {
    state: Option<FlowState>,
    queue: Option<Hold>,
    package: Option<Hold>,
    /// The number behind the last cell that was sent for the first time.
    next: u64,
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
    /// A circuit of a user, on one of its legs, at a place there.
    pub(crate) fn new(
        (user, turn, leg): (u32, u32, u32),
        place: CircuitPlace,
        at: (u16, CircuitHandle),
        stream: Option<StreamHandle>,
    ) -> Self {
        Self {
            user,
            turn,
            leg,
            place,
            at,
            stream,
            moved: [Bytes::ZERO; 3],
            flows: [Flow::default(); 2],
            closed: false,
            reason: None,
            events: Vec::new(),
        }
    }

    fn note(&mut self, at: Instant, direction: impl Into<Option<Direction>>, step: TraceStep) {
        self.events.push(TraceEvent {
            at,
            turn: self.turn,
            leg: self.leg,
            direction: direction.into(),
            step,
        });
    }

    /// Notes a frame that leaves, or comes from, where the side leads.
    fn on_frame(&mut self, now: Instant, side: Direction, frame: &Frame<Simulated>, way: Way) {
        let onward = match way {
            Way::Sent => side,
            Way::Received => side.reverse(),
        };
        let direction = match frame {
            Frame::Cell(_) | Frame::Probe(_) => Some(onward),
            Frame::Feedback(_) => Some(onward.reverse()),
            Frame::Message(message) => Some(match message.sender {
                Neighbour::Predecessor => onward,
                Neighbour::Successor => onward.reverse(),
            }),
            Frame::Destroy(destroy) => {
                self.reason = Some(destroy.reason);
                None
            }
        };
        let step = match (way, frame) {
            (Way::Received, _) => TraceStep::Received(frame.clone()),
            (Way::Sent, Frame::Cell(cell)) => {
                let again = self.flows[onward as usize].is_sent_again(cell);
                TraceStep::Sent(frame.clone(), again)
            }
            (Way::Sent, _) => TraceStep::Sent(frame.clone(), false),
        };
        self.note(now, direction, step);
    }

    /// Notes what is no longer as it was.
    fn ask(&mut self, now: Instant, host: &dyn Host<Simulated>) {
        if self.closed {
            return;
        }
        let own = match self.place {
            CircuitPlace::Exit => Direction::Backward,
            _ => Direction::Forward,
        };
        let waits = self.ask_stream(now, own, host);
        for direction in [Direction::Forward, Direction::Backward] {
            let circuit = self.at.1;
            let Some(view) = host.flow_view(circuit, direction) else {
                self.closed = true;
                return self.note(now, None, TraceStep::Closed(self.reason));
            };
            let holding = host.holding(now, circuit, direction);
            let state = FlowState {
                queued: view.queued,
                outstanding: view.outstanding,
                window: view.window,
            };
            let queue = holding.filter(|_| view.queued.get() > 0);
            let package = holding.filter(|_| waits && direction == own);
            let (queue, package) = (queue.map(|it| it.queue), package.map(|it| it.package));
            let before = self.flows[direction as usize];
            let flow = &mut self.flows[direction as usize];
            (flow.state, flow.queue, flow.package) = (Some(state), queue, package);
            if before.state != Some(state) {
                self.note(now, direction, TraceStep::Flow(state));
            }
            if before.queue != queue {
                self.note(now, direction, TraceStep::Queue(queue));
            }
            if before.package != package {
                self.note(now, direction, TraceStep::Package(package));
            }
        }
    }

    /// Notes how far the stream came; returns whether data waits to be packaged.
    fn ask_stream(&mut self, now: Instant, own: Direction, host: &dyn Host<Simulated>) -> bool {
        let view = self.stream.and_then(|stream| host.stream_view(stream));
        let Some(view) = view else { return false };
        let moved = [view.packaged + view.pending, view.packaged, view.delivered];
        let steps: [(OfData, Direction); 3] = [
            (TraceStep::Written, own),
            (TraceStep::Packaged, own),
            (TraceStep::Delivered, own.reverse()),
        ];
        for ((step, direction), which) in steps.into_iter().zip(0..) {
            let before = std::mem::replace(&mut self.moved[which], moved[which]);
            if moved[which] > before {
                self.note(now, direction, step(before, moved[which] - before));
            }
        }
        !view.pending.is_zero()
    }
}

impl Flow {
    /// Whether a hop sends a cell again. Where the ends of a circuit repair, no hop does: there cells
    /// have numbers of the circuit, and acknowledgements none of their own.
    fn is_sent_again(&mut self, cell: &Cell<Simulated>) -> bool {
        let command = cell.payload.header().map(|header| header.command);
        let by_ends = matches!(command, Ok(RelayCommand::Ack | RelayCommand::Ask));
        if by_ends || cell.flags.0 > 0 {
            return false;
        }
        let number = cell.seq.widen(self.next);
        let again = number < self.next;
        self.next = self.next.max(number + 1);
        again
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
            circuit.ask(now, node(circuit.at.0));
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
            place: traced.place,
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
            .sort_by_key(|event| (event.at, rank(&event.step)));
    }
    traces
}

/// What comes first of what is simultaneous: causes before their effects, as far as steps tell.
const fn rank(step: &TraceStep) -> u8 {
    match step {
        TraceStep::Received(_) => 0,
        TraceStep::Written(..) => 1,
        TraceStep::Packaged(..) => 2,
        TraceStep::Sent(..) => 3,
        TraceStep::Delivered(..) => 4,
        TraceStep::Flow(_) | TraceStep::Queue(_) | TraceStep::Package(_) | TraceStep::Closed(_) => {
            5
        }
    }
}
