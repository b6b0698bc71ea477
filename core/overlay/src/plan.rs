//! What a transport needs of the machine, declared once.

use hopflow_units::{Cells, Duration};
use hopflow_wire::Carrier;

use crate::{EndToEnd, RttConfig};

/// A transport's point in the design space, as far as the machine is concerned.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own, and none follows from others"
)]
pub struct Plan {
    /// What carries frames between neighbours.
    pub carrier: Carrier,
    /// How many links two neighbours keep.
    pub multiplexing: Multiplexing,
    /// Among which flows the scheduler chooses.
    pub scope: Scope,
    /// Which of them goes first.
    pub order: Order,
    /// The least time between two runs of the scheduler, which then writes to a stream no more than
    /// TCP can send soon (KIST; Jansen et al., USENIX Security '14); `None`: cells leave when they
    /// can.
    pub kist: Option<Duration>,
    /// How many cells a link may send in one turn; with [`Scope::Link`].
    pub turn: Turn,
    /// Whether lost cells are sent again and order is restored on each hop; datagrams only.
    pub reliable: bool,
    /// Whether each hop is told how far its cells were forwarded (BackTap paper, section 3.2).
    pub forward_feedback: bool,
    /// How long feedback may wait for company.
    pub feedback_delay: Duration,
    /// Feedback leaves only at multiples of this time, all that is due by then together, so that its
    /// times tell nothing of when cells arrived and left; zero: it leaves as
    /// [`feedback_delay`](Self::feedback_delay) says. Well below the shortest time-out
    /// ([`rtt`](Self::rtt)), or cells are sent again for nothing.
    pub feedback_hold: Duration,
    /// How many cells go between two reports of what was forwarded, for credits that come in
    /// lots. What asks for an acknowledgement, or a probe, is answered with the latest numbers.
    pub feedback_every: Cells,
    /// Whether feedback is as long as a cell on the wire.
    pub feedback_padded: bool,
    /// Cells that a circuit's queue holds at most; the predecessor is told at set-up.
    pub queue_limit: Cells,
    /// What happens to cells beyond the queue limit.
    pub excess: Excess,
    /// Cells that a source may cut ahead of their departure.
    pub ahead: Cells,
    /// Once so many were cut ahead, how few must be left before the source cuts again; as many as
    /// [`ahead`](Self::ahead) or more: it cuts whenever there are fewer than those.
    pub resume: Cells,
    /// What pays the token bucket.
    pub charging: Charging,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
    /// Bounds of the hop's retransmission time-out.
    pub rtt: RttConfig,
    /// Whether neighbours are told of something outside of all links, which only simulators can do.
    pub out_of_band: bool,
    /// The share of a node's capacity that the transport fills at most, above 0 and up to 1.
    pub fills: f64,
    /// The TCP connection that the ends of every circuit keep, over hops that repair nothing;
    /// unreliable datagrams only. Only simulators can do this (`docs/spec/udp-or.md`).
    pub connection: Option<EndToEnd>,
    /// Regular calls of the transport's node hook.
    pub tick: Option<Tick>,
    /// Which circuits of a stream take its cells until somebody says otherwise.
    pub legs: LegUse,
}

/// Which circuits of a stream take its cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LegUse {
    /// Those whose gates are open.
    Open,
    /// The first one; the others are spares.
    First,
}

/// How many links two neighbours keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Multiplexing {
    /// One for all circuits.
    Shared,
    /// One for each circuit.
    PerCircuit,
}

/// Among which flows the scheduler chooses the next cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All flows of the node.
    Node,
    /// Links take turns; within a link, its flows.
    Link,
}

/// Which flow's cell goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Flows take turns cell by cell.
    RoundRobin,
    /// The flow that sent least of late goes first (Tang and Goldberg, CCS '10).
    Ewma {
        /// Time after which a cell counts half.
        half_life: Duration,
    },
}

/// How many cells a link may send before the next link's turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// So many.
    Cells(u32),
    /// An eighth of the token bucket, but 4 to 32 cells: Tor's rule (`nstor` follows it, see
    /// `docs/spec/vanilla.md`).
    EighthOfBucket,
}

/// What a node does with a cell that its circuit's queue cannot take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excess {
    /// Drops it before it is acknowledged; whoever keeps sending beyond the limit loses the
    /// circuit (BackTap paper, section 3.3). For transports whose honest senders stay below it.
    CloseIfPersistent,
    /// Drops it before it is acknowledged: the limit is a drop-tail queue.
    Drop,
}

/// What pays the token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charging {
    /// Every byte of cells and messages.
    Everything,
    /// Cells, the first time that they are sent (as the BackTap authors' simulator does).
    FirstTransmissions,
}

/// Regular calls of [`Transport::on_tick`](crate::Transport::on_tick).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tick {
    /// Time between calls.
    pub interval: Duration,
    /// Whether all nodes tick at the same time; otherwise each at its own random phase.
    pub in_phase: bool,
}

impl Plan {
    /// TCP connections between neighbours, as Tor has them: no feedback about cells, and turns of
    /// an eighth of the token bucket. A transport changes what differs.
    pub fn streams(queue_limit: Cells, refill: Duration) -> Self {
        Self {
            carrier: Carrier::Stream,
            multiplexing: Multiplexing::Shared,
            scope: Scope::Link,
            order: Order::RoundRobin,
            kist: None,
            turn: Turn::EighthOfBucket,
            reliable: false,
            forward_feedback: false,
            feedback_delay: Duration::ZERO,
            feedback_hold: Duration::ZERO,
            feedback_every: Cells::new(1),
            feedback_padded: false,
            queue_limit,
            excess: Excess::CloseIfPersistent,
            ahead: Cells::new(1),
            resume: Cells::new(u64::MAX),
            charging: Charging::Everything,
            refill,
            rtt: RttConfig::default(),
            out_of_band: false,
            fills: 1.0,
            connection: None,
            tick: None,
            legs: LegUse::Open,
        }
    }

    /// BackTap's datagrams: reliability per hop, feedback about every cell, and turns of one cell
    /// over all circuits of the node. A transport changes what differs.
    pub fn datagrams(queue_limit: Cells, feedback_delay: Duration, refill: Duration) -> Self {
        Self {
            carrier: Carrier::Datagram,
            scope: Scope::Node,
            turn: Turn::Cells(1),
            reliable: true,
            forward_feedback: true,
            feedback_delay,
            ..Self::streams(queue_limit, refill)
        }
    }

    /// Cells that wait at most in a queue that begins at this node: the data that it cuts ahead, and
    /// commands that the far end provokes.
    pub(crate) fn own_limit(&self) -> u64 {
        let (queue, ahead) = (self.queue_limit.get(), self.ahead.get());
        queue.max(ahead.saturating_add(queue / 2))
    }

    /// Encoded bytes of a cell on this carrier.
    pub(crate) const fn cell_len(&self) -> hopflow_units::Bytes {
        hopflow_wire::Frame::<hopflow_wire::RawPayload>::cell_len(self.carrier)
    }

    /// Encoded bytes of feedback, at most.
    pub(crate) const fn feedback_len(&self) -> hopflow_units::Bytes {
        if self.feedback_padded {
            self.cell_len()
        } else {
            hopflow_units::Bytes::new(hopflow_wire::Feedback::LEN_WITH_WORD)
        }
    }
}
