//! What can be seen of a world that stands at one time.

use std::sync::Arc;

use hopflow_overlay::{Direction, FlowView};
use hopflow_units::{Bytes, Duration, Instant};
use hopflow_wire::Frame;

use super::address::{CircuitEnd, LinkEnd};
use super::lane::Lane;
use super::outbox::Arrival;
use super::packets::{Content, Packet};
use super::partition::Partition;
use super::pipe::Pipe;
use super::users::{Directions, Sink};
use super::watched::Watched;
use super::world::World;
use crate::outcome::Download;

/// What can be seen of a world at one time.
#[derive(Clone, Debug)]
pub struct WorldView {
    /// The time: everything before it has happened.
    pub now: Duration,
    /// By number of the node in the specification.
    pub machines: Vec<MachineView>,
    /// By number of the circuit in the specification.
    pub users: Vec<UserView>,
    /// Packets between machines, in no order; not those that wait to leave their sender, and none on
    /// links between routers that have a rate.
    pub packets: Vec<PacketView>,
}

/// The access link of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineView {
    /// Towards its router.
    pub up: LinkView,
    /// From its router.
    pub down: LinkView,
}

/// What waits for one direction of an access link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkView {
    /// Packets.
    pub packets: usize,
    /// Bytes.
    pub bytes: Bytes,
}

/// What a user has. Before its circuit is there, and when it is closed, there are no hops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserView {
    /// The nodes that send what is measured, from its source on; with several circuits, circuit after
    /// circuit.
    pub hops: Vec<HopView>,
    /// Bytes that wait at the source to be packaged.
    pub pending: Bytes,
    /// Bytes that the source has packaged into cells so far, without what was lost with closed
    /// circuits: R(t).
    pub packaged: Bytes,
    /// Bytes that have been delivered so far, over all circuits that the user had: W(t).
    pub delivered: Bytes,
    /// What the user is waiting for.
    pub transfer: Option<TransferView>,
}

/// A node that sends cells of a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HopView {
    /// The machine, by number of its node in the specification.
    pub machine: u32,
    /// The state of the flow there.
    pub flow: FlowView,
}

/// A fetch under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransferView {
    /// When it was requested.
    pub requested: Duration,
    /// Bytes that have arrived.
    pub received: Bytes,
    /// All its bytes; `None`: it has no end.
    pub size: Option<Bytes>,
}

/// A packet between two machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketView {
    /// The machine that sent it.
    pub from: u32,
    /// The machine that it is for.
    pub to: u32,
    /// When it left its sender's access link behind, at the latest.
    pub left: Duration,
    /// When it arrives; at the router, if its last access link is yet to say.
    pub arrives: Duration,
    /// On the wire, with all headers.
    pub size: Bytes,
    /// Cells with data in it; of a stream carrier they cannot be told.
    pub cells: u16,
    /// Whose data its first cell carries, as far as that can be told.
    pub user: Option<u32>,
}

impl World {
    /// Makes the world one that can be [viewed](Self::view). The results are the same.
    ///
    /// Must be called before the world runs.
    ///
    /// # Panics
    /// If the world has run.
    pub fn watch(&mut self) {
        assert!(self.balance.is_none(), "it has not run");
        let names = self.users.iter().flat_map(|user| {
            let directions = [Direction::Forward, Direction::Backward];
            let names = directions
                .into_iter()
                .flat_map(|direction| user.legs.iter().flat_map(move |leg| leg.names(direction)));
            names.map(|name| (name, user.user))
        });
        self.watched = Some(Arc::new(Watched {
            names: names.collect(),
            users: self.users.clone(),
            count: self.circuits.len(),
        }));
    }

    /// What can be seen now.
    ///
    /// # Panics
    /// If the world is not [watched](Self::watch).
    pub fn view(&self) -> WorldView {
        let watched = self.watched.as_ref().expect("the world is watched");
        let all = &self.partitions[0];
        let mut users = vec![UserView::NONE; watched.count];
        for user in &watched.users {
            let Some(sink) = sink(user, &all.lanes) else {
                continue;
            };
            let present = (user.from <= self.now).then(|| view_user(user, sink, &all.lanes));
            let view = &mut users[user.user as usize];
            match present.flatten() {
                Some(present) => *view = present,
                None if view.hops.is_empty() => *view = UserView::without_circuit(sink),
                None => {}
            }
        }
        WorldView {
            now: self.now.saturating_since(Instant::ZERO),
            machines: all
                .lanes
                .iter()
                .map(|lane| self.view_machine(lane))
                .collect(),
            users,
            packets: self.view_packets(all, watched),
        }
    }

    /// Downloads that were completed at `since` or later, in no order.
    pub fn completed(&self, since: Duration) -> Vec<Download> {
        let since = Instant::ZERO + since;
        let of_lane = |lane: &Lane| {
            let downloads = lane.records.journal.downloads.iter().rev();
            let recent = downloads.take_while(|it| it.requested + it.ttlb >= since);
            recent.copied().collect::<Vec<_>>()
        };
        let lanes = self.partitions.iter().flat_map(|it| &it.lanes);
        lanes.flat_map(of_lane).collect()
    }

