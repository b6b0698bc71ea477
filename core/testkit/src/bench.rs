//! A single node whose neighbours a test plays by hand.

use hopflow_overlay::{
    CircuitHandle, CircuitSpec, Event, Factory, HopSpec, Host, NodeEnv, Plan, StreamHandle,
    StreamSpec, Violation,
};
use hopflow_units::{Bytes, Cells, CircuitId, Duration, Instant, LinkId, NodeId, StreamId};
use hopflow_wire::{
    Arrived, Carrier, Cell, CellFlags, CellSeq, Feedback, Frame, Payload, Reason, RelayCommand,
    RelayHeader, Sack,
};

use crate::Counted;

/// A node with one circuit and one stream.
///
/// The circuit has the name [`Bench::CIRCUIT`] on all links, the stream is [`Bench::STREAM`].
#[derive(Debug)]
pub struct Bench {
    /// The node.
    pub host: Box<dyn Host<Counted>>,
    /// The time.
    pub now: Instant,
    /// The transport's plan.
    pub plan: Plan,
    /// The circuit.
    pub circuit: CircuitHandle,
    /// The stream, where the circuit begins or ends here.
    pub stream: Option<StreamHandle>,
}

/// What a node has put out.
#[derive(Debug, Default)]
pub struct Sent {
    /// Frames by link.
    pub frames: Vec<(LinkId, Frame<Counted>)>,
    /// Application bytes delivered.
    pub delivered: Bytes,
    /// Why circuits were closed.
    pub closed: Vec<Reason>,
    /// What neighbours did where that is why.
    pub violations: Vec<Violation>,
}

impl Bench {
    /// The circuit's name on every link.
    pub const CIRCUIT: CircuitId = CircuitId::new(1);
    /// The stream's name.
    pub const STREAM: StreamId = StreamId::new(1);
    /// Room that a stream carrier is offered at first.
    pub const ROOM: Bytes = Bytes::new(1 << 16);

    /// A client: the circuit leads to link 0.
    pub fn client(factory: &dyn Factory<Counted>) -> Self {
        Self::new(factory, None, Some(0), 1)
    }

    /// A relay: the circuit comes from link 0 and leads to link 1.
    pub fn relay(factory: &dyn Factory<Counted>) -> Self {
        Self::new(factory, Some(0), Some(1), 2)
    }

    /// An exit: the circuit comes from link 0.
    pub fn exit(factory: &dyn Factory<Counted>) -> Self {
        Self::new(factory, Some(0), None, 1)
    }

    fn new(
        factory: &dyn Factory<Counted>,
        prev: Option<u32>,
        next: Option<u32>,
        links: u32,
    ) -> Self {
        let plan = factory.plan();
        let mut host = factory.node(&NodeEnv {
            node: NodeId::new(0),
            bucket: None,
            access: None,
            phase: 0.5,
        });
        for _ in 0..links {
            let link = host.add_link();
            if plan.link.carrier == Carrier::Stream {
                host.set_room(Instant::ZERO, link, Self::ROOM);
            }
        }
        let hop = |link: u32| HopSpec {
            link: LinkId::new(link),
            circuit: Self::CIRCUIT,
            queue_limit: plan.link.queue_limit,
        };
        let circuit = host.open_circuit(&CircuitSpec {
            prev: prev.map(hop),
            next: next.map(hop),
        });
        let stream = (prev.is_none() || next.is_none()).then(|| {
            host.open_stream(&StreamSpec {
                id: Self::STREAM,
                legs: vec![circuit],
                hold: Cells::ZERO,
            })
            .expect("the circuit is open")
        });
        Self {
            host,
            now: Instant::ZERO,
            plan,
            circuit,
            stream,
        }
    }

    /// The application writes `len` zero bytes.
    pub fn write(&mut self, len: Bytes) -> Sent {
        let stream = self.stream.expect("the circuit begins or ends here");
        let data = std::iter::repeat_n(0, len.get() as usize).collect();
        self.host.write(self.now, stream, data, len);
        self.drain()
    }

    /// A neighbour sends a frame.
    pub fn receive(&mut self, link: u32, frame: Frame<Counted>) -> Sent {
        let mut frames = vec![frame];
        self.host.receive(self.now, LinkId::new(link), &mut frames);
        self.drain()
    }

    /// A neighbour takes `room` bytes.
    pub fn room(&mut self, link: u32, room: Bytes) -> Sent {
        self.host.set_room(self.now, LinkId::new(link), room);
        self.drain()
    }

