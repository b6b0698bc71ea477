//! What breaks when a machine stops: its circuits and connections, there at once and at its neighbours
//! when they notice.
//!
//! When a machine stops is known beforehand, so its neighbours' lanes know when they notice.

use hopflow_units::Instant;

use super::faults::Faults;
use super::lane::Lane;
use super::schedule::Scheduled;
use super::users::{Directions, Leg};

/// Schedules all of it in the lanes. Connections break first: they bring nobody word of circuits.
pub(crate) fn schedule(faults: &Faults, lanes: &mut [Lane], users: &[Directions]) {
    if !faults.any_stops() {
        return;
    }
    for lane in &mut *lanes {
        break_connections(faults, lane);
    }
    for user in users {
        for leg in &user.legs {
            close_circuit(faults, lanes, leg, user.from);
        }
    }
}

fn break_connections(faults: &Faults, lane: &mut Lane) {
    let mut breaks = Vec::new();
    for (end, peer, opens) in lane.connections.peers() {
        let here = faults.stops_since(lane.number as usize, opens);
        let there = faults.stops_since(peer, opens);
        let times = here.map(|it| it.at).chain(there.map(|it| it.noticed));
        breaks.extend(times.map(|at| (at, Scheduled::Break(end))));
    }
    for (at, what) in breaks {
        lane.schedule.add(at, what);
    }
}

/// Closes a circuit at each node that stops from a time on, and at the neighbours of such a node.
fn close_circuit(faults: &Faults, lanes: &mut [Lane], leg: &Leg, from: Instant) {
    let hops = leg.hops();
    for (place, &(node, circuit)) in hops.iter().enumerate() {
        let here = faults.stops_since(node.machine(), from);
        let here = here.map(|it| it.at);
        let beside = [place.checked_sub(1), Some(place + 1)];
        let beside = beside.into_iter().flatten().filter_map(|it| hops.get(it));
        let there = beside.flat_map(|(node, _)| faults.stops_since(node.machine(), from));
        let times: Vec<Instant> = here.chain(there.map(|it| it.noticed)).collect();
        let position = node.position;
        let schedule = &mut lanes[node.machine()].schedule;
        for at in times {
            schedule.add(at, Scheduled::Close { position, circuit });
        }
    }
}
