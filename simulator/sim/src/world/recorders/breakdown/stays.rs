//! What holds marked cells back at the nodes of a machine.

use hopflow_overlay::{CircuitHandle, Hold, Holding, StreamHandle};
use hopflow_units::Instant;
use hopflow_wire::CellSeq;

use super::account::{Account, Stay, Wait};
use super::index::{FlowAt, StreamAt};
use super::notes::Followed;
use crate::outcome::Cause;
use crate::world::machine::{Machine, Node};

/// A marked cell at a relay.
#[derive(Clone, Debug)]
struct AtRelay {
    cell: Followed,
    /// The node by its position, and the circuit there.
    at: (u16, CircuitHandle),
    seq: CellSeq,
    wait: Wait,
}

/// A transfer whose last cell has not left its source.
#[derive(Clone, Debug)]
struct AtSource {
    user: (u32, u32),
    /// The offset behind it.
    end: u32,
    stream: (u16, StreamHandle),
    known: StreamAt,
    packaged: bool,
    /// By leg, the wait to be packaged, and that in the queue.
    waits: Vec<[Wait; 2]>,
}

/// The marked cells at a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Stays {
    sources: Vec<AtSource>,
    relays: Vec<AtRelay>,
}

impl Stays {
    /// The data of a transfer is written.
    pub(super) fn begin(&mut self, now: Instant, stream: (u16, StreamHandle), known: &StreamAt) {
        let waits = known.circuits.iter();
        self.sources.push(AtSource {
            user: (known.user, known.turn),
            end: known.written,
            stream,
            known: known.clone(),
            packaged: false,
            waits: waits.map(|_| [Wait::new(now), Wait::new(now)]).collect(),
        });
    }

    /// A marked cell comes to a relay.
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        at: (u16, CircuitHandle),
        cell: Followed,
        seq: CellSeq,
    ) {
        let wait = Wait::new(now);
        self.relays.push(AtRelay {
            cell,
            at,
            seq,
            wait,
        });
    }

    /// A node sends a cell that came to it with a mark; returns how it had spent its time there, unless
    /// it was sent before.
    pub(super) fn end(
        &mut self,
        now: Instant,
        (flow, end, before): (FlowAt, u32, u16),
        node: &Node,
    ) -> Option<Stay> {
        if flow.hop == 0 {
            return self.end_at_source(now, (flow, end), node);
        }
        let came = FlowAt {
            hop: flow.hop - 1,
            ..flow
        };
        let cell = Followed {
            flow: came,
            end,
            mark: before,
        };
        let place = self.relays.iter().position(|stay| stay.cell == cell)?;
        let mut stay = self.relays.remove(place);
        let (circuit, direction) = (stay.at.1, flow.direction);
        stay.wait
            .settle(now, sent(node, node.host.holding(now, circuit, direction)));
        // Those that came before with earlier bytes have left, or were dropped.
        let mut number = 0..;
        self.relays.retain(|other| {
            let earlier = number.next().is_some_and(|other| other < place);
            let ahead = end.wrapping_sub(other.cell.end) <= u32::MAX / 2;
            !(earlier && ahead && other.cell.flow == came)
        });
        Some(Stay {
            package: Account::default(),
            queue: stay.wait.account,
        })
    }

    fn end_at_source(
        &mut self,
        now: Instant,
        (flow, end): (FlowAt, u32),
        node: &Node,
    ) -> Option<Stay> {
        let name = ((flow.user, flow.turn), flow.direction, end);
        let known = |stay: &AtSource| (stay.user, stay.known.direction, stay.end) == name;
        let place = self.sources.iter().position(known)?;
        let mut stay = self.sources.remove(place);
        let circuit = stay.known.circuits[flow.leg as usize];
        let sent = sent(node, node.host.holding(now, circuit, flow.direction));
        let [mut package, mut queue] = stay.waits.swap_remove(flow.leg as usize);
        if stay.packaged {
            queue.settle(now, sent);
        } else {
            // It was packaged and sent at once.
            package.settle(now, sent);
        }
        Some(Stay {
            package: package.account,
            queue: queue.account,
        })
    }

    /// Asks what holds cells back. Circuits that are closed are forgotten.
    pub(super) fn ask(&mut self, now: Instant, machine: &Machine) {
        self.sources
            .retain_mut(|stay| stay.ask(now, machine).is_some());
        self.relays
            .retain_mut(|stay| stay.ask(now, machine).is_some());
    }
}

/// Cells that a node and one of its flows have sent.
fn sent(node: &Node, holding: Option<Holding>) -> [u64; 2] {
    let counters = node.host.counters();
    let departed = holding.map_or(0, |holding| holding.departed);
    [counters.cells_sent + counters.cells_resent, departed]
}

impl AtSource {
    fn ask(&mut self, now: Instant, machine: &Machine) -> Option<()> {
        let (position, stream) = self.stream;
        let node = machine.node(position);
        let packages = !node.host.stream_view(stream)?.pending.is_zero();
        for (circuit, [package, queue]) in self.known.circuits.iter().zip(&mut self.waits) {
            let holding = node.host.holding(now, *circuit, self.known.direction)?;
            let sent = sent(node, Some(holding));
            if packages {
                package.go_on(now, cause(holding.package), sent);
            } else if !self.packaged {
                package.go_on(now, cause(holding.package), sent);
                *queue = Wait::new(now);
                queue.go_on(now, cause(holding.queue), sent);
            } else {
                queue.go_on(now, cause(holding.queue), sent);
            }
        }
        self.packaged = !packages;
        Some(())
    }
}

impl AtRelay {
    fn ask(&mut self, now: Instant, machine: &Machine) -> Option<()> {
        let (position, circuit) = self.at;
        let node = machine.node(position);
        let holding = node.host.holding(now, circuit, self.cell.flow.direction)?;
        let waits = |missing: u64| self.seq.widen(missing) >= missing;
        let cause = if holding.missing.is_some_and(waits) {
            Cause::Order
        } else {
            cause(holding.queue)
        };
        self.wait.go_on(now, cause, sent(node, Some(holding)));
        Some(())
    }
}

const fn cause(hold: Hold) -> Cause {
    match hold {
        Hold::EndWindow => Cause::Window,
        Hold::EndPace => Cause::Pace,
        Hold::StreamWindow => Cause::StreamWindow,
        Hold::Stream => Cause::Stream,
        Hold::HopWindow => Cause::HopWindow,
        Hold::HopPace => Cause::HopPace,
        Hold::Room => Cause::Room,
        Hold::Run => Cause::Run,
        Hold::Bucket => Cause::Bucket,
        Hold::Driver => Cause::Uplink,
    }
}
