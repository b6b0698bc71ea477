//! The packets of a node in a simulation.

use std::collections::BTreeMap;

use hopflow_sim::spec::WorldSpec;
use hopflow_sim::trace::{LinkAt, NodeCapture};
use hopflow_trace::{Way, pcapng};

use super::packet::{self, Streams};

/// The file of a node.
pub(super) fn encode(world: &WorldSpec, capture: &NodeCapture) -> Vec<u8> {
    let node = &world.nodes[capture.node.index()];
    let mut file = pcapng::begin(&node.name, Some(node.access.rate));
    // The names of all nodes that send or receive one of the packets.
    let ends = capture.packets.iter().flat_map(|it| [it.near, it.far]);
    let name = |at: LinkAt| &*world.nodes[at.node.index()].name;
    let names: BTreeMap<_, _> = ends.map(|at| (packet::address(at), name(at))).collect();
    pcapng::names(names, &mut file);
    let streams = capture.streams.iter();
    let streams: BTreeMap<LinkAt, _> = streams.map(|it| (it.near, Streams::new(it))).collect();
    for packet in &capture.packets {
        let bytes = packet::encode(packet, streams.get(&packet.near));
        let way = if packet.sent {
            Way::Sent
        } else {
            Way::Received
        };
        pcapng::packet(packet.at.as_nanos(), way, &bytes, &mut file);
    }
    file
}
