//! The rim of a node: what drivers see.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use dyn_clone::DynClone;
use hopflow_units::{Bytes, Cells, CircuitId, Duration, Instant, LinkId, NodeId, Rate, StreamId};
use hopflow_wire::{Frame, Message, Payload, Proof, Reason};

use crate::slots::SlotId;
use crate::{BucketConfig, BucketLevel, ConfigError, Direction, Features, Metric, Plan, Violation};

/// An overlay node without its I/O.
///
/// The driver's duties:
/// 1. It sets up: [`add_link`](Host::add_link), [`open_circuit`](Host::open_circuit),
///    [`open_stream`](Host::open_stream).
/// 2. It passes in what happens, with the time `now`, which never goes back:
///    [`receive`](Host::receive), [`set_room`](Host::set_room), [`write`](Host::write),
///    [`handle_timeout`](Host::handle_timeout) and the others.
/// 3. After any input it drains the outputs: [`poll_transmit`](Host::poll_transmit) until nothing
///    comes, unless the medium is busy, [`poll_event`](Host::poll_event) until nothing comes.
/// 4. It calls [`handle_timeout`](Host::handle_timeout) at [`poll_timeout`](Host::poll_timeout),
///    which it asks for after draining. A call without need does no harm.
///
/// What still comes of a link that is gone is ignored, and so is what concerns circuits and streams
/// that are. What peers send can close circuits; it cannot make a node panic or hold unbounded memory.
pub trait Host<P: Payload>: DynClone + Debug + Send {
    /// Adds a link to a neighbour and returns its number; numbers count from zero, and those of
    /// removed links are used again.
    fn add_link(&mut self) -> LinkId;

    /// Closes all circuits of a link that is gone, if it was there. Its number may be given to
    /// another one.
    fn remove_link(&mut self, now: Instant, link: LinkId);

    /// Adds a circuit.
    ///
    /// When a circuit is closed, its name can be used again at once, but let it rest on that link until
    /// what was under way of the old circuit has arrived: late cells, feedback or a DESTROY would be
    /// taken for the new one's. Real hosts give 1024 other names first.
    ///
    /// # Panics
    /// If a link is not there, or has a circuit of that name: drivers give names out. If the circuit
    /// has no neighbour.
    fn open_circuit(&mut self, spec: &CircuitSpec) -> CircuitHandle;

    /// Closes a circuit and reports the reason to its neighbours; nothing happens if it is closed.
    fn close_circuit(&mut self, now: Instant, circuit: CircuitHandle, reason: Reason);

    /// Adds a stream at this end of one or more circuits; `None` if one of them is closed, neither
    /// begins nor ends here, has a stream of that name, or has 2048 streams. The name of a stream
    /// that was broken off is free when the far end has answered, and on a circuit where it was not
    /// the first of several, never. Nor is that of a stream that was lost with one of its circuits, on those
    /// that are left. Do not use the name of a stream again that ended at both sides:
    /// the far end may still have it, and would take the new one for a breach of the protocol.
    /// `None`, too, if circuits stand there twice, do not all begin or all end here, or one of them
    /// shares a stream with others than these.
    ///
    /// # Panics
    /// If there are no circuits, or the stream's name is 0, which means a circuit as a whole.
    fn open_stream(&mut self, spec: &StreamSpec) -> Option<StreamHandle>;

    /// Sends the other end of a circuit that begins or ends here a message about linking it, `len` bytes, which must fit
    /// one cell: at the client a request, at the exit an answer. There it is [`Event::Link`].
    ///
    /// # Panics
    /// If it does not fit.
    fn send_link(&mut self, now: Instant, circuit: CircuitHandle, message: P::Data, len: Bytes);

    /// At an exit, says that these circuits are a linked set (proposal 329): the client's streams begin on the first,
    /// and all of them carry what follows. They are in the client's order. Of each stream `hold` cells that come before their turn
    /// are held at most. A set ends with any of its circuits.
    ///
    /// False, and nothing changes, unless there are at least two, all of them end here, none has a stream and
    /// none is in a set.
    fn link_circuits(&mut self, legs: &[CircuitHandle], hold: Cells) -> bool;

    /// Lets the gates of a stream's circuits choose who takes the next cell (`None`), or only one.
    fn pin_stream(&mut self, now: Instant, stream: StreamHandle, leg: Option<CircuitHandle>);

    /// At the client, sends the exit the target of a new stream: `target`, `len` bytes, which
    /// must fit one cell and may be none. The exit has the stream from then on, see
    /// [`Event::Begun`]. Of several circuits the first carries the target, and alone what follows until the exit
    /// has sent something; the exit must have [linked](Host::link_circuits) them.
    ///
    /// # Panics
    /// If something was written before, or the stream is finished.
    fn begin_stream(&mut self, now: Instant, stream: StreamHandle, target: P::Data, len: Bytes);

