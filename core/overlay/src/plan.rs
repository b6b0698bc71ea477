//! What the layers of a transport need of the node, declared once, each by its owner.

use hopflow_units::{Bytes, Cells, Duration};
use hopflow_wire::{Carrier, Feedback, Frame, RawPayload, Sack};

use crate::repair::{EndToEnd, HopRepair};

/// What all layers of a transport need of the node.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Links to neighbours: carrier, scheduler, queues, token bucket.
    pub link: LinkPlan,
    /// What repairs losses.
    pub repair: Repair,
    /// What control on hops needs.
    pub hop: HopPlan,
    /// What control from end to end needs.
    pub end: EndPlan,
    /// What the choice among circuits needs.
    pub path: PathPlan,
}

/// Links to neighbours.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// What carries frames between neighbours.
    pub carrier: Carrier,
    /// How many links two neighbours keep.
    pub multiplexing: Multiplexing,
    /// Whose cell goes next.
    pub scheduler: SchedulerPlan,
    /// Cells that a circuit's queue holds at most; the predecessor learns it at set-up.
    pub queue_limit: Cells,
    /// What happens to cells beyond the queue limit.
    pub excess: Excess,
    /// What pays the token bucket.
    pub charging: Charging,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
}

/// Whose cell goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedulerPlan {
    /// Among which flows the scheduler chooses.
    pub scope: Scope,
    /// Which of them goes first.
    pub order: Order,
    /// How many cells a link may send in one turn; with [`Scope::Link`].
    pub turn: Turn,
    /// The least time between two runs of the scheduler, which then writes to a stream no more than
    /// TCP can send soon (KIST; Jansen et al., USENIX Security '14); `None`: cells leave when they
    /// can.
    pub kist: Option<Duration>,
}

/// What repairs losses of datagrams.
#[derive(Clone, Copy, Debug)]
pub enum Repair {
    /// Nothing in the overlay does.
    None,
    /// Every hop restores order and sends lost cells again.
    PerHop(HopRepair),
    /// A TCP connection between the ends of every circuit, over hops that repair nothing
    /// (`docs/spec/udp-or.md`).
    EndToEnd(EndToEnd),
}

/// What control on hops needs of the node.
#[derive(Clone, Copy, Debug)]
pub struct HopPlan {
    /// What the predecessor hears about its cells.
    pub feedback: FeedbackPlan,
    /// Cells that a source may package ahead of their departure, where the control paces sources
    /// itself; it then takes the place of [`EndPlan::source_high_water`].
    pub source_queue: Option<Cells>,
    /// The least delay of messages that neighbours get outside of all links, which only simulators
    /// can do; `None` without such messages.
    pub out_of_band: Option<Duration>,
    /// The share of a node's capacity that the control uses at most, above 0 and up to 1.
    pub target_utilization: f64,
    /// How long a flow counts as busy after a cell, where the control asks which flows are
    /// ([`NodeView::busy`](crate::NodeView::busy)); `None`: nobody counts.
    pub busy: Option<Duration>,
    /// Regular calls of [`HopControl::on_tick`](crate::HopControl::on_tick).
    pub tick: Option<Tick>,
}

/// What the predecessor hears about its cells: that they arrived, or were forwarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeedbackPlan {
    /// Whether each hop reports how far its cells were forwarded (BackTap paper, section 3.2).
    pub forwarded: bool,
    /// How long feedback may wait for company.
    pub delay: Duration,
    /// Feedback leaves only at multiples of this time, all that is due by then together, so that its
    /// times show nothing of when cells arrived and left; zero: it leaves as
    /// [`delay`](Self::delay) says. Well below the shortest time-out, or cells are sent again for
    /// nothing.
    pub hold: Duration,
    /// How many cells go between two reports of what was forwarded, for credits that come in
    /// lots. What asks for an acknowledgement, or a probe, is answered with the latest numbers.
    pub every: Cells,
    /// Whether feedback is as long as a cell on the wire.
    pub padded: bool,
    /// Whether a cell that leaves lets feedback about the circuit's other direction go along
    /// ([`HopSignal::Returning`](crate::HopSignal::Returning)), so that a neighbour can hear an
    /// extension before it has sent a cell there.
    pub ahead: bool,
}

/// What control from end to end needs of the edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndPlan {
    /// Cells that a source may package ahead of their departure.
    pub source_high_water: Cells,
    /// Once so many were packaged ahead, how few must be left before the source packages again; as
    /// many as [`source_high_water`](Self::source_high_water) or more: it packages whenever there
    /// are fewer than those.
    pub source_low_water: Cells,
    /// Cells of content that each SENDME about the circuit acknowledges, where sinks send such
    /// SENDMEs: one for each lot of so many, not before the last of them has left the queue. It is the
    /// same at both ends for as long as a circuit lives. Where cells are sealed, SENDMEs then prove that
    /// these cells were read (proposal 289).
    pub sendme_every: Option<Cells>,
}

