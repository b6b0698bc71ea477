//! Packaging: application data becomes cells; of a stream's circuits the preferred ones come first.

use hopflow_units::Instant;
use hopflow_wire::Payload;

use super::Node;
use super::outbox::LegWork;
use super::visit::Visit;
use crate::circuit::Circuit;
use crate::edge::Stream;
use crate::{Direction, EndSignal, Event, FlowId, HopControl, StreamHandle, Violation};

/// Why a source packages no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// The queue holds enough, or the end-to-end gate is closed.
    Held,
    /// No stream offers anything.
    Empty,
}

impl<H: HopControl, P: Payload> Node<H, P> {
    /// Changes what a stream offers, and lets its circuits take it.
    pub(super) fn change_stream(
        &mut self,
        now: Instant,
        stream: StreamHandle,
        change: impl FnOnce(&mut Stream<P>),
    ) {
        let Some((place, stream)) = self.streams.find(stream) else {
            return;
        };
        change(stream);
        self.ticks.end_rest(now);
        self.refill_stream(now, place);
    }

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
                LegWork::Join(place) => self.join_legs(now, place),
                LegWork::Open(place) => self.refill_stream(now, place),
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
        let Some(edge) = edge.filter(|edge| !edge.legs.all.is_empty()) else {
            return;
        };
        let legs = edge.legs.all.clone();
        self.refill_in_turn(now, &legs);
    }

    /// Lets all legs of a stream take what it offers.
    pub(super) fn refill_stream(&mut self, now: Instant, place: u32) {
        let legs = self.streams.legs(place);
        let stream = self.streams.get(place).filter(|it| it.has_work());
        if let Some(name) = stream.map(|stream| stream.id) {
            for &leg in &legs {
                if let Some(edge) = self.edge(leg) {
                    edge.offer(name, place);
                }
            }
        }
        self.refill_in_turn(now, &legs);
    }

    /// Lets legs package, the preferred ones first.
    fn refill_in_turn(&mut self, now: Instant, legs: &[u32]) {
        let mut refilled = None;
        while let Some(leg) = self.next_leg(legs, refilled) {
            refilled = Some(leg);
            let source = self.source_flow(leg.1);
            self.refill_flow(now, leg.1);
            if let Some(mut visit) = self.visit(now, leg.1) {
                visit.schedule(source.direction());
            }
        }
    }

    /// The first of some legs behind `after`, by preference: its rank and number.
    fn next_leg(&self, legs: &[u32], after: Option<(u64, u32)>) -> Option<(u64, u32)> {
        let ranked = legs.iter().map(|&leg| (self.rank(leg), leg));
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
        let better = self.better_legs(now, circuit);
        let source = self.source_flow(circuit);
        let Some(mut visit) = self.visit(now, circuit) else {
            return false;
        };
        if let Some(edge) = &mut visit.circuit.edge {
            edge.legs.better = better;
        }
        let packaged = visit.package(source.direction());
        if let Some(edge) = &mut visit.circuit.edge {
            edge.legs.better.clear();
        }
        match packaged {
            Ok(packaged) => packaged,
            Err(violation) => {
                self.violated(now, circuit, violation);
                false
            }
        }
    }

    /// The legs to which a circuit leaves what they may take, too.
    fn better_legs(&self, now: Instant, circuit: u32) -> Vec<u32> {
        let edge = self.circuits.get(circuit).and_then(|it| it.edge.as_ref());
        let Some(edge) = edge.filter(|edge| edge.is_ranked()) else {
            return Vec::new();
        };
        let own = edge.preference;
        let better = |leg: &u32| self.goes_before(now, *leg, own.rank, own.wait_for_best_leg);
        edge.legs.all.iter().copied().filter(better).collect()
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

    /// The flow that takes data from this end of a circuit.
    pub(super) fn source_flow(&self, circuit: u32) -> FlowId {
        let found = self.circuits.get(circuit).and_then(Circuit::source);
        FlowId::new(circuit, found.unwrap_or(Direction::Backward))
    }
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
        let Some(place) = edge.offered(now, self.streams, self.place) else {
            if let Some(at) = edge.opens_at(now, self.streams) {
                self.wake_for_pace(direction, at);
            }
            return Ok(Some(Stop::Empty));
        };
        let handle = self.streams.handle(place);
        let Some(stream) = self.streams.get_mut(place) else {
            return Ok(Some(Stop::Empty));
        };
        let nth = edge.gate.passed().get() + 1;
        let every = plan.sendme_every.filter(|_| P::SECRET > 0);
        let secret = every.is_some_and(|every| nth.is_multiple_of(every.get()));
        flow.push_own(stream.package(now, secret));
        if stream.ran_low() {
            let event = Event::Drained { stream: handle };
            self.outbox.events.push_back(event);
        }
        edge.gate.pass(now);
        edge.filled = low < high && flow.waiting() >= high;
        self.streams.windows[place as usize].gate.pass(now);
        self.on_end(EndSignal::Packaged)?;
        Ok(None)
    }
}
