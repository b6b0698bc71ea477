//! Putting the cells of several circuits back into the order of their stream.

use std::collections::BTreeMap;

/// Holds cells that came before their turn; bounded.
#[derive(Clone, Debug)]
pub(crate) struct Resequencer<P> {
    next: u32,
    limit: u32,
    held: BTreeMap<u32, P>,
}

/// What a resequencer does with a cell that is offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Offer {
    /// It is the next one: deliver it.
    Next,
    /// It comes early, and there is room to hold it.
    Early,
    /// It comes so early that it must wait in its circuit's queue, which holds back its sender.
    TooEarly,
    /// Its number was used before.
    Stale,
}

impl<P> Resequencer<P> {
    pub(crate) const fn new(limit: u32) -> Self {
        Self {
            next: 0,
            limit,
            held: BTreeMap::new(),
        }
    }

    pub(crate) fn offer(&self, number: u32) -> Offer {
        match number.wrapping_sub(self.next) {
            0 => Offer::Next,
            ahead if ahead > u32::MAX / 2 => Offer::Stale,
            ahead if ahead > self.limit => Offer::TooEarly,
            _ if self.held.contains_key(&number) => Offer::Stale,
            _ => Offer::Early,
        }
    }

    pub(crate) fn hold(&mut self, number: u32, cell: P) {
        self.held.insert(number, cell);
    }

    /// Counts the next cell as delivered.
    pub(crate) fn advance(&mut self) {
        self.next = self.next.wrapping_add(1);
    }

    /// Takes the cell whose turn it is, if it is held.
    pub(crate) fn take_next(&mut self) -> Option<P> {
        let cell = self.held.remove(&self.next)?;
        self.advance();
        Some(cell)
    }

    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_wait_for_their_turn_within_the_limit() {
        let mut resequencer = Resequencer::new(2);
        assert_eq!(resequencer.offer(3), Offer::TooEarly);
        assert_eq!(resequencer.offer(2), Offer::Early);
        resequencer.hold(2, 'c');
        assert_eq!(resequencer.offer(2), Offer::Stale);
        assert_eq!(resequencer.take_next(), None);
        assert_eq!(resequencer.offer(0), Offer::Next);
        resequencer.advance();
        resequencer.hold(1, 'b');
        assert_eq!(
            (resequencer.take_next(), resequencer.take_next()),
            (Some('b'), Some('c'))
        );
        assert_eq!(resequencer.offer(1), Offer::Stale);
        assert_eq!(resequencer.held(), 0);
    }
}
