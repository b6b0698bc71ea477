//! Where a user's data goes.

use hopflow_overlay::Direction;
use hopflow_trace::Place;
use hopflow_units::Instant;

use super::leg::Leg;
use crate::world::address::{CircuitEnd, LinkEnd, UserAt};
use crate::world::lane::Lane;
use crate::world::recorders::{Arriving, FlowAt, FlowIndex, StreamAt, Traced};

/// Where a user's data goes.
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    /// The user's number.
    pub(crate) user: u32,
    /// Which of the circuits that the user has one after the other.
    pub(crate) turn: u32,
    /// From when on the user may have it.
    pub(crate) from: Instant,
    pub(crate) legs: Vec<Leg>,
    /// The client and the server.
    pub(crate) ends: [UserAt; 2],
    /// The direction of the data that is measured.
    pub(crate) measured: Direction,
}

impl Directions {
    /// Lets all machines know which cells and streams are the user's.
    pub(crate) fn index(&self, lanes: &[Lane], indexes: &mut [FlowIndex]) {
        for direction in [Direction::Forward, Direction::Backward] {
            for (leg, path) in (0..).zip(&self.legs) {
                self.index_leg(leg, path, direction, (lanes, &mut *indexes));
            }
            self.index_stream(direction, lanes, indexes);
        }
    }

    /// Lets all machines on the way note what happens to the circuits there.
    pub(crate) fn trace(&self, lanes: &mut [Lane]) {
        let streams = self.ends.map(|at| {
            let lane = &lanes[at.machine as usize];
            lane.endpoint_of_turn(at.end, at.index, self.turn).stream
        });
        for (leg, path) in (0..).zip(&self.legs) {
            // What the user's legs share is noted with the first one.
            let [client, server] = streams.map(|stream| Some(stream).filter(|_| leg == 0));
            let last = path.hops().len() - 1;
            let mut places = Vec::new();
            for (hop, &(node, circuit)) in path.hops().iter().enumerate() {
                let (place, stream) = match hop {
                    0 => (Place::Client, client),
                    _ if hop == last => (Place::Exit, server),
                    _ => (Place::Relay, None),
                };
                let at = (node.position, circuit);
                let traced = Traced::new((self.user, self.turn, leg), place, at, stream);
                places.push(lanes[node.machine()].tracer().add(traced));
            }
            for direction in [Direction::Forward, Direction::Backward] {
                if direction == Direction::Backward {
                    places.reverse();
                }
                for (&place, (LinkEnd { node, link }, name)) in
                    places.iter().zip(path.names(direction))
                {
                    let tracer = lanes[node.machine()].tracer();
                    tracer.name((node.position, link, name), place, direction);
                }
            }
        }
    }

    fn index_leg(
        &self,
        leg: u32,
        path: &Leg,
        direction: Direction,
        (lanes, indexes): (&[Lane], &mut [FlowIndex]),
    ) {
        let senders = path.senders(direction);
        for (hop, (at, name)) in (0..).zip(path.names(direction)) {
            let flow = FlowAt {
                user: self.user,
                turn: self.turn,
                direction,
                leg,
                hop,
            };
            let LinkEnd { node, link } = at;
            let senders_index = &mut indexes[node.machine()].senders;
            senders_index.insert((node.position, link, name), flow);
            let to = lanes[node.machine()].machine.node(node.position).links[link.index()].to;
            let relay = senders.get(hop as usize + 1).map(|(_, circuit)| *circuit);
            let receivers = &mut indexes[to.node.machine()].receivers;
            let arriving = Arriving { flow, relay };
            receivers.insert((to.node.position, to.link, name), arriving);
        }
    }

    /// The stream at the end where what flows in a direction begins.
    fn index_stream(&self, direction: Direction, lanes: &[Lane], indexes: &mut [FlowIndex]) {
        let UserAt {
            machine,
            end,
            index,
        } = self.ends[CircuitEnd::sink(direction.reverse()) as usize];
        let endpoint = lanes[machine as usize].endpoint_of_turn(end, index, self.turn);
        let stream = StreamAt {
            user: self.user,
            turn: self.turn,
            direction,
            circuits: endpoint.circuits.clone(),
            written: 0,
        };
        let streams = &mut indexes[machine as usize].streams;
        streams.insert((endpoint.position, endpoint.stream), stream);
    }
}
