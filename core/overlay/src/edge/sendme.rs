//! Windows that the far end opens with SENDME cells (tor-spec, sections 7.3 and 7.4).

use hopflow_units::Cells;

use crate::Gate;

/// A window in cells, and how much of it one SENDME gives back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendmeWindow {
    /// Cells that may be outstanding.
    pub start: Cells,
    /// Cells that one SENDME releases.
    pub increment: Cells,
}

impl SendmeWindow {
    /// Opens a gate as wide as the window.
    pub fn open(&self, gate: &mut Gate) {
        gate.set_window(self.start);
    }
}

/// Counts delivered cells, and says when a SENDME is due.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acknowledger {
    delivered: u64,
}

impl Acknowledger {
    /// Counts a delivered cell; true if a SENDME is due now.
    #[inline]
    pub fn on_delivered(&mut self, window: &SendmeWindow) -> bool {
        self.delivered += 1;
        if self.delivered < window.increment.get() {
            return false;
        }
        self.delivered = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sendme_is_owed_after_every_increment() {
        let window = SendmeWindow {
            start: Cells::new(500),
            increment: Cells::new(50),
        };
        let mut acknowledger = Acknowledger::default();
        let owed = (1..=200)
            .filter(|_| acknowledger.on_delivered(&window))
            .count();
        assert_eq!(owed, 4);
    }
}
