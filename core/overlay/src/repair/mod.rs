//! What repairs losses: nothing, each hop, or the ends of a circuit.

mod end_to_end;
mod per_hop;

use hopflow_units::Instant;
use hopflow_wire::{Arrived, Cell, CellFlags, CellSeq, Feedback, Payload};

use crate::circuit::CellQueue;
use crate::{Plan, Repair, Role, Violation};
pub use end_to_end::EndToEnd;
pub(crate) use end_to_end::{Connected, Part, Sink, Source, Tag};
pub(crate) use per_hop::{Accepted, Expired, Forwards, News, Receiver, Sender};
pub use per_hop::{HopRepair, RttConfig, RttEstimator};

/// What repairs the losses of one flow at one node.
#[derive(Clone, Debug)]
pub(crate) enum Repairing<P> {
    /// Nothing; where the plan asks for it, the successor reports what it forwarded.
    Nothing(Option<Forwards>),
    /// This hop: order and acknowledgements towards the predecessor, retransmission towards the
    /// successor.
    PerHop(Receiver<P>, Sender),
    /// The ends of the circuit, of which this node may be one.
    EndToEnd(Box<Connected<P>>),
}

impl<P: Payload> Repairing<P> {
    /// Reads a field of each part; the number means nothing.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        match self {
            Self::PerHop(receiver, sender) => {
                let deadline = sender.deadline().map_or(0, Instant::as_nanos);
                receiver.expected() ^ deadline
            }
            Self::Nothing(_) | Self::EndToEnd(_) => 0,
        }
    }

    pub(crate) fn new(plan: &Plan, role: Role) -> Self {
        match &plan.repair {
            Repair::None => {
                let forwards = plan.hop.feedback.forwarded;
                Self::Nothing(forwards.then(Forwards::default))
            }
            Repair::PerHop(repair) => {
                let sender = Sender::new(plan.hop.feedback.forwarded, repair);
                Self::PerHop(Receiver::new(repair.selective), sender)
            }
            Repair::EndToEnd(config) => Self::EndToEnd(Box::new(Connected::new(config, role))),
        }
    }

    /// Takes a cell of a hop into the queue, which holds at most `limit` cells.
    #[inline]
    pub(crate) fn accept(
        &mut self,
        cell: Cell<P>,
        queue: &mut CellQueue<P>,
        limit: u64,
    ) -> Accepted {
        match self {
            Self::PerHop(receiver, _) => receiver.accept(cell.seq, cell.payload, queue, limit),
            Self::Nothing(_) if queue.unsent() < limit => {
                queue.push(cell.payload);
                Accepted::InOrder(1)
            }
            Self::EndToEnd(connected) if queue.unsent() < limit => {
                connected.queue(Some(Tag::of(&cell)));
                queue.push(cell.payload);
                Accepted::InOrder(1)
            }
            Self::Nothing(_) | Self::EndToEnd(_) => Accepted::Excess,
        }
    }

    /// Takes feedback of the successor, and what it says has arrived beyond a gap.
    #[inline]
    pub(crate) fn on_feedback(
        &mut self,
        now: Instant,
        (feedback, arrived): (&Feedback, Option<&Arrived>),
        queue: &mut CellQueue<P>,
    ) -> Result<News, Violation> {
        match self {
            Self::PerHop(_, sender) => sender.on_feedback(now, (feedback, arrived), queue),
            Self::Nothing(Some(forwards)) => forwards.on_feedback(feedback, queue),
            Self::Nothing(None) | Self::EndToEnd(_) => Ok(News::default()),
        }
    }

    /// Whether a cell is to be sent again.
    #[inline]
    pub(crate) fn wants_resend(&self, queue: &CellQueue<P>) -> bool {
        matches!(self, Self::PerHop(_, sender) if sender.wants_resend(queue))
    }

    /// The cell that is sent next, for the first time.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        queue: &mut CellQueue<P>,
    ) -> Option<(CellSeq, CellFlags, P)> {
        match self {
            Self::PerHop(_, sender) => {
                let (seq, payload) = queue.send()?;
                sender.on_sent(now);
                Some((CellSeq::of(seq), CellFlags::default(), payload))
            }
            Self::Nothing(_) => {
                let payload = queue.pop()?;
                let seq = CellSeq::of(queue.next() - 1);
                Some((seq, CellFlags::default(), payload))
            }
            Self::EndToEnd(connected) => {
                let payload = queue.pop()?;
                let tag = connected.leave();
                // All cells have tags: what begins here comes from the connection's ends.
                debug_assert!(tag.is_some());
                let tag = tag?;
                Some((tag.number, tag.flags, payload))
            }
        }
    }

    /// A cell that is sent again.
    pub(crate) fn resend(&mut self, queue: &CellQueue<P>) -> Option<(CellSeq, P)> {
        match self {
            Self::PerHop(_, sender) => {
                let (seq, payload) = sender.resend(queue)?;
                Some((CellSeq::of(seq), payload))
            }
            Self::Nothing(_) | Self::EndToEnd(_) => None,
        }
    }

    /// The number of the next cell expected of the predecessor, and how many cells arrived beyond
    /// a gap since the last call.
    #[inline]
    pub(crate) fn acknowledgement(&mut self) -> (u64, u8) {
        match self {
            Self::PerHop(receiver, _) => (receiver.expected(), receiver.take_out_of_order()),
            Self::EndToEnd(connected) => connected.acknowledgement(),
            Self::Nothing(_) => (0, 0),
        }
    }

    /// What has arrived beyond a gap, if the predecessor hears of it and anything has.
    #[inline]
    pub(crate) fn arrived(&self) -> Option<Arrived> {
        match self {
            Self::PerHop(receiver, _) => receiver.arrived(),
            Self::Nothing(_) | Self::EndToEnd(_) => None,
        }
    }

    /// How far the peer keeps exceeding the queue limit, in cells.
    pub(crate) fn excess(&self) -> u64 {
        match self {
            Self::PerHop(receiver, _) => receiver.excess(),
            Self::Nothing(_) | Self::EndToEnd(_) => 0,
        }
    }

    /// Cells that wait for those before them.
    pub(crate) fn held(&self) -> u64 {
        match self {
            Self::PerHop(receiver, _) => receiver.held(),
            Self::EndToEnd(connected) => connected.held(),
            Self::Nothing(_) => 0,
        }
    }

    /// Cells that the sending end of the circuit's connection keeps, besides those in the queue.
    pub(crate) fn kept(&self) -> u64 {
        match self {
            Self::EndToEnd(connected) => connected.kept(),
            Self::Nothing(_) | Self::PerHop(..) => 0,
        }
    }

    /// Of these, cells that were never sent.
    pub(crate) fn keeps_unsent(&self) -> u64 {
        self.sending().map_or(0, Source::unsent)
    }

    /// Whether it keeps as many cells as it may.
    pub(crate) fn keeps_enough(&self) -> bool {
        self.sending().is_some_and(Source::is_full)
    }

    fn sending(&self) -> Option<&Source<P>> {
        match self {
            Self::EndToEnd(connected) => match &connected.part {
                Part::Source(source) => Some(source),
                Part::Relay | Part::Sink(_) => None,
            },
            Self::Nothing(_) | Self::PerHop(..) => None,
        }
    }

    /// Where this hop restores the order: the number of the first cell that is missing.
    pub(crate) fn missing(&self) -> Option<u64> {
        match self {
            Self::PerHop(receiver, _) => Some(receiver.expected()),
            Self::Nothing(_) | Self::EndToEnd(_) => None,
        }
    }

    /// When [`Repairing::on_deadline`] is to be called.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::PerHop(_, sender) => sender.deadline(),
            Self::Nothing(_) | Self::EndToEnd(_) => None,
        }
    }

    /// Handles the hop's deadline, if it has passed.
    pub(crate) fn on_deadline(&mut self, now: Instant, queue: &CellQueue<P>) -> Option<Expired> {
        match self {
            Self::PerHop(_, sender) => sender.on_deadline(now, queue),
            Self::Nothing(_) | Self::EndToEnd(_) => None,
        }
    }

    /// The part in a connection of the circuit's ends, if they keep one.
    #[inline]
    pub(crate) fn connection(&mut self) -> Option<&mut Connected<P>> {
        match self {
            Self::EndToEnd(connected) => Some(connected),
            Self::Nothing(_) | Self::PerHop(..) => None,
        }
    }

    /// The sending end of the circuit's connection, if there is one and it is here.
    #[inline]
    pub(crate) fn source(&mut self) -> Option<&mut Source<P>> {
        self.connection()?.source()
    }

    /// The receiving end of the circuit's connection, if there is one and it is here.
    pub(crate) fn sink(&mut self) -> Option<&mut Sink<P>> {
        self.connection()?.sink()
    }
}
