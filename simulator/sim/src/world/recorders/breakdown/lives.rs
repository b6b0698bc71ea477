//! The notes of all machines, put together: the way of each followed cell.

use std::collections::BTreeMap;

use hopflow_overlay::Direction;
use hopflow_units::{Cells, Duration, Instant, NodeId};

use super::account::{Account, Stay};
use super::notes::{Departed, Followed, Note, Received, Sent};
use crate::outcome::{Cause, Download, Part, Stage};
use crate::world::marks::{Least, SegmentTimes};

/// The ways of all followed cells.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    /// By user, which of its circuits, direction, and the offset behind the cell.
    cells: BTreeMap<(u32, u32, Direction, u32), Life>,
}

/// What was noted of a cell.
#[derive(Debug, Default)]
struct Life {
    /// When the data was written whose end it has.
    written: Vec<Instant>,
    sent: Vec<Sent>,
    first: Vec<(Followed, Instant)>,
    departed: Vec<Departed>,
    received: Vec<Received>,
    /// When it was delivered, where, and the mark with which it had come there.
    delivered: Vec<(Instant, u32, u16)>,
}

/// A transfer of data from one end of a circuit to the other.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    written: Instant,
    delivered: Instant,
    machine: u32,
    name: (u32, u32, Direction, u32),
}

/// The parts of a way, gathered from its end on.
#[derive(Default)]
struct Steps {
    parts: Vec<Step>,
    /// The nodes that sent the cell, with what they had sent when they did.
    nodes: BTreeMap<u32, u64>,
}

/// Where and why a byte was kept.
#[derive(Clone, Copy)]
struct Step {
    stage: Stage,
    hop: u32,
    machine: u32,
    cause: Cause,
    time: Duration,
    cells: Cells,
    /// On the first step at a node, cells that the node sent since the transfer before.
    node_cells: Cells,
}

impl Lives {
    /// Adds the notes of a machine.
    pub(crate) fn add(&mut self, notes: Vec<Note>) {
        for note in notes {
            self.add_note(note);
        }
    }

    fn of(&mut self, cell: Followed) -> &mut Life {
        let flow = cell.flow;
        let name = (flow.user, flow.turn, flow.direction, cell.end);
        self.cells.entry(name).or_default()
    }

    fn add_note(&mut self, note: Note) {
        match note {
            Note::Written {
                user,
                turn,
                direction,
                end,
                at,
            } => {
                let life = self.cells.entry((user, turn, direction, end)).or_default();
                life.written.push(at);
            }
            Note::Sent(sent) => self.of(sent.cell).sent.push(sent),
            Note::First { cell, at } => self.of(cell).first.push((cell, at)),
            Note::Departed(departed) => self.of(departed.cell).departed.push(departed),
            Note::Received(received) => self.of(received.cell).received.push(received),
            Note::Delivered {
                user,
                turn,
                direction,
                end,
                mark,
                machine,
                at,
            } => {
                let life = self.cells.entry((user, turn, direction, end)).or_default();
                life.delivered.push((at, machine, mark));
            }
        }
    }

    /// The parts of downloads, in their order.
    pub(crate) fn breakdown(&self, downloads: &[Download]) -> Vec<Part> {
        let transfers = self.transfers();
        let of = |download: &Download| self.download(download, &transfers);
        downloads.iter().flat_map(of).collect()
    }

    /// All transfers that were complete, by user, in order of time.
    fn transfers(&self) -> BTreeMap<u32, Vec<Transfer>> {
        let mut all: BTreeMap<u32, Vec<Transfer>> = BTreeMap::new();
        for (&name, life) in &self.cells {
            for &(delivered, machine, _) in &life.delivered {
                let mut written = life.written.iter().rev();
                let written = written.find(|at| **at <= delivered);
                all.entry(name.0).or_default().push(Transfer {
                    written: *written.expect("what is delivered was written"),
                    delivered,
                    machine,
                    name,
                });
            }
        }
        for transfers in all.values_mut() {
            transfers.sort_by_key(|transfer| (transfer.delivered, transfer.written));
        }
        all
    }