    /// Ends what is written to a stream; the other end learns it behind the last data.
    fn finish_stream(&mut self, now: Instant, stream: StreamHandle);

    /// Ends a stream at this end; what it holds for the application is dropped. Unless this end's finish
    /// was packaged ([`StreamView::ended`]) and the far end's has come, the stream is broken off: the far end drops what it
    /// holds of it, too.
    fn close_stream(&mut self, now: Instant, stream: StreamHandle);

    /// Asks for one [`Event::Drained`] when less than `low` of a stream waits to be packaged; an end
    /// that waits counts as a byte.
    fn notify_below(&mut self, stream: StreamHandle, low: Bytes);

    /// Takes `len` bytes of application data for a stream; drops them if it is gone or finished.
    fn write(&mut self, now: Instant, stream: StreamHandle, data: P::Data, len: Bytes);

    /// Says what proves that a cell of content was read which left the source of a circuit for the first
    /// time; cells come in the order in which they left. Where SENDMEs about circuits show proofs
    /// ([`EndPlan::sendme_every`](crate::EndPlan)) and payloads have them
    /// ([`Payload::proof`]), the driver says it of all.
    fn note_proof(&mut self, circuit: CircuitHandle, proof: Proof) {
        let _ = (circuit, proof);
    }

    /// Says how many cells of a stream's data the application takes from now on: those that are held
    /// first, then those that arrive; [`Cells::MAX`] is all of them. At first it takes all where the
    /// stream was opened, and none at an exit ([`Event::Begun`]). What it does not take is held, and the
    /// other end asked to pause before that is too much. The far end's finish takes a cell of credit of
    /// its own: [`Event::Finished`] waits for it even where no data does.
    fn set_credit(&mut self, now: Instant, stream: StreamHandle, credit: Cells);

    /// Takes the frames of a datagram, or of a piece of stream, that arrived on a link.
    fn receive(&mut self, now: Instant, link: LinkId, frames: &mut Vec<Frame<P>>);

    /// Takes a message that the neighbour on `link` sent out of band.
    fn receive_message(&mut self, now: Instant, link: LinkId, message: &Message);

    /// Says how many bytes a link's stream takes at present: at first, and whenever it is more
    /// than before. What the node writes it counts itself. Datagram links have no such limit.
    fn set_room(&mut self, now: Instant, link: LinkId, room: Bytes);

    /// Bytes of control frames that wait for room on a link's stream: what a neighbour brings about that
    /// reads nothing. Drivers take little from one for which much waits.
    fn control_waiting(&self, link: LinkId) -> Bytes;

    /// Changes the node's token bucket, as its operator may at any time. What layers know of it from
    /// [`NodeEnv`] stays as it is.
    fn set_bucket(&mut self, now: Instant, bucket: Option<BucketConfig>);

    /// Pays for what the driver sends beside the node's frames, so that cells wait for it: `len` bytes.
    fn pay(&mut self, now: Instant, len: Bytes);

    /// The same for what may be left out if too much of it comes: it counts in [`unasked`](Host::unasked), too.
    fn pay_unasked(&mut self, now: Instant, len: Bytes);

    /// What is left of what drivers may [`pay_unasked`](Host::pay_unasked) for: a twentieth of the token bucket's rate, while that
    /// is less than half full and cells may wait for it. Drivers had better leave out what can wait once little is left. `None`
    /// without a bucket, or while it holds more.
    fn unasked(&self, now: Instant) -> Option<BucketLevel>;

    /// Whether the token bucket owes more than it holds when it is full. False without a bucket.
    fn owes_much(&self, now: Instant) -> bool;

    /// Handles all timers that are due.
    fn handle_timeout(&mut self, now: Instant);

