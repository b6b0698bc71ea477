//! The choice among a stream's circuits, its legs: what it hears and what it asks for.

use hopflow_units::{Instant, StreamId};
use hopflow_wire::{Payload, RelayCommand};

use super::Node;
use crate::circuit::Fired;
use crate::layer::LegCall;
use crate::timers::Timer;
use crate::{FlowId, HopControl, PathCx, PathSignal, Violation};

impl<H: HopControl, P: Payload> Node<H, P> {
    /// Passes what happened to the choice among circuits, and then lets the flow go on.
    pub(super) fn on_path(&mut self, now: Instant, id: FlowId, signal: PathSignal<'_>) {
        match self.signal_path(now, id, signal) {
            Ok(()) => self.with(now, id.circuit(), |visit| visit.after_gate(id.direction())),
            Err(violation) => self.violated(now, id.circuit(), violation),
        }
    }

    /// Passes what happened to the choice among circuits, and does what it asked for.
    pub(super) fn signal_path(
        &mut self,
        now: Instant,
        id: FlowId,
        signal: PathSignal<'_>,
    ) -> Result<(), Violation> {
        let (Some(path), Some(circuit)) =
            (&mut self.layers.path, self.circuits.get_mut(id.circuit()))
        else {
            return Ok(());
        };
        let edge = circuit.edge.as_ref();
        let had_legs = edge.is_some_and(|edge| edge.legs.had_any);
        let legs = edge.into_iter().flat_map(|edge| &edge.legs.all);
        let legs: Vec<_> = legs.map(|&leg| FlowId::new(leg, id.direction())).collect();
        let (mut calls, mut timer) = (Vec::new(), None);
        let flow = &mut circuit[id.direction()];
        let mut cx = PathCx {
            now,
            site: &flow.site,
            legs: &legs,
            had_legs,
            calls: &mut calls,
            timer: &mut timer,
        };
        path.on(&mut cx, signal)?;
        if let Some(at) = timer.and_then(|at| flow.wakes.path.want(now, at)) {
            self.timers.set(at, Timer::Path(id));
        }
        for call in calls {
            match call {
                LegCall::Send(along, command) => self.send_along(now, along, command),
                LegCall::Pin(leg) => self.pin_streams(now, id, Some(leg)),
                LegCall::Park => self.pin_streams(now, id, None),
            }
        }
        Ok(())
    }

    /// The time has come for which the choice among circuits asked.
    pub(super) fn on_path_timer(&mut self, now: Instant, id: FlowId, at: Instant) {
        let Some(circuit) = self.circuits.get_mut(id.circuit()) else {
            return;
        };
        match circuit[id.direction()].wakes.path.fired(at) {
            Fired::Stale => {}
            Fired::Due => self.on_path(now, id, PathSignal::Timer),
            Fired::Later(at) => self.timers.set(at, Timer::Path(id)),
        }
    }

    /// Puts a command about the circuit into the queue of a flow that begins here.
    fn send_along(&mut self, now: Instant, id: FlowId, command: RelayCommand) {
        self.with(now, id.circuit(), |visit| {
            if visit.circuit.source() == Some(id.direction()) {
                return visit.send_command(command, StreamId::CIRCUIT);
            }
            Ok(())
        });
    }

    /// Lets one leg, or none, take the cells of those of a flow's streams that have several.
    fn pin_streams(&mut self, now: Instant, id: FlowId, leg: Option<FlowId>) {
        let edge = self
            .circuits
            .get(id.circuit())
            .and_then(|it| it.edge.as_ref());
        let Some(edge) = edge else { return };
        let places: Vec<u32> = edge.streams().iter().map(|(_, place)| *place).collect();
        if let Some(leg) = leg {
            for other in edge.legs.all.clone() {
                if let Some(edge) = self.edge(other) {
                    edge.legs.pinned = Some(leg.circuit());
                }
            }
        }
        for place in places {
            let Some(stream) = self.streams.get_mut(place) else {
                continue;
            };
            if stream.legs.len() < 2 {
                continue;
            }
            match leg {
                Some(leg) => stream.pin(Some(leg.circuit())),
                None => stream.park(),
            }
        }
        self.refill_legs(now, id.circuit());
    }
}