    /// The parts of a download: transfers to and fro, and what is between them.
    fn download(&self, download: &Download, transfers: &BTreeMap<u32, Vec<Transfer>>) -> Vec<Part> {
        let end = download.requested + download.ttlb;
        let all = transfers
            .get(&download.circuit)
            .map_or(&[][..], Vec::as_slice);
        let of = |transfer: &&Transfer| {
            transfer.written >= download.requested && transfer.delivered <= end
        };
        let (mut parts, mut before) = (Vec::new(), None::<Transfer>);
        let mut nodes = BTreeMap::new();
        for (number, transfer) in (0..).zip(all.iter().filter(of)) {
            let (_, _, direction, _) = transfer.name;
            let part = |step: Step| Part {
                circuit: download.circuit,
                index: download.index,
                transfer: number,
                direction,
                stage: step.stage,
                hop: step.hop,
                node: NodeId::new(step.machine),
                cause: step.cause,
                time: step.time,
                cells: step.cells,
                node_cells: step.node_cells,
            };
            let pause = before.map(|before| between(&before, transfer));
            let pause = pause.filter(|step| !step.time.is_zero());
            parts.extend(pause.map(part));
            let mut way = self.way(transfer);
            way.count_cells(&nodes);
            parts.extend(way.parts.into_iter().map(part));
            (before, nodes) = (Some(*transfer), way.nodes);
        }
        parts
    }

    /// The way of the last cell of a transfer, read from its end.
    fn way(&self, transfer: &Transfer) -> Steps {
        let life = &self.cells[&transfer.name];
        let mut delivered = life.delivered.iter();
        let delivered = delivered.find(|(at, ..)| *at == transfer.delivered);
        let &(at, machine, mark) = delivered.expect("the transfer is complete");
        let mut steps = Steps::default();
        let mut received = life.received(mark, at, |received| received.last);
        steps.push(
            (Stage::Sink, received.cell.flow.hop + 1, machine),
            Cause::Order,
            at - received.at,
        );
        loop {
            let sent = life.sent(received);
            let first = life.first_sent(sent);
            let place = (Stage::Hop, sent.cell.flow.hop, sent.machine);
            steps.cross(life, sent, received);
            steps.push(place, Cause::Retransmission, sent.at - first.at);
            steps.stay(first);
            steps.nodes.insert(first.machine, first.total);
            let Some(hop) = sent.cell.flow.hop.checked_sub(1) else {
                break;
            };
            let leg = sent.cell.flow.leg;
            received = life.received(sent.before, first.at, |received| {
                let flow = received.cell.flow;
                (flow.hop, flow.leg) == (hop, leg)
            });
        }
        steps.parts.reverse();
        steps
    }
}

/// What is between two transfers of a download.
fn between(before: &Transfer, next: &Transfer) -> Step {
    let (stage, cause) = match next.name.2 {
        Direction::Backward => (Stage::Server, Cause::Server),
        Direction::Forward => (Stage::User, Cause::Pause),
    };
    Step {
        stage,
        hop: 0,
        machine: before.machine,
        cause,
        time: next.written - before.delivered,
        cells: Cells::ZERO,
        node_cells: Cells::ZERO,
    }
}

impl Life {
    /// How the cell first came with a mark to a node, which had it by a time: a link may copy it.
    fn received(&self, mark: u16, by: Instant, at: impl Fn(&Received) -> bool) -> &Received {
        let mut all = self.received.iter();
        let found = all.find(|it| it.cell.mark == mark && it.at <= by && at(it));
        found.expect("what leaves a node has come to it")
    }

    /// The transmission by which it came.
    fn sent(&self, received: &Received) -> &Sent {
        let (mut all, by) = (self.sent.iter().rev(), received.at);
        let found = all.find(|sent| sent.cell == received.cell && sent.at <= by);
        found.expect("what arrives was sent")
    }