/// What the choice among circuits needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathPlan {
    /// Which circuits of a stream take its cells until the choice says otherwise.
    pub legs: LegUse,
    /// Regular calls of [`PathState::on_tick`](crate::PathState::on_tick).
    pub tick: Option<Tick>,
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
    /// Drops it before it is acknowledged; a peer that keeps sending beyond the limit loses the
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
    /// Cells, the first time that they are sent (as the BackTap authors' simulator does). Where the
    /// ends of circuits repair, their flags say which cells were sent before; nobody can check that.
    FirstTransmissions,
}

/// Regular calls of a layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tick {
    /// Time between calls.
    pub interval: Duration,
    /// Whether all nodes tick at the same time; otherwise each at its own random phase.
    pub in_phase: bool,
}

impl LinkPlan {
    /// TCP connections between neighbours, as Tor has them: one for all circuits, and turns of an
    /// eighth of the token bucket.
    pub const fn streams(queue_limit: Cells, refill: Duration) -> Self {
        Self {
            carrier: Carrier::Stream,
            multiplexing: Multiplexing::Shared,
            scheduler: SchedulerPlan {
                scope: Scope::Link,
                order: Order::RoundRobin,
                turn: Turn::EighthOfBucket,
                kist: None,
            },
            queue_limit,
            excess: Excess::CloseIfPersistent,
            charging: Charging::Everything,
            refill,
        }
    }

    /// BackTap's datagrams: turns of one cell over all circuits of the node.
    pub const fn datagrams(queue_limit: Cells, refill: Duration) -> Self {
        Self {
            carrier: Carrier::Datagram,
            scheduler: SchedulerPlan {
                scope: Scope::Node,
                order: Order::RoundRobin,
                turn: Turn::Cells(1),
                kist: None,
            },
            ..Self::streams(queue_limit, refill)
        }
    }

    /// Encoded bytes of a cell on this carrier.
    pub const fn cell_len(&self) -> Bytes {
        Frame::<RawPayload>::cell_len(self.carrier)
    }
}

impl FeedbackPlan {
    /// Feedback about every cell: that it arrived, and with `forwarded` that it was forwarded, too. It
    /// waits for company at most as long as `delay`.
    pub const fn every_cell(forwarded: bool, delay: Duration) -> Self {
        Self {
            forwarded,
            delay,
            hold: Duration::ZERO,
            every: Cells::new(1),
            padded: false,
            ahead: false,
        }
    }
}

impl HopPlan {
    /// Forward feedback about every cell, which may wait for company for `delay`, and no messages or
    /// regular calls.
    pub const fn forwarding(delay: Duration) -> Self {
        Self::new(FeedbackPlan::every_cell(true, delay))
    }

    /// This feedback, and no messages or regular calls.
    pub const fn new(feedback: FeedbackPlan) -> Self {
        Self {
            feedback,
            source_queue: None,
            out_of_band: None,
            target_utilization: 1.0,
            busy: None,
            tick: None,
        }
    }
}

impl Default for HopPlan {
    /// No feedback about forwarded cells, no messages, no regular calls.
    fn default() -> Self {
        Self::new(FeedbackPlan::every_cell(false, Duration::ZERO))
    }
}

impl Default for EndPlan {
    /// A source packages a cell when the last one has left.
    fn default() -> Self {
        Self {
            source_high_water: Cells::new(1),
            source_low_water: Cells::new(u64::MAX),
            sendme_every: None,
        }
    }
}

impl Default for PathPlan {
    /// The gates choose among all circuits.
    fn default() -> Self {
        Self {
            legs: LegUse::Open,
            tick: None,
        }
    }
}

impl Plan {
    /// Cells that wait at most in a queue that begins at this node: the data that it packages ahead,
    /// and commands that the other end triggers.
    pub(crate) fn own_limit(&self) -> u64 {
        let queue = self.link.queue_limit.get();
        let ahead = self.end.source_high_water.get();
        queue.max(ahead.saturating_add(queue / 2))
    }

    /// Whether lost cells are sent again and order is restored on each hop.
    pub const fn repairs_hops(&self) -> bool {
        matches!(self.repair, Repair::PerHop(_))
    }

    /// Whether successors say something that releases the gate of a hop.
    pub(crate) const fn releases_hops(&self) -> bool {
        self.repairs_hops() || self.hop.feedback.forwarded
    }

    /// The connection that the ends of circuits keep, if they do.
    pub const fn connection(&self) -> Option<&EndToEnd> {
        match &self.repair {
            Repair::EndToEnd(connection) => Some(connection),
            Repair::None | Repair::PerHop(_) => None,
        }
    }

    /// Regular calls of whichever layer asks for them; at most one does, for stacks with two of
    /// them are refused.
    pub fn tick(&self) -> Option<Tick> {
        self.hop.tick.or(self.path.tick)
    }

    /// Encoded bytes of feedback, at most.
    pub const fn feedback_len(&self) -> Bytes {
        match self.repair {
            _ if self.hop.feedback.padded => self.link.cell_len(),
            Repair::PerHop(HopRepair {
                selective: true, ..
            }) => Bytes::new(Feedback::LEN_WITH_WORD + Sack::RANGES_LEN),
            _ => Bytes::new(Feedback::LEN_WITH_WORD),
        }
    }
}
