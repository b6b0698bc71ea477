//! Which cryptography a cell meets as it leaves or reaches this node.

use hopflow_onion::{Forged, HopKeys, TAG};
use hopflow_overlay::{Direction, Plan};
use hopflow_wire::{CELL_PAYLOAD, CellFlags, CellSeq, Proof, RelayCommand};

type Body = [u8; CELL_PAYLOAD];

/// The first index of control cells, and the number of counts of which each kind of cell can have one.
/// The other indices are below it, so that they never meet.
const CONTROL: u64 = 1 << 63;

/// A cell that must not leave: its circuit is gone, its number leaves out others where none may be missing,
/// or it is that of another cell. Nothing must be sealed twice under one index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NotSent;

/// Who numbers a circuit's cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Numbering {
    /// Each hop, which repeats what is lost: relays get all cells of a flow.
    Hops,
    /// The circuit's ends, which repeat what is lost: relays get cells in any order, not all of them, and some
    /// more than once; [control cells](CellFlags::CONTROL) have numbers of their own.
    Ends,
}

impl Numbering {
    pub(crate) const fn of(plan: &Plan) -> Self {
        match plan.connection() {
            Some(_) => Self::Ends,
            None => Self::Hops,
        }
    }
}

/// A circuit's keys at this node, and how far its cells have come.
#[derive(Debug)]
pub(crate) struct Crypt {
    keys: Keys,
    numbering: Numbering,
    /// Of cells that leave, by direction.
    leaving: [Counts; 2],
    /// Of cells that end here.
    ending: Counts,
}

/// The next count expected of the cells of a flow, and of its control cells.
#[derive(Clone, Copy, Default, Debug)]
struct Counts([u64; 2]);

/// Where a cell stands among its flow's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    control: bool,
    count: u64,
}

impl Counts {
    const fn next(&self, control: bool) -> u64 {
        self.0[control as usize]
    }

    /// The place of a cell, by its number; `None` if there is none so far on, which no circuit gets to
    /// without a neighbour that makes numbers up.
    #[inline]
    fn place(&self, control: bool, seq: CellSeq) -> Option<Place> {
        let count = seq.widen(self.next(control));
        (count < CONTROL).then_some(Place { control, count })
    }

    #[inline]
    fn note(&mut self, place: Place) {
        let next = &mut self.0[usize::from(place.control)];
        *next = (*next).max(place.count + 1);
    }
}

impl Place {
    /// The index that the cell has for all ciphers.
    const fn index(self) -> u64 {
        if self.control {
            CONTROL + self.count
        } else {
            self.count
        }
    }
}

#[derive(Debug)]
enum Keys {
    /// At the client: of all hops, the nearest first.
    Client(Vec<HopKeys>),
    /// At a relay that others follow.
    Middle(Box<HopKeys>),
    /// At the last relay.
    Last(Box<HopKeys>),
}

impl Crypt {
    pub(crate) fn client(hops: Vec<HopKeys>, numbering: Numbering) -> Self {
        Self::new(Keys::Client(hops), numbering)
    }

    pub(crate) fn relay(keys: Box<HopKeys>, last: bool, numbering: Numbering) -> Self {
        let keys = if last {
            Keys::Last(keys)
        } else {
            Keys::Middle(keys)
        };
        Self::new(keys, numbering)
    }

    fn new(keys: Keys, numbering: Numbering) -> Self {
        Self {
            keys,
            numbering,
            leaving: Default::default(),
            ending: Counts::default(),
        }
    }

    /// Whether a cell's number counts control cells. What hops number has none, whatever a neighbour says.
    #[inline]
    fn counts_control(&self, flags: CellFlags) -> bool {
        self.numbering == Numbering::Ends && flags.is_control()
    }

    /// Whether a cell may leave. Of what is sealed here, a cell that comes again is the same, but a control
    /// cell is another each time. What passes gets a layer, which may be added twice under one index: it hides
    /// nothing from who sees both sides of the relay, for a cell has the same number there.
    #[inline]
    fn may_leave(&self, place: Place, next: u64) -> bool {
        match (self.numbering, place.control) {
            (Numbering::Ends, _) if !self.ends_here() => true,
            (_, true) => place.count == next,
            (_, false) => place.count <= next,
        }
    }

    /// Makes a cell ready for the neighbour. A cell that is sent again has the same index and
    /// becomes the same bytes. Returns what proves that the cell was read, if it is one of content that
    /// begins here and is not sent again.
    ///
    /// # Errors
    /// If the cell must not leave.
    #[inline]
    pub(crate) fn outgoing(
        &mut self,
        direction: Direction,
        (flags, seq): (CellFlags, CellSeq),
        body: &mut Body,
    ) -> Result<Option<Proof>, NotSent> {
        let control = self.counts_control(flags);
        let counts = self.leaving[direction as usize];
        let (place, next) = (counts.place(control, seq), counts.next(control));
        let place = place.filter(|place| self.may_leave(*place, next));
        let place = place.ok_or(NotSent)?;
        self.leaving[direction as usize].note(place);
        let (index, first) = (place.index(), place.count == next);
        let (seal, before) = match (&mut self.keys, direction) {
            (Keys::Client(hops), _) => {
                let (last, before) = hops.split_last_mut().ok_or(NotSent)?;
                (&last.forward, before)
            }
            (Keys::Last(hop), _) => (&hop.backward, &mut [][..]),
            (Keys::Middle(hop), Direction::Forward) => {
                hop.forward.apply_layer(index, body);
                return Ok(None);
            }
            (Keys::Middle(hop), Direction::Backward) => {
                hop.backward.apply_layer(index, body);
                return Ok(None);
            }
        };
        let proves = first && is_content(body);
        seal.seal(index, body);
        let proof = body.first_chunk().filter(|_| proves).copied();
        for hop in before {
            hop.forward.apply_layer(index, body);
        }
        Ok(proof)
    }

    /// Whether cells end at this node in any direction.
    #[inline]
    pub(crate) const fn ends_here(&self) -> bool {
        !matches!(self.keys, Keys::Middle(_))
    }

    /// Opens a cell that ends at this node; relays that others follow leave cells as they are.
    /// `tag` is `None` where the carrier keeps the order.
    ///
    /// # Errors
    /// If the cell was not sealed by the circuit's other end.
    #[inline]
    pub(crate) fn incoming(
        &mut self,
        tag: Option<(CellFlags, CellSeq)>,
        body: &mut Body,
    ) -> Result<(), Forged> {
        if matches!(self.keys, Keys::Middle(_)) {
            return Ok(());
        }
        let (flags, seq) = tag.unwrap_or_else(|| {
            let next = CellSeq::of(self.ending.next(false));
            (CellFlags::default(), next)
        });
        let place = self.ending.place(self.counts_control(flags), seq);
        let place = place.ok_or(Forged)?;
        self.ending.note(place);
        let index = place.index();
        match &mut self.keys {
            Keys::Middle(_) => Ok(()),
            Keys::Last(hop) => hop.forward.open(index, body),
            Keys::Client(hops) => {
                let (last, before) = hops.split_last_mut().ok_or(Forged)?;
                for hop in before {
                    hop.backward.apply_layer(index, body);
                }
                last.backward.open(index, body)
            }
        }
    }
}

/// Whether a plain payload is part of what a stream carries.
fn is_content(body: &Body) -> bool {
    RelayCommand::from_code(body[TAG]).is_ok_and(RelayCommand::is_content)
}

#[cfg(test)]
mod tests;
