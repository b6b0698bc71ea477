//! A stream at one end of its circuits.

use hopflow_units::{Bytes, Cells, Instant, StreamId};
use hopflow_wire::{Payload, RelayCommand, RelayHeader};

use super::inbox::Inbox;
use super::resequencer::{Offer, Resequencer};
use crate::Violation;

/// A stream's data in both directions, over one or more circuits, its *legs*.
///
/// The source assigns each cell to a leg when that leg may take it: a leg whose gate is open pulls
/// the next cell, unless the stream is pinned to another one. With several legs the cells are
/// numbered, and the sink restores the order.
#[derive(Clone, Debug)]
pub(crate) struct Stream<P: Payload> {
    pub(crate) id: StreamId,
    /// The circuits, as the node numbers them.
    pub(crate) legs: Vec<u32>,
    /// Which legs may take cells.
    open_to: OpenTo,
    /// The leg that carries the stream's beginning, if there are several: until the exit has said something,
    /// it alone may take cells, for on another one they could come before the beginning.
    begins_on: Option<u32>,
    out: Outgoing<P>,
    /// Whether the far end holds enough of this end's data.
    pub(crate) paused: bool,
    /// Whether the other end has finished.
    pub(crate) far_ended: bool,
    /// Report to the driver when less than this waits to be packaged.
    pub(crate) low_water: Option<Bytes>,
    /// Cells that the application still takes; [`Cells::MAX`] is no limit.
    pub(crate) credit: Cells,
    pub(crate) delivered: Bytes,
    pub(crate) inbox: Inbox<P>,
    pub(crate) resequencer: Option<Resequencer<P>>,
}

/// The legs that may take a stream's cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OpenTo {
    /// Any whose gate is open.
    Any,
    /// This one alone.
    One(u32),
    /// None, for the time being.
    None,
}

impl<P: Payload> Stream<P> {
    /// A stream over `legs`; `hold` cells that come early are held at most.
    pub(crate) fn new(id: StreamId, legs: Vec<u32>, hold: u32) -> Self {
        let resequencer = (legs.len() > 1).then(|| Resequencer::new(hold));
        Self {
            id,
            legs,
            open_to: OpenTo::Any,
            begins_on: None,
            out: Outgoing::default(),
            paused: false,
            far_ended: false,
            low_water: None,
            credit: Cells::MAX,
            delivered: Bytes::ZERO,
            inbox: Inbox::default(),
            resequencer,
        }
    }

    /// Takes application data that waits to be packaged; nothing comes behind the end.
    pub(crate) fn write(&mut self, data: P::Data, len: Bytes) {
        self.out.write(data, len);
    }

    /// Makes what is written now the stream's target, which its first cell carries.
    pub(crate) fn begin(&mut self, data: P::Data, len: Bytes) {
        self.begins_on = self.legs.first().filter(|_| self.legs.len() > 1).copied();
        self.out.begin(data, len);
    }

    /// The other end said something; true if the other legs may take cells from now on that could not.
    #[inline]
    pub(crate) fn on_heard(&mut self) -> bool {
        self.begins_on.take().is_some()
    }

    /// Lets the end follow what was written.
    pub(crate) fn finish(&mut self) {
        self.out.finish();
    }

    /// Whether neither end sends anything more: this end's was packaged, and the far end's has come.
    /// What the application has not taken may still wait here.
    pub(crate) fn is_over(&self) -> bool {
        self.out.has_ended() && self.far_ended
    }

    /// Leaves the choice of a leg to the gates, or to one leg; what is no leg is ignored.
    pub(crate) fn pin(&mut self, leg: Option<u32>) {
        match leg {
            None => self.open_to = OpenTo::Any,
            Some(leg) if self.legs.contains(&leg) => self.open_to = OpenTo::One(leg),
            Some(_) => {}
        }
    }

    /// Keeps all legs from taking cells until the stream is pinned anew.
    pub(crate) fn park(&mut self) {
        self.open_to = OpenTo::None;
    }

    /// Whether the end was packaged.
    pub(crate) fn has_ended(&self) -> bool {
        self.out.has_ended()
    }

