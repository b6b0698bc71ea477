//! A circuit of a run as qlog: one trace for each of its nodes.

use hopflow_results::RunKey;
use hopflow_sim::spec::WorldSpec;
use hopflow_sim::trace::NodeTrace;
use hopflow_trace::qlog::{self, Vantage};

/// The file of a circuit with these nodes.
pub(super) fn encode(key: &RunKey, world: &WorldSpec, nodes: &[NodeTrace]) -> Vec<u8> {
    let RunKey {
        transport, seed, ..
    } = key;
    let circuit = nodes[0].circuit;
    let mut text = qlog::begin_file(&format!("circuit {circuit}, {transport}, seed {seed}"));
    for (number, node) in nodes.iter().enumerate() {
        let vantage = Vantage {
            circuit,
            node: &world.nodes[node.node.index()].name,
            place: node.place,
            wall_clock_time: None,
        };
        text.push_str(&qlog::begin_trace(number, &vantage));
        for (number, event) in node.events.iter().enumerate() {
            text.push_str(&qlog::event(number, event));
        }
        text.push_str(qlog::END_OF_TRACE);
    }
    text.push_str(qlog::END_OF_FILE);
    text.into_bytes()
}
