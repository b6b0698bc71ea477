//! TCP connections of the overlay and of other applications, with windows and buffers of any size.

use std::ops::ControlFlow;
use std::sync::Arc;

use hopflow_sim::spec::{
    AccessSpec, Backbone, CircuitSpec, Class, CrossSpec, NodeSpec, QueueSpec, Sampling, TcpConfig,
    Workload, WorldSpec,
};
use hopflow_sim::{Outcome, Simulated};
use hopflow_units::{Bytes, Duration, NodeId, Rate};

const END: Duration = Duration::from_secs(5);

/// A download without end over two relays, with access links of 10 Mbit/s.
fn download(tcp: TcpConfig) -> WorldSpec {
    let access = AccessSpec::new(
        Rate::from_megabits_per_sec(10),
        Duration::from_millis(10),
        QueueSpec::DropTail { packets: 100 },
    );
    let node = |number| NodeSpec {
        name: format!("n{number}"),
        access: access.clone(),
        bucket: None,
    };
    let forever = Duration::from_secs(1_000_000);
    WorldSpec {
        nodes: (0..4).map(node).collect(),
        backbone: Backbone::default(),
        circuits: vec![CircuitSpec {
            path: (0..3).map(NodeId::new).collect(),
            legs: Vec::new(),
            class: Class::Bulk,
            workload: Arc::new(Workload {
                response: None,
                think: (forever, forever),
                server_delay: Duration::ZERO,
                server_delay_max: Duration::ZERO,
            }),
            start: Duration::ZERO,
            leave: None,
            rebuilt: Vec::new(),
        }],
        cross: Vec::new(),
        faults: Vec::new(),
        end: END,
        seed: 1,
        sampling: Sampling::default(),
        tcp,
        tls: false,
    }
}

/// Another application at the exit, which sends to a machine that does nothing else.
fn crossed(tcp: TcpConfig) -> WorldSpec {
    let mut spec = download(tcp);
    spec.cross.push(CrossSpec {
        from: NodeId::new(2),
        to: NodeId::new(3),
        start: Duration::ZERO,
        algorithm: None,
    });
    spec
}

fn run(spec: &WorldSpec, preset: &str) -> Outcome {
    let factory = hopflow_transports::build::<Simulated>(preset, &toml::Table::new());
    let factory = factory.expect("presets can be built");
    hopflow_sim::run(spec, &*factory, &mut |_| ControlFlow::Continue(()))
        .expect("the world makes sense")
        .expect("nobody stops it")
}

/// Kilobytes per second that the download and the other application got.
fn rates(outcome: &Outcome) -> [u64; 2] {
    let rate = |bytes: Bytes| bytes.get() / 1000 / 5;
    let cross = outcome.cross.first().copied().unwrap_or_default();
    [rate(outcome.circuits[0].delivered), rate(cross)]
}

fn refusal(spec: &WorldSpec) -> String {
    let refused = spec.validate().expect_err("no cell fits");
    refused.to_string()
}

#[test]
fn buffers_without_room_for_a_cell_are_refused_with_the_least_size() {
    let small = TcpConfig {
        mss: Bytes::new(500),
        ..TcpConfig::default()
    };
    let mut spec = download(TcpConfig {
        send_buffer: Bytes::new(511),
        ..small
    });
    let message = "tcp.send_buffer = 511 B: allowed is `mss`, and a cell (512 B), to 2 GiB";
    assert_eq!(refusal(&spec), message);
    spec.tcp = TcpConfig {
        unsent: Bytes::new(1011),
        ..small
    };
    let message = "tcp.unsent = 1011 B: allowed is `mss` and a cell (512 B) together, or more";
    assert_eq!(refusal(&spec), message);
    // Other applications write less.
    spec.circuits.clear();
    assert_eq!(spec.validate(), Ok(()));
}

#[test]
fn cells_pass_the_smallest_buffers() {
    for tls in [false, true] {
        for preset in ["vanilla", "tor-vegas"] {
            let mut spec = download(TcpConfig {
                mss: Bytes::new(500),
                send_buffer: Bytes::new(512),
                ..TcpConfig::default()
            });
            spec.tls = tls;
            let [download, _] = rates(&run(&spec, preset));
            assert!(download > 1, "{preset}, {tls}: {download} kB/s");
            spec.tcp = TcpConfig {
                unsent: Bytes::new(1960),
                ..TcpConfig::default()
            };
            let [download, _] = rates(&run(&spec, preset));
            assert!(download > 500, "{preset}, {tls}: {download} kB/s");
        }
    }
}

#[test]
fn a_window_below_a_cell_keeps_no_cell_back() {
    for tls in [false, true] {
        let mut spec = download(TcpConfig {
            mss: Bytes::new(250),
            initial_window_segments: 1,
            ..TcpConfig::default()
        });
        spec.tls = tls;
        let [download, _] = rates(&run(&spec, "tor-vegas"));
        assert!(download > 400, "{download} kB/s");
    }
}

#[test]
fn another_application_writes_as_soon_as_there_is_room() {
    let spec = crossed(TcpConfig {
        unsent: Bytes::new(1960),
        ..TcpConfig::default()
    });
    let [_, cross] = rates(&run(&spec, "backtap"));
    assert!(cross > 1000, "{cross} kB/s");
}