    /// The first transmission of what was sent then.
    fn first_sent<'a>(&'a self, again: &'a Sent) -> &'a Sent {
        let same = |sent: &&Sent| {
            (sent.cell.flow, sent.before) == (again.cell.flow, again.before) && sent.at <= again.at
        };
        self.sent.iter().find(same).unwrap_or(again)
    }

    /// How the packet left the uplink that came then.
    fn departed(&self, received: &Received) -> Option<&Departed> {
        let segment = received.crossing.segment.map(|segment| segment.sent);
        let same = |it: &&Departed| {
            it.cell == received.cell && it.segment == segment && it.at <= received.crossing.router
        };
        self.departed.iter().rev().find(same)
    }

    /// When the connection sent the cell's last byte first.
    fn first_segment(&self, received: &Received) -> Option<Instant> {
        let mut first = self.first.iter().rev();
        let found = first.find(|(cell, at)| *cell == received.cell && *at <= received.at);
        found.map(|(_, at)| *at)
    }
}

impl Steps {
    /// Counts what nodes sent since the cell of another transfer left them.
    fn count_cells(&mut self, before: &BTreeMap<u32, u64>) {
        for (machine, total) in &self.nodes {
            let first = self.parts.iter_mut().find(|step| step.machine == *machine);
            if let (Some(step), Some(before)) = (first, before.get(machine)) {
                step.node_cells = Cells::new(total.saturating_sub(*before));
            }
        }
    }

    fn push(&mut self, place: (Stage, u32, u32), cause: Cause, time: Duration) {
        self.push_turns(place, (cause, time, Cells::ZERO));
    }

    fn push_turns(
        &mut self,
        (stage, hop, machine): (Stage, u32, u32),
        (cause, time, cells): (Cause, Duration, Cells),
    ) {
        if !time.is_zero() {
            self.parts.push(Step {
                stage,
                hop,
                machine,
                cause,
                time,
                cells,
                node_cells: Cells::ZERO,
            });
        }
    }

    /// The way from one node to the next.
    fn cross(&mut self, life: &Life, sent: &Sent, received: &Received) {
        let hop = sent.cell.flow.hop;
        let (from, to) = (
            (Stage::Hop, hop, sent.machine),
            (Stage::Hop, hop, received.machine),
        );
        let crossing = received.crossing;
        let mut begin = sent.at;
        if let Some(SegmentTimes { sent, ready }) = crossing.segment {
            self.push(to, Cause::Reading, received.at - ready);
            self.push(to, Cause::TcpOrder, ready - crossing.arrived);
            begin = sent;
        }
        self.link(to, crossing.arrived - crossing.router, crossing.least);
        let (left, least) = life
            .departed(received)
            .map_or((crossing.router, Least::default()), |it| (it.at, it.least));
        self.push(from, Cause::Backbone, crossing.router - left);
        self.link(from, left - begin, least);
        if crossing.segment.is_some() {
            let first = life.first_segment(received).unwrap_or(begin);
            self.push(from, Cause::Retransmission, begin - first);
            self.push(from, Cause::Buffer, first - sent.at);
        }
    }

    /// A link, of which a packet took a time. A link that changed meanwhile may have taken less than
    /// it would at the end.
    fn link(&mut self, place: (Stage, u32, u32), time: Duration, least: Least) {
        let propagate = least.propagate.min(time);
        let serialise = least.serialise.min(time - propagate);
        self.push(place, Cause::Propagation, propagate);
        self.push(place, Cause::Serialisation, serialise);
        self.push(place, Cause::LinkQueue, time - propagate - serialise);
    }

    /// The time at the node that sent a cell.
    fn stay(&mut self, sent: &Sent) {
        let stay = sent.stay.as_deref();
        let stay = stay.expect("a cell stays at a node until it is sent first");
        let Stay { package, queue } = stay;
        let (hop, machine) = (sent.cell.flow.hop, sent.machine);
        self.account((Stage::Queue, hop, machine), queue);
        self.account((Stage::Package, hop, machine), package);
    }

    fn account(&mut self, place: (Stage, u32, u32), account: &Account) {
        for part in account.parts().into_iter().rev() {
            self.push_turns(place, part);
        }
    }
}