    fn view_machine(&self, lane: &Lane) -> MachineView {
        let view = |pipe: &Pipe| LinkView {
            packets: pipe.link().queue_len(self.now),
            bytes: pipe.link().queue_bytes(self.now),
        };
        MachineView {
            up: view(&lane.machine.up),
            down: view(&lane.machine.down),
        }
    }

    fn view_packets(&self, all: &Partition, watched: &Watched) -> Vec<PacketView> {
        let view = |packet: &Packet, at_router, arrives| {
            let from = sender(packet, &all.lanes)?;
            let to = packet.to.node.machine();
            let up = all.lanes[from.node.machine()]
                .machine
                .up
                .link()
                .config()
                .delay;
            let delay = up + self.grid.routes.delay(from.node.machine(), to);
            let left = Instant::saturating_since(at_router, Instant::ZERO + delay);
            let (cells, user) = content(packet, from, all, watched);
            Some(PacketView {
                from: from.node.machine() as u32,
                to: to as u32,
                left,
                arrives: Instant::saturating_since(arrives, Instant::ZERO),
                size: packet.size(),
                cells,
                user,
            })
        };
        let mut packets = Vec::new();
        for Arrival { at, packet, .. } in all.arrivals() {
            let down = &all.lanes[packet.to.node.machine()].machine.down;
            packets.extend(view(packet, *at, *at + down.link().config().delay));
        }
        for lane in &all.lanes {
            let link = lane.machine.down.link();
            link.visit_packets(|arrives, packet| {
                let before = arrives.saturating_since(Instant::ZERO + link.config().delay);
                packets.extend(view(packet, Instant::ZERO + before, arrives));
            });
        }
        let now = self.now.saturating_since(Instant::ZERO);
        packets.retain(|packet| packet.left <= now);
        packets
    }
}

impl UserView {
    const NONE: Self = Self {
        hops: Vec::new(),
        pending: Bytes::ZERO,
        packaged: Bytes::ZERO,
        delivered: Bytes::ZERO,
        transfer: None,
    };

    /// What was delivered over earlier circuits stays.
    fn without_circuit(sink: &Sink) -> Self {
        Self {
            packaged: sink.bytes,
            delivered: sink.bytes,
            ..Self::NONE
        }
    }
}

/// Where a user's data is delivered.
fn sink<'a>(user: &Directions, lanes: &'a [Lane]) -> Option<&'a Sink> {
    let at = user.ends[CircuitEnd::sink(user.measured) as usize];
    lanes[at.machine as usize].sink(at.end, at.index)
}

/// What a user has, if its circuits are there.
fn view_user(user: &Directions, sink: &Sink, lanes: &[Lane]) -> Option<UserView> {
    let senders = user.legs.iter().flat_map(|leg| leg.senders(user.measured));
    let hops = senders.map(|(at, circuit)| {
        let host = &lanes[at.machine()].machine.node(at.position).host;
        let flow = host.flow_view(circuit, user.measured)?;
        let machine = at.machine() as u32;
        Some(HopView { machine, flow })
    });
    let hops = hops.collect::<Option<Vec<_>>>()?;
    let at = user.ends[CircuitEnd::sink(user.measured.reverse()) as usize];
    let lane = &lanes[at.machine as usize];
    let endpoint = lane.endpoint(at.end, at.index);
    let host = &lane.machine.node(endpoint.position).host;
    let stream = host.stream_view(endpoint.stream);
    let packaged = stream.map_or(Bytes::ZERO, |stream| stream.packaged);
    let transfer = sink
        .under_way()
        .map(|(requested, received, size)| TransferView {
            requested: requested.saturating_since(Instant::ZERO),
            received,
            size,
        });
    Some(UserView {
        hops,
        pending: stream.map_or(Bytes::ZERO, |stream| stream.pending),
        // A circuit that is there, but that the user does not have yet, has packaged nothing.
        packaged: (sink.before + packaged).max(sink.bytes),
        delivered: sink.bytes,
        transfer,
    })
}

/// The end at which a packet of the overlay was sent.
fn sender(packet: &Packet, lanes: &[Lane]) -> Option<LinkEnd> {
    let LinkEnd { node, link } = packet.to;
    let links = &lanes[node.machine()].machine.node(node.position).links;
    links.get(link.index()).map(|neighbour| neighbour.to)
}

/// How many cells with data a packet has, and whose the first one is, as far as can be told.
fn content(packet: &Packet, from: LinkEnd, all: &Partition, of: &Watched) -> (u16, Option<u32>) {
    let Content::Datagram { start, len } = packet.content() else {
        return (0, None);
    };
    let frames = all.shared.packets.frames_of(start, len).iter();
    let cells = frames.filter_map(|frame| match frame {
        Frame::Cell(cell) if !cell.payload.is_empty() => Some(cell.circuit),
        _ => None,
    });
    let mut count = 0;
    let mut user = None;
    for circuit in cells {
        count += 1;
        user = user.or_else(|| of.names.get(&(from, circuit)).copied());
    }
    (count, user)
}
