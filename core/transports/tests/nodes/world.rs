//! Building worlds and running them.

use std::sync::Arc;

use std::ops::ControlFlow;

use hopflow_overlay::Factory;
use hopflow_sim::spec::{
    AccessSpec, Backbone, CircuitSpec, Class, NodeSpec, QueueSpec, Sampling, Workload, WorldSpec,
};
use hopflow_sim::{Outcome, Simulated};
use hopflow_units::{Bytes, Duration, NodeId, Rate};
use toml::Table;

/// The factory of a preset.
pub(crate) fn preset(name: &str) -> Box<dyn Factory<Simulated>> {
    hopflow_transports::build(name, &Table::new()).expect("presets can be built")
}

/// A node with a fast access link.
pub(crate) fn node(number: usize) -> NodeSpec {
    NodeSpec {
        name: format!("n{number}"),
        access: AccessSpec::new(
            Rate::from_megabits_per_sec(100),
            Duration::from_millis(10),
            QueueSpec::DropTail { packets: 1000 },
        ),
        bucket: None,
    }
}

/// A circuit over these nodes whose user fetches `response` once, or without end.
pub(crate) fn circuit(path: &[u32], response: Option<Bytes>) -> CircuitSpec {
    let forever = Duration::from_secs(1_000_000);
    CircuitSpec {
        path: path.iter().map(|&node| NodeId::new(node)).collect(),
        legs: Vec::new(),
        class: Class::Bulk,
        workload: Arc::new(Workload {
            response,
            think: (forever, forever),
            server_delay: Duration::ZERO,
            server_delay_max: Duration::ZERO,
        }),
        start: Duration::ZERO,
        leave: None,
        rebuilt: Vec::new(),
    }
}

/// A world of these parts.
pub(crate) fn world(nodes: Vec<NodeSpec>, circuits: Vec<CircuitSpec>, end: Duration) -> WorldSpec {
    WorldSpec {
        nodes,
        circuits,
        backbone: Backbone::default(),
        cross: Vec::new(),
        faults: Vec::new(),
        end,
        seed: 1,
        sampling: Sampling::default(),
        tcp: hopflow_tcp::Config::default(),
        tls: false,
    }
}

/// Simulates a world to its end.
pub(crate) fn run(spec: &WorldSpec, factory: &dyn Factory<Simulated>) -> Outcome {
    hopflow_sim::run(spec, factory, &mut |_| ControlFlow::Continue(()))
        .expect("the world makes sense")
        .expect("nobody stops it")
}