    /// Time passes; timers are served on the way.
    pub fn wait(&mut self, span: Duration) -> Sent {
        let end = self.now + span;
        let mut sent = self.drain();
        while self.host.poll_timeout() <= end {
            self.now = self.now.max(self.host.poll_timeout());
            self.host.handle_timeout(self.now);
            sent.append(self.drain());
        }
        self.now = end;
        sent
    }

    /// Takes all that the node has to say and to send.
    pub fn drain(&mut self) -> Sent {
        let mut sent = Sent::default();
        let mut frames = Vec::new();
        while let Some((link, _)) = self.host.poll_transmit(self.now, &mut frames) {
            sent.frames
                .extend(frames.drain(..).map(|frame| (link, frame)));
        }
        while let Some(event) = self.host.poll_event() {
            match event {
                Event::Delivered { payload, .. } => {
                    let len = payload.data().map_or(0, <[u8]>::len);
                    sent.delivered += Bytes::new(len as u64);
                }
                Event::Closed {
                    reason, violation, ..
                } => {
                    sent.closed.push(reason);
                    sent.violations.extend(violation);
                }
                Event::Message { .. }
                | Event::Begun { .. }
                | Event::Link { .. }
                | Event::Finished { .. }
                | Event::Drained { .. }
                | Event::StreamClosed { .. } => {}
            }
        }
        sent
    }

    /// A full data cell of the stream with this number on its hop.
    pub fn data(seq: u64) -> Frame<Counted> {
        let mut header = RelayHeader::control(RelayCommand::Data, Self::STREAM);
        let len = RelayHeader::capacity(header.command);
        header.len = len as u16;
        let mut data = std::iter::repeat_n(0, len).collect();
        Self::cell(seq, Counted::cut(header, &mut data, Instant::ZERO))
    }

    /// A cell with this number on its hop.
    pub fn cell(seq: u64, payload: Counted) -> Frame<Counted> {
        Frame::Cell(Cell {
            circuit: Self::CIRCUIT,
            flags: CellFlags::default(),
            seq: CellSeq::of(seq),
            payload,
        })
    }

    /// Feedback: `ack` cells have arrived, `fwd` were forwarded.
    pub fn feedback(ack: u64, fwd: u64) -> Frame<Counted> {
        Frame::Feedback(Feedback {
            circuit: Self::CIRCUIT,
            ack: CellSeq::of(ack),
            fwd: CellSeq::of(fwd),
            ..Feedback::default()
        })
    }

    /// The same, of which none were forwarded; besides, these ranges have arrived.
    pub fn sack(ack: u64, arrived: Arrived) -> Frame<Counted> {
        let feedback = Feedback {
            circuit: Self::CIRCUIT,
            ack: CellSeq::of(ack),
            ..Feedback::default()
        };
        Frame::Sack(Box::new(Sack { feedback, arrived }))
    }
}

impl Sent {
    /// Adds what was put out later.
    pub fn append(&mut self, mut later: Self) {
        self.frames.append(&mut later.frames);
        self.closed.append(&mut later.closed);
        self.violations.append(&mut later.violations);
        self.delivered += later.delivered;
    }

    /// Cells that left on a link.
    pub fn cells(&self, link: u32) -> usize {
        let on_link = self.frames.iter().filter(|(l, _)| l.get() == link);
        on_link
            .filter(|(_, frame)| matches!(frame, Frame::Cell(_)))
            .count()
    }

    /// The last feedback that left on a link.
    pub fn feedback(&self, link: u32) -> Option<Feedback> {
        self.frames.iter().rev().find_map(|(l, frame)| match frame {
            Frame::Feedback(feedback) if l.get() == link => Some(*feedback),
            Frame::Sack(sack) if l.get() == link => Some(sack.feedback),
            _ => None,
        })
    }

    /// Whether the neighbour on a link is asked for feedback.
    pub fn asks(&self, link: u32) -> bool {
        self.frames
            .iter()
            .any(|(l, frame)| l.get() == link && matches!(frame, Frame::Probe(_)))
    }

    /// Why the neighbour on a link is told that the circuit is closed, if it is.
    pub fn destroy(&self, link: u32) -> Option<Reason> {
        self.frames.iter().find_map(|(l, frame)| match frame {
            Frame::Destroy(destroy) if l.get() == link => Some(destroy.reason),
            _ => None,
        })
    }
}
