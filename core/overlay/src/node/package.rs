//! Packaging: application data becomes cells, circuit by circuit of a stream.

use hopflow_wire::Payload;

use super::visit::Visit;
use crate::{Direction, EndSignal, Event, HopControl, Violation};

/// Why a source packages no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// The queue holds enough, or the end-to-end gate is closed.
    Held,
    /// No stream offers anything.
    Empty,
}

impl<H: HopControl, P: Payload> Visit<'_, H, P> {
    /// At a source, packages cells from the flow's streams in turn, as long as the end-to-end gates
    /// are open and no more than the planned number of cells waits. Where the circuit's ends keep a
    /// connection, what that lets go makes room for more. Returns whether a cell was packaged, and
    /// more might be if the circuit could take it.
    #[inline]
    pub(super) fn package(&mut self, direction: Direction) -> Result<bool, Violation> {
        let mut packaged = self.package_cells(direction)?;
        if self.plan.connection().is_some() {
            while self.pump(direction) {
                packaged |= self.package_cells(direction)?;
            }
        }
        Ok(packaged)
    }

    #[inline]
    fn package_cells(&mut self, direction: Direction) -> Result<bool, Violation> {
        if self.circuit[direction].inbound.is_some() {
            return Ok(false);
        }
        let mut packaged = false;
        loop {
            match self.package_cell(direction)? {
                None => packaged = true,
                Some(Stop::Held) => return Ok(packaged),
                Some(Stop::Empty) => return Ok(false),
            }
        }
    }

    /// Packages a cell, unless something stops it.
    #[inline]
    fn package_cell(&mut self, direction: Direction) -> Result<Option<Stop>, Violation> {
        let (now, plan) = (self.now, &self.plan.end);
        let (high, low) = (plan.source_high_water.get(), plan.source_low_water.get());
        let (flows, edge) = self.circuit.parts_mut();
        let flow = &mut flows[direction as usize];
        let Some(edge) = edge else {
            return Ok(Some(Stop::Held));
        };
        let waiting = flow.waiting();
        edge.filled &= waiting > low;
        if edge.filled || waiting >= high || flow.is_full() {
            return Ok(Some(Stop::Held));
        }
        if !edge.gate.is_open(now) {
            if let Some(at) = edge.gate.waits_until(now) {
                self.wake_for_pace(direction, at);
            }
            return Ok(Some(Stop::Held));
        }
        let Some(place) = self.streams.offered(now, edge, self.place) else {
            if let Some(at) = self.streams.opens_at(now, edge) {
                self.wake_for_pace(direction, at);
            }
            return Ok(Some(Stop::Empty));
        };
        let handle = self.streams.handle(place);
        let Some(stream) = self.streams.get_mut(place) else {
            return Ok(Some(Stop::Empty));
        };
        flow.push_own(stream.package(now));
        if stream.ran_low() {
            let event = Event::Drained { stream: handle };
            self.outbox.events.push_back(event);
        }
        edge.gate.pass(now);
        edge.filled = low < high && flow.waiting() >= high;
        self.streams.gates[place as usize].pass(now);
        self.on_end(EndSignal::Packaged)?;
        Ok(None)
    }
}
