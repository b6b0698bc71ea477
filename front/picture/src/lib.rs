//! What pages draw of a simulated network, as JSON, in the forms that `site/playground/src/wire.ts`
//! declares. Times are in seconds, amounts in bytes or cells.

use hopflow_sim::spec::{CircuitSpec, Class, NodeSpec, WorldSpec};
use hopflow_sim::{Download, LinkView, UserView, WorldView};
use hopflow_units::{Bytes, Duration, Instant};
use serde::Serialize;
use serde_json::{Value, json};

/// A network, its users, and the transports.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Network {
    /// The scenario's name.
    pub name: String,
    /// What the scenario shows.
    pub about: String,
    /// When runs end.
    pub end: f64,
    /// The seed of the network.
    pub seed: u64,
    /// The labels of the transports.
    pub transports: Vec<String>,
    /// All nodes, by their numbers.
    pub machines: Vec<Machine>,
    /// All users, by the numbers of their circuits.
    pub users: Vec<User>,
}

/// A node.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Bytes per second of its access link, each way.
    pub rate: f64,
    /// Propagation delay of its access link, one way.
    pub delay: f64,
    /// Bytes per second of its token bucket, if it has one.
    pub bucket: Option<f64>,
}

/// A user.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct User {
    /// `bulk` or `web`.
    pub class: &'static str,
    /// Whether what it sends is measured, not what it fetches.
    pub uploads: bool,
    /// Numbers of nodes from the client to the exit, for each of the user's circuits.
    pub paths: Vec<Vec<usize>>,
    /// When the user starts.
    pub start: f64,
}

impl Network {
    /// The network of a world, for these transports.
    pub fn of_world(name: &str, about: &str, world: &WorldSpec, transports: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            end: seconds(world.end),
            seed: world.seed,
            transports,
            machines: world.nodes.iter().map(Machine::of).collect(),
            users: world.circuits.iter().map(User::of).collect(),
        }
    }

    /// Hops of all circuits.
    pub fn hops(&self) -> usize {
        let paths = self.users.iter().flat_map(|user| &user.paths);
        paths.map(|path| path.len().saturating_sub(1)).sum()
    }
}

impl Machine {
    fn of(node: &NodeSpec) -> Self {
        Self {
            name: node.name.clone(),
            rate: node.access.rate.as_f64(),
            delay: seconds(node.access.delay),
            bucket: node.bucket.map(|bucket| bucket.rate.as_f64()),
        }
    }
}

impl User {
    fn of(circuit: &CircuitSpec) -> Self {
        let paths = circuit.paths();
        let paths = paths.map(|path| path.iter().map(|node| node.index()).collect());
        Self {
            class: match circuit.class {
                Class::Bulk => "bulk",
                Class::Web => "web",
            },
            uploads: circuit.uploads(),
            paths: paths.collect(),
            start: seconds(circuit.start),
        }
    }
}

/// What can be seen of a world, with these downloads. Lists stand for objects where there are many.
pub fn view(world: &WorldView, downloads: &[Download]) -> Value {
    let link = |link: LinkView| [link.packets as u64, bytes(link.bytes)];
    let machines = world.machines.iter();
    let machines = machines.map(|machine| json!([link(machine.up), link(machine.down)]));
    let packets = world.packets.iter().map(|packet| {
        json!([
            packet.from,
            packet.to,
            seconds(packet.left),
            seconds(packet.arrives),
            bytes(packet.size),
            packet.cells,
            packet.user,
        ])
    });
    let downloads = downloads.iter().map(|it| {
        json!([
            it.circuit,
            seconds(it.requested.saturating_since(Instant::ZERO)),
            seconds(it.ttfb),
            seconds(it.ttlb),
            bytes(it.size),
        ])
    });
    json!({
        "now": seconds(world.now),
        "machines": machines.collect::<Value>(),
        "users": world.users.iter().map(user).collect::<Value>(),
        "packets": packets.collect::<Value>(),
        "downloads": downloads.collect::<Value>(),
    })
}

fn user(user: &UserView) -> Value {
    let hops = user.hops.iter().map(|hop| {
        let flow = hop.flow;
        json!([
            hop.machine,
            flow.queued.get(),
            flow.outstanding.get(),
            flow.window.map(hopflow_units::Cells::get),
            flow.departed.get(),
        ])
    });
    let transfer = user.transfer.map(|it| {
        json!([
            seconds(it.requested),
            bytes(it.received),
            it.size.map(bytes),
        ])
    });
    json!({
        "hops": hops.collect::<Value>(),
        "pending": bytes(user.pending),
        "packaged": bytes(user.packaged),
        "delivered": bytes(user.delivered),
        "transfer": transfer,
    })
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

const fn bytes(bytes: Bytes) -> u64 {
    bytes.get()
}
