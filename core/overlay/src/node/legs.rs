//! Streams over several circuits, their legs: which of them packages next.

use hopflow_units::{Instant, StreamId};
use hopflow_wire::{Payload, RelayCommand, RelayHeader};

use super::Node;
use super::outbox::LegWork;
use crate::circuit::{Circuit, Fired};
use crate::layer::LegCall;
use crate::timers::Timer;
use crate::{Direction, FlowId, HopControl, PathCx, PathSignal, Violation};

impl<H: HopControl, P: Payload> Node<H, P> {
    /// Does what visits left for other circuits.
    #[cold]
    pub(super) fn work_on_legs(&mut self, now: Instant) {
        while let Some(work) = self.outbox.next_leg_work() {
            match work {
                LegWork::Refill(circuit) => self.refill(now, circuit),
                LegWork::AfterGate(id) => {
                    self.refill(now, id.circuit());
                    if let Some(mut visit) = self.visit(now, id.circuit()) {
                        visit.schedule(id.direction());
                        visit.set_alarm(id.direction());
                    }
                }
                LegWork::Send(circuit, command, stream) => {
                    self.with(now, circuit, |visit| visit.send_command(command, stream));
                }
            }
        }
    }

    /// Lets a ranked circuit package; what it leaves of a stream with other legs may be theirs then.
    fn refill(&mut self, now: Instant, circuit: u32) {
        if self.refill_flow(now, circuit) {
            self.refill_legs(now, circuit);
        }
    }

    /// Lets all legs of a circuit's streams package: what one heard may let the others go on.
    pub(super) fn refill_legs(&mut self, now: Instant, circuit: u32) {
        let edge = self.circuits.get(circuit).and_then(|it| it.edge.as_ref());
        if edge.is_none_or(|edge| edge.legs.is_empty()) {
            return;
        }
        let mut turn = 0;
        while let Some(place) = self.stream_at(circuit, turn) {
            if self.streams.has_legs(place) {
                self.refill_stream(now, place);
            }
            turn += 1;
        }
    }

    /// The place of the stream at a position of a circuit's end.
    fn stream_at(&self, circuit: u32, position: usize) -> Option<u32> {
        let edge = self.circuits.get(circuit)?.edge.as_ref()?;
        let &(_, place) = edge.streams().get(position)?;
        Some(place)
    }

    /// Lets all legs of a stream take what it offers, the preferred ones first.
    pub(super) fn refill_stream(&mut self, now: Instant, place: u32) {
        let mut refilled = None;
        while let Some(leg) = self.next_leg(place, refilled) {
            refilled = Some(leg);
            if let Some(stream) = self.streams.get(place).filter(|it| it.has_work())
                && let Some(circuit) = self.circuits.get_mut(leg.1)
                && let Some(edge) = &mut circuit.edge
            {
                edge.offer(stream.id, place);
            }
            let source = self.source_flow(leg.1);
            self.refill_flow(now, leg.1);
            if let Some(mut visit) = self.visit(now, leg.1) {
                visit.schedule(source.direction());
            }
        }
    }

    /// The leg of a stream behind `after`, by preference: its rank and number.
    fn next_leg(&self, place: u32, after: Option<(u64, u32)>) -> Option<(u64, u32)> {
        let legs = self.streams.get(place)?.legs.iter();
        let ranked = legs.map(|&leg| (self.rank(leg), leg));
        ranked
            .filter(|leg| after.is_none_or(|after| *leg > after))
            .min()
    }

    fn rank(&self, circuit: u32) -> u64 {
        let edge = self.circuits.get(circuit).and_then(|it| it.edge.as_ref());
        edge.map_or(0, |edge| edge.preference.rank)
    }

    /// Lets one circuit package, of those streams whose next cell it does not leave to a better
    /// leg. Whether it packaged, and could take no more.
    fn refill_flow(&mut self, now: Instant, circuit: u32) -> bool {
        let yielded = self.yielded(now, circuit);
        let source = self.source_flow(circuit);
        let Some(mut visit) = self.visit(now, circuit) else {
            return false;
        };
        if let Some(edge) = &mut visit.circuit.edge {
            edge.yielded = yielded;
        }
        let packaged = visit.package(source.direction());
        if let Some(edge) = &mut visit.circuit.edge {
            edge.yielded.clear();
        }
        match packaged {
            Ok(packaged) => packaged,
            Err(violation) => {
                self.violated(now, circuit, violation);
                false
            }
        }
    }

    /// The streams whose next cell a circuit leaves to a better leg.
    fn yielded(&self, now: Instant, circuit: u32) -> Vec<u32> {
        let edge = self.circuits.get(circuit).and_then(|it| it.edge.as_ref());
        let Some(edge) = edge.filter(|edge| edge.is_ranked()) else {
            return Vec::new();
        };
        let places = edge.offering();
        let own = edge.preference;
        let yields = |place: &u32| {
            let Some(stream) = self.streams.get(*place) else {
                return false;
            };
            let legs = stream.legs.iter().filter(|&&leg| stream.offers(leg));
            let better = |leg: &u32| self.goes_before(now, *leg, own.rank, own.wait_for_best_leg);
            stream.legs.len() > 1 && legs.copied().any(|leg| better(&leg))
        };
        places.filter(yields).collect()
    }

    /// Whether a circuit goes before one of rank `rank`, which waits for it if `waits`.
    fn goes_before(&self, now: Instant, circuit: u32, rank: u64, waits: bool) -> bool {
        let Some(other) = self.circuits.get(circuit) else {
            return false;
        };
        let Some(edge) = &other.edge else {
            return false;
        };
        let high = self.plan.end.source_high_water.get();
        let unsent = other[edge.source].queue.unsent();
        let ready = !edge.filled && unsent < high && edge.gate.is_open(now);
        edge.preference.rank < rank && (ready || waits)
    }

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
        let had_legs = edge.is_some_and(|edge| edge.had_legs);
        let legs = edge.into_iter().flat_map(|edge| &edge.legs);
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
        let limit = self.plan.own_limit();
        self.with(now, id.circuit(), |visit| {
            let flow = &mut visit.circuit[id.direction()];
            if flow.inbound.is_some() {
                return Ok(());
            }
            let header = RelayHeader::control(command, StreamId::new(0));
            flow.push_own(P::control(header, now));
            if flow.waiting() > limit {
                // The peer triggers commands but never drains them.
                return Err(Violation::Excess);
            }
            if visit.plan.connection().is_some() {
                visit.pump(id.direction());
            }
            visit.schedule(id.direction());
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
            self.refill_stream(now, place);
        }
    }

    /// The flow that takes data from this end of a circuit.
    pub(super) fn source_flow(&self, circuit: u32) -> FlowId {
        let found = self.circuits.get(circuit).and_then(Circuit::source);
        FlowId::new(circuit, found.unwrap_or(Direction::Backward))
    }
}
