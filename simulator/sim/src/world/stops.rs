//! What breaks when a machine stops: its circuits and connections, there at once and at its neighbours
//! when they notice.
//!
//! When a machine stops is known beforehand, so its neighbours' lanes know when they notice.

use hopflow_units::{Duration, Instant};

use super::faults::Faults;
use super::lane::Lane;
use super::schedule::Scheduled;
use super::users::{Directions, Leg};

/// When neighbours at the latest have asked each other about a circuit, after one that stopped was noticed: the
/// word that it is closed may be lost.
const ASKED: Duration = Duration::from_secs(60);

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

/// Closes a circuit at each node that stops from a time on, and at the neighbours of such a node; at the
/// others, too, when they would have asked, unless they have heard of it by then.
fn close_circuit(faults: &Faults, lanes: &mut [Lane], leg: &Leg, from: Instant) {
    let hops = leg.hops();
    for (place, &(node, circuit)) in hops.iter().enumerate() {
        let here = faults.stops_since(node.machine(), from);
        let here = here.map(|it| it.at);
        let beside = [place.checked_sub(1), Some(place + 1)];
        let beside = beside.into_iter().flatten().filter_map(|it| hops.get(it));
        let there = beside.flat_map(|(node, _)| faults.stops_since(node.machine(), from));
        let others = hops.iter().enumerate();
        let others = others.filter(|(other, _)| place.abs_diff(*other) > 1);
        let far = others.flat_map(|(_, (node, _))| faults.stops_since(node.machine(), from));
        let near = here.chain(there.map(|it| it.noticed));
        let times: Vec<Instant> = near.chain(far.map(|it| it.noticed + ASKED)).collect();
        let position = node.position;
        let schedule = &mut lanes[node.machine()].schedule;
        for at in times {
            schedule.add(at, Scheduled::Close { position, circuit });
        }
    }
}
