//! Traces of a run as files that the field's tools read (`docs/traces.md`).

mod packet;
mod pcapng;
mod qlog;

use std::collections::BTreeSet;

use hopflow_results::{RunKey, TraceFile};
use hopflow_sim::Outcome;
use hopflow_sim::spec::WorldSpec;

/// The traces of a run: a file for each circuit, and one for each node whose packets were taken down.
pub(super) fn files(key: &RunKey, world: &WorldSpec, outcome: &Outcome) -> Vec<TraceFile> {
    let traces = outcome.node_traces.chunk_by(|a, b| a.circuit == b.circuit);
    let circuits = traces.map(|nodes| TraceFile {
        name: format!("circuit-{}.qlog", nodes[0].circuit),
        bytes: qlog::encode(key, world, nodes),
    });
    let mut names = BTreeSet::new();
    let nodes = outcome.captures.iter().map(|capture| {
        let number = capture.node.index();
        let name = &world.nodes[number].name;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let is_own = name.chars().all(plain) && names.insert(name.to_ascii_lowercase());
        let name = if is_own {
            format!("{name}.pcapng")
        } else {
            format!("node-number-{number}.pcapng")
        };
        let bytes = pcapng::encode(world, capture);
        TraceFile { name, bytes }
    });
    circuits.chain(nodes).collect()
}