    /// Fills `out`, which is cleared first, with the frames of one datagram or of one write on a
    /// stream, and returns the link and their encoded length.
    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<Frame<P>>) -> Option<(LinkId, Bytes)>;

    /// An event for the driver.
    fn poll_event(&mut self) -> Option<Event<P>>;

    /// When [`handle_timeout`](Host::handle_timeout) is to be called: at once if that is not after
    /// now, never if it is the far future. It may
    /// turn out that nothing was due, but nothing is ever due earlier.
    fn poll_timeout(&self) -> Instant;

    /// Before when no cell leaves, whatever arrives, because the token bucket is empty or the scheduler
    /// pauses; the far future if no cell waits for that. A driver may let what arrives wait until then.
    fn poll_resume(&self) -> Instant;

    /// The present state of a flow, for measurement; `None` if the circuit is closed.
    fn flow_view(&self, circuit: CircuitHandle, direction: Direction) -> Option<FlowView>;

    /// Appends to `out` what the layers measure of a flow, by the metrics that they declare: on
    /// every hop what its control measures, at the source also what the control from end to end
    /// does. Nothing where the flow ends or the circuit is closed; what was not measured yet is
    /// left out.
    fn measure(&self, circuit: CircuitHandle, direction: Direction, out: &mut Vec<Measured>);

    /// The present state of a stream, for measurement; `None` if there is none.
    fn stream_view(&self, stream: StreamHandle) -> Option<StreamView>;

    /// What holds a flow's cells back at present, for measurement; `None` if nothing leaves in this
    /// direction, or the circuit is closed.
    fn holding(
        &self,
        now: Instant,
        circuit: CircuitHandle,
        direction: Direction,
    ) -> Option<Holding>;

    /// Reads what the node will read first when it receives such frames on a link, and returns a
    /// number without meaning. A driver that knows ahead what will arrive touches all of it, so that
    /// reads from memory overlap; nothing else changes.
    fn touch(&self, link: LinkId, frames: &[Frame<P>]) -> u64 {
        let _ = (link, frames);
        0
    }

    /// What the node has done so far.
    fn counters(&self) -> NodeCounters;

    /// Goes on with the options of another factory of the same layers. Controls on hops and from end
    /// to end take new options as far as they say, and keep what they know; links, repair and the
    /// choice among circuits stay as they are. All nodes of a circuit are to change at about the
    /// same time.
    ///
    /// # Errors
    /// If the layers are others, or an option cannot change in a running node; nothing has changed
    /// then.
    fn reconfigure(&mut self, now: Instant, factory: &dyn Factory<P>) -> Result<(), ConfigError>;
}

dyn_clone::clone_trait_object!(<P> Host<P> where P: Payload);

/// A circuit, as its node numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CircuitHandle(pub(crate) SlotId);

/// A stream, as its node numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamHandle(pub(crate) SlotId);

impl CircuitHandle {
    /// An index into a dense table, unique among the circuits that exist at the same time.
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

impl StreamHandle {
    /// An index into a dense table, unique among the streams that exist at the same time.
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

/// One side of a circuit at a node.
#[derive(Clone, Copy, Debug)]
pub struct HopSpec {
    /// The link to the neighbour on this side.
    pub link: LinkId,
    /// The circuit's name on that link.
    pub circuit: CircuitId,
    /// Cells of this circuit that the neighbour can queue, as it said at set-up.
    pub queue_limit: Cells,
}

/// A circuit through a node. The client has no `prev`, the exit no `next`.
#[derive(Clone, Copy, Debug)]
pub struct CircuitSpec {
    /// The side of the client.
    pub prev: Option<HopSpec>,
    /// The side of the exit.
    pub next: Option<HopSpec>,
}

/// A stream at one end of its circuits.
#[derive(Clone, Debug)]
pub struct StreamSpec {
    /// The stream's name, alike on all its circuits.
    pub id: StreamId,
    /// The circuits that carry it, each of which begins or ends at this node.
    pub legs: Vec<CircuitHandle>,
    /// Cells that the sink holds at most because others must come first; several legs only.
    pub hold: Cells,
}

/// An event for the driver of a node.
#[derive(Clone, Debug)]
pub enum Event<P> {
    /// A data cell reached the application.
    Delivered {
        /// The stream.
        stream: StreamHandle,
        /// The cell's payload.
        payload: P,
    },
    /// The client began a stream, which exists from now on at this exit. Its data is held until
    /// [`Host::set_credit`] says that it is taken.
    Begun {
        /// The stream.
        stream: StreamHandle,
        /// Its circuit; of a linked set, the first.
        circuit: CircuitHandle,
        /// Its target, as the client named it.
        target: P,
    },
    /// The other end sent a message about linking a circuit: at an exit the client's request, at a client the
    /// exit's answer.
    Link {
        /// The circuit.
        circuit: CircuitHandle,
        /// The cell that carries it.
        message: P,
    },
    /// The other end has finished; all of its data has been delivered.
    Finished {
        /// The stream.
        stream: StreamHandle,
    },
    /// Little waits to be packaged, see [`Host::notify_below`].
    Drained {
        /// The stream.
        stream: StreamHandle,
    },
    /// A message is to be brought to a neighbour outside of all links.
    Message {
        /// The link that leads to the neighbour.
        link: LinkId,
        /// The message.
        message: Message,
        /// How long it takes.
        delay: Duration,
    },
    /// A stream is gone, for the far end broke it off or one of its circuits is gone: what was
    /// under way cannot be had again.
    StreamClosed {
        /// The stream.
        stream: StreamHandle,
    },
    /// A circuit is gone.
    Closed {
        /// The circuit.
        circuit: CircuitHandle,
        /// Why, as neighbours learn it.
        reason: Reason,
        /// What a peer did, where this node closed the circuit for that.
        violation: Option<Violation>,
    },
}

/// Where a node stands and how it is limited.
#[derive(Clone, Copy, Debug)]
pub struct NodeEnv {
    /// The node.
    pub node: NodeId,
    /// Its token bucket, if the operator set one.
    pub bucket: Option<BucketConfig>,
    /// What its access link carries in each direction, as far as its operator knows.
    pub access: Option<Rate>,
    /// Where in their interval the node's regular events fall, as a share of it from 0 to 1.
    pub phase: f64,
}

/// The present state of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowView {
    /// Cells that wait to be sent, or at the sink to be taken.
    pub queued: Cells,
    /// Cells that arrived beyond a gap.
    pub out_of_order: Cells,
    /// Cells in memory: those above, and those that were sent and may have to be sent again.
    pub held: Cells,
    /// Proofs in memory, at an end whose SENDMEs show them ([`EndPlan::sendme_every`](crate::EndPlan)).
    pub proofs: Cells,
    /// Cells that passed the gate of `window` and were not yet released; zero where nothing
    /// releases any.
    pub outstanding: Cells,
    /// The hop's window, or at a source without hop control the end-to-end window.
    pub window: Option<Cells>,
    /// Cells that departed.
    pub departed: Cells,
}

/// What holds a flow's cells back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holding {
    /// What keeps a source from packaging data that waits; means nothing elsewhere.
    pub package: Hold,
    /// What keeps the first cell of the queue from leaving; of an empty queue, what would keep one
    /// that is on its way out.
    pub queue: Hold,
    /// Where the hop restores the order: the number of the first cell that is missing. Cells from
    /// there on wait for it.
    pub missing: Option<u64>,
    /// Cells that left the queue so far, counted as by [`CellSeq`](hopflow_wire::CellSeq).
    pub departed: u64,
}