    /// Whether there is something that the other end takes now.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.out.offers() && !self.paused
    }

    /// Whether `leg` may take the stream's cells.
    #[inline]
    pub(crate) fn is_open_to(&self, leg: u32) -> bool {
        if let Some(first) = self.begins_on {
            return first == leg;
        }
        match self.open_to {
            OpenTo::Any => true,
            OpenTo::One(open) => open == leg,
            OpenTo::None => false,
        }
    }

    /// Whether there is something that `leg` may take.
    #[inline]
    pub(crate) fn offers(&self, leg: u32) -> bool {
        self.has_work() && self.is_open_to(leg)
    }

    /// Packages the next cell; `secret` if its proof will be asked for.
    #[inline]
    pub(crate) fn package(&mut self, now: Instant, secret: bool) -> P {
        let numbered = self.resequencer.is_some();
        self.out.package(now, self.id, (numbered, secret))
    }

    /// Whether the driver is to hear that little waits to be packaged; it hears it once.
    #[inline]
    pub(crate) fn ran_low(&mut self) -> bool {
        self.low_water
            .take_if(|low| self.out.waiting() < low.get())
            .is_some()
    }

    /// Whether a cell may be delivered now; counts it as delivered if it is the next one.
    #[inline]
    pub(crate) fn offer(&mut self, header: &RelayHeader) -> Result<Offer, Violation> {
        let numbered = header.command.is_numbered();
        match &mut self.resequencer {
            None if !numbered => Ok(Offer::Next),
            Some(resequencer) if numbered => {
                let offer = resequencer.offer(header.number);
                match offer {
                    Offer::Next => resequencer.advance(),
                    Offer::Stale => return Err(Violation::Unexpected(header.command)),
                    Offer::Early | Offer::TooEarly => {}
                }
                Ok(offer)
            }
            _ => Err(Violation::Unexpected(header.command)),
        }
    }

    /// Keeps a cell that comes early.
    pub(crate) fn hold(&mut self, number: u32, cell: P) {
        if let Some(resequencer) = &mut self.resequencer {
            resequencer.hold(number, cell);
        }
    }

    /// Cells that wait for the application, or for cells of other legs.
    pub(crate) fn held(&self) -> u64 {
        let early = self.resequencer.as_ref().map_or(0, Resequencer::held);
        self.inbox.len() as u64 + early as u64
    }

    /// Application bytes that were packaged into cells so far.
    pub(crate) const fn packaged(&self) -> Bytes {
        self.out.packaged()
    }

    /// Application bytes that wait to be packaged.
    pub(crate) const fn pending(&self) -> Bytes {
        self.out.pending()
    }
}

/// Data of a stream that waits to be packaged.
#[derive(Clone, Debug)]
struct Outgoing<P: Payload> {
    data: P::Data,
    pending: u64,
    packaged: Bytes,
    next_number: u32,
    /// Bytes at the front of the data that name the stream's target, until they are packaged.
    target: Option<u64>,
    end: End,
}

/// What this end still sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// More data may be written.
    Open,
    /// The end follows the data that waits.
    Due,
    /// The end was packaged.
    Packaged,
}

impl<P: Payload> Default for Outgoing<P> {
    fn default() -> Self {
        Self {
            data: P::Data::default(),
            pending: 0,
            packaged: Bytes::ZERO,
            next_number: 0,
            target: None,
            end: End::Open,
        }
    }
}

impl<P: Payload> Outgoing<P> {
    fn write(&mut self, data: P::Data, len: Bytes) {
        if self.end == End::Open {
            P::append(&mut self.data, data);
            self.pending += len.get();
        }
    }

    /// Makes what is written now the target, which the first cell carries.
    fn begin(&mut self, data: P::Data, len: Bytes) {
        let fits = len.get() <= P::capacity(RelayCommand::Begin) as u64;
        assert!(fits && self.packaged.is_zero() && self.pending == 0 && self.end == End::Open);
        self.write(data, len);
        self.target = Some(self.pending);
    }

    fn finish(&mut self) {
        if self.end == End::Open {
            self.end = End::Due;
        }
    }

    /// Whether the end was packaged.
    fn has_ended(&self) -> bool {
        self.end == End::Packaged
    }

    /// Whether there is anything to package.
    #[inline]
    fn offers(&self) -> bool {
        self.pending > 0 || self.target.is_some() || self.end == End::Due
    }

    /// Bytes that wait; an end that waits counts as one, and so does an empty target.
    #[inline]
    fn waiting(&self) -> u64 {
        self.pending + u64::from(self.end == End::Due) + u64::from(self.target == Some(0))
    }

    const fn pending(&self) -> Bytes {
        Bytes::new(self.pending)
    }

    const fn packaged(&self) -> Bytes {
        self.packaged
    }

    /// Packages the next cell of the stream `id`, with a number if it is one of several circuits', and
    /// with something secret if its proof will be asked for.
    #[inline]
    fn package(&mut self, now: Instant, id: StreamId, (numbered, secret): (bool, bool)) -> P {
        let mut header = RelayHeader::control(RelayCommand::Data, id);
        let target = self.target.take();
        if target.is_some() {
            header.command = RelayCommand::Begin;
        } else if self.pending == 0 {
            header.command = RelayCommand::End;
            self.end = End::Packaged;
        }
        // The beginning has no number: it comes first on its circuit, and says what the stream is.
        if numbered && header.command != RelayCommand::Begin {
            header.command = match header.command {
                RelayCommand::End => RelayCommand::NumberedEnd,
                _ => RelayCommand::NumberedData,
            };
            header.number = self.next_number;
            self.next_number = self.next_number.wrapping_add(1);
        }
        let free = if secret { P::SECRET } else { 0 };
        let most = target.unwrap_or((P::capacity(header.command) - free) as u64);
        let len = self.pending.min(most);
        header.len = len as u16;
        self.pending -= len;
        self.packaged += Bytes::new(len);
        if secret {
            P::cut_secret(header, &mut self.data, now)
        } else {
            P::cut(header, &mut self.data, now)
        }
    }
}
