//! What a page draws, as JSON.

use hopflow_lab::scenario::Scenario;
use hopflow_sim::spec::{Class, WorldSpec};
use hopflow_sim::{Download, LinkView, UserView, WorldView};
use hopflow_units::{Bytes, Duration};
use serde_json::{Value, json};

/// The network of a scenario, its users, and the transports.
pub(crate) fn network<'a>(
    scenario: &Scenario,
    world: &WorldSpec,
    transports: impl Iterator<Item = &'a str>,
) -> Value {
    let machines = world.nodes.iter().map(|node| {
        let bucket = node.bucket.map(|bucket| bucket.rate.bytes_per_sec());
        json!({
            "name": node.name,
            "rate": node.access.rate.bytes_per_sec(),
            "delay": seconds(node.access.delay),
            "bucket": bucket,
        })
    });
    let users = world.circuits.iter().map(|circuit| {
        let paths = circuit.paths().map(|path| {
            let nodes = path.iter().map(|node| node.index());
            nodes.collect::<Vec<_>>()
        });
        json!({
            "class": class(circuit.class),
            "paths": paths.collect::<Vec<_>>(),
            "start": seconds(circuit.start),
        })
    });
    json!({
        "name": scenario.name,
        "about": scenario.about,
        "end": seconds(world.end),
        "seed": world.seed,
        "transports": transports.collect::<Vec<_>>(),
        "machines": machines.collect::<Value>(),
        "users": users.collect::<Value>(),
    })
}

/// What can be seen of a world. Lists stand for objects where there are many.
pub(crate) fn view(world: &WorldView, downloads: &[Download]) -> Value {
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
            seconds(it.requested.saturating_since(hopflow_units::Instant::ZERO)),
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

const fn class(class: Class) -> &'static str {
    match class {
        Class::Bulk => "bulk",
        Class::Web => "web",
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

const fn bytes(bytes: Bytes) -> u64 {
    bytes.get()
}