/// What holds a cell back at a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Hold {
    /// The window from end to end is full.
    EndWindow,
    /// The rate from end to end.
    EndPace,
    /// The stream's own window is full.
    StreamWindow,
    /// The stream has a rate of its own, was asked to pause, or belongs to another leg for the time
    /// being.
    Stream,
    /// The hop's window is full, or its credit used.
    HopWindow,
    /// The hop's rate.
    HopPace,
    /// The link's stream takes no more.
    Room,
    /// The scheduler's next run (KIST).
    Run,
    /// The token bucket is empty.
    Bucket,
    /// Nothing that the node knows of: it waits for its driver.
    Driver,
}

/// What a layer measured of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// What the value is.
    pub metric: &'static Metric,
    /// The value in the metric's unit, finite.
    pub value: f64,
}

/// The present state of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamView {
    /// Application bytes that wait to be packaged.
    pub pending: Bytes,
    /// Whether this end has finished and everything was packaged.
    pub ended: bool,
    /// Application bytes packaged so far: R(t) of the BackTap paper.
    pub packaged: Bytes,
    /// Application bytes handed to the application so far: W(t).
    pub delivered: Bytes,
    /// Cells that wait for the application, or for cells of other legs.
    pub held: Cells,
}

/// What a node has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NodeCounters {
    /// Cells sent for the first time.
    pub cells_sent: u64,
    /// Cells sent again by this hop, or passed on when an end repeated them.
    pub cells_resent: u64,
    /// Cells dropped beyond a queue limit.
    pub cells_dropped: u64,
    /// Cells that arrived and were known already.
    pub duplicates: u64,
    /// Circuits closed because a peer broke the protocol.
    pub violations: u64,
    /// Frames of circuits that are not known.
    pub strays: u64,
    /// Plans that the fallback made, because the budget of work was spent.
    pub fallback_plans: u64,
    /// The most cells that ever waited in one circuit's queue, of cells that arrived from a neighbour: a
    /// source's own queue is not in it.
    pub largest_queue: u64,
}

/// Makes nodes of one transport.
pub trait Factory<P: Payload>: Debug + Send + Sync {
    /// The transport's name.
    fn name(&self) -> &'static str;

    /// What the transport needs of the machine.
    fn plan(&self) -> Plan;

    /// The transport's parameters, readable.
    fn describe(&self) -> String;

    /// What the transport needs of the driver.
    fn driver(&self) -> Features;

    /// The [`Stack`](crate::Stack) of layers, for [`Host::reconfigure`].
    fn stack(&self) -> Arc<dyn Any + Send + Sync>;

    /// A node.
    fn node(&self, env: &NodeEnv) -> Box<dyn Host<P>>;
}
