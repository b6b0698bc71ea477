//! What was last seen of a circuit at a node, and so what is no longer as it was.

use hopflow_overlay::{CircuitHandle, Direction, Hold, Host, StreamHandle};
use hopflow_units::{Bytes, Instant};
use hopflow_wire::{Cell, Frame, Neighbour, Payload, Reason};

use crate::event::{Contents, FlowState, Place, Step};

/// Streams of a circuit that are asked about at the same time at most: a client may begin thousands.
const MOST_STREAMS: usize = 64;

/// A step of so much data, from an offset on.
type OfData = fn(Bytes, Bytes) -> Step;

/// A frame's way: it was sent, or received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It leaves the node.
    Sent,
    /// It reached the node.
    Received,
}

/// What was last seen of a circuit at a node.
#[derive(Clone, Debug)]
pub struct Watch {
    place: Place,
    /// The circuit as the node numbers it.
    circuit: CircuitHandle,
    /// Streams that begin or end here.
    streams: Vec<Stream>,
    /// Streams so far.
    begun: u32,
    flows: [Flow; 2],
    closed: bool,
    /// The reason in the latest frame that closes the circuit.
    reason: Option<Reason>,
}

/// A stream, and how far it was: written, packaged, delivered.
#[derive(Clone, Debug)]
struct Stream {
    number: u32,
    handle: StreamHandle,
    moved: [Bytes; 3],
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

/// Takes what is to be noted: the flow, the stream's number, and what happened.
type Note<'a> = &'a mut dyn FnMut(Option<Direction>, u32, Step);

impl Watch {
    /// Nothing was seen yet of a circuit.
    pub fn new(place: Place, circuit: CircuitHandle) -> Self {
        Self {
            place,
            circuit,
            streams: Vec::new(),
            begun: 0,
            flows: [Flow::default(); 2],
            closed: false,
            reason: None,
        }
    }

    /// What the node is to the circuit.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// A stream of the circuit begins or ends here. How far it comes is noted, unless 64 others are open.
    pub fn add_stream(&mut self, handle: StreamHandle) {
        if self.streams.len() < MOST_STREAMS {
            self.streams.push(Stream {
                number: self.begun,
                handle,
                moved: [Bytes::ZERO; 3],
            });
        }
        self.begun += 1;
    }

    /// A frame leaves, or comes from, where the circuit's `side` leads: which flow it is about, and what
    /// happened.
    pub fn on_frame(
        &mut self,
        side: Direction,
        frame: &Frame<Contents>,
        way: Way,
    ) -> (Option<Direction>, Step) {
        let onward = match way {
            Way::Sent => side,
            Way::Received => side.reverse(),
        };
        let direction = match frame {
            Frame::Cell(_) | Frame::Probe(_) => Some(onward),
            Frame::Feedback(_) | Frame::Sack(_) => Some(onward.reverse()),
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
            (Way::Received, _) => Step::Received(frame.clone()),
            (Way::Sent, Frame::Cell(cell)) => {
                let again = self.flows[onward as usize].is_sent_again(cell);
                Step::Sent(frame.clone(), again)
            }
            (Way::Sent, _) => Step::Sent(frame.clone(), false),
        };
        (direction, step)
    }

    /// Notes what is no longer as it was.
    pub fn ask<P: Payload>(&mut self, now: Instant, host: &dyn Host<P>, note: Note<'_>) {
        if self.closed {
            return;
        }
        let own = match self.place {
            Place::Exit => Direction::Backward,
            _ => Direction::Forward,
        };
        let waits = self.ask_streams(own, host, note);
        for direction in [Direction::Forward, Direction::Backward] {
            let Some(view) = host.flow_view(self.circuit, direction) else {
                return self.close(note);
            };
            let holding = host.holding(now, self.circuit, direction);
            let state = FlowState {
                queued: view.queued,
                outstanding: view.outstanding,
                window: view.window,
            };
            let queue = holding.filter(|_| view.queued.get() > 0);
            let package = holding.filter(|_| waits && direction == own);
            let (queue, package) = (queue.map(|it| it.queue), package.map(|it| it.package));
            let flow = &mut self.flows[direction as usize];
            let before = *flow;
            (flow.state, flow.queue, flow.package) = (Some(state), queue, package);
            if before.state != Some(state) {
                note(Some(direction), 0, Step::Flow(state));
            }
            if before.queue != queue {
                note(Some(direction), 0, Step::Queue(queue));
            }
            if before.package != package {
                note(Some(direction), 0, Step::Package(package));
            }
        }
    }

    /// Notes that the circuit is closed, with the reason in the latest frame that said so.
    fn close(&mut self, note: Note<'_>) {
        self.closed = true;
        note(None, 0, Step::Closed(self.reason));
    }

    /// Notes how far streams came; returns whether data waits to be packaged.
    fn ask_streams<P: Payload>(
        &mut self,
        own: Direction,
        host: &dyn Host<P>,
        note: Note<'_>,
    ) -> bool {
        let mut waits = false;
        self.streams.retain_mut(|stream| {
            let Some(view) = host.stream_view(stream.handle) else {
                return false;
            };
            let moved = [view.packaged + view.pending, view.packaged, view.delivered];
            let steps: [(OfData, Direction); 3] = [
                (Step::Written, own),
                (Step::Packaged, own),
                (Step::Delivered, own.reverse()),
            ];
            for ((step, direction), which) in steps.into_iter().zip(0..) {
                let before = std::mem::replace(&mut stream.moved[which], moved[which]);
                if moved[which] > before {
                    let step = step(before, moved[which] - before);
                    note(Some(direction), stream.number, step);
                }
            }
            waits |= !view.pending.is_zero();
            true
        });
        waits
    }
}

impl Flow {
    /// Whether a hop sends a cell again, or the end that repairs did, which the cell's flags say: there
    /// cells have numbers of the circuit, and control cells others.
    fn is_sent_again(&mut self, cell: &Cell<Contents>) -> bool {
        if cell.flags.is_control() {
            return false;
        }
        if cell.flags.is_sent_again() {
            return true;
        }
        let number = cell.seq.widen(self.next);
        let again = number < self.next;
        self.next = self.next.max(number + 1);
        again
    }
}
