//! What a node tells its operator's monitoring, in the format `OpenMetrics`.

use std::fmt;
use std::sync::{Arc, Mutex};

use hopflow_overlay::{BucketConfig, FlowView};
use hopflow_units::{Bytes, Cells};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::clock::cpu_time;
use super::shared::{Account, Shared, sum};
use super::summaries::Summary;
use crate::UnixTime;
use crate::accounting::Standing;
use crate::config::RelayLimits;
use crate::pool::PoolCounts;

/// What changes while a node runs only if its operator says so.
#[derive(Debug)]
pub(super) struct Fixed {
    /// What it is, by name and value.
    pub(super) labels: Vec<(&'static str, String)>,
    /// The limit on memory.
    pub(super) memory: Bytes,
    /// What others may make it hold, if it is a relay.
    pub(super) limits: Option<Arc<Mutex<RelayLimits>>>,
    /// How it stands to its limit on what it moves, if it has one.
    pub(super) standing: Option<Arc<Mutex<Standing>>>,
    /// The token bucket of each worker, and how many workers there are.
    pub(super) bucket: Option<(BucketConfig, usize)>,
    /// When it started.
    pub(super) start: UnixTime,
}

/// The page that is scraped, of these workers.
pub(super) fn page(fixed: Fixed, workers: Vec<Arc<Shared>>) -> impl Fn() -> String + Send + Sync {
    let mut registry = Registry::with_prefix("hopflow");
    let about = "What runs here";
    registry.register("build", about, Info::new(fixed.labels.clone()));
    registry.register_collector(Box::new(Node { fixed, workers }));
    move || {
        let mut page = String::new();
        text::encode(&mut page, &registry).expect("a string takes everything");
        page
    }
}

/// Collects the workers' accounts when it is asked.
#[derive(Debug)]
struct Node {
    fixed: Fixed,
    workers: Vec<Arc<Shared>>,
}

/// A number of an account: its name, what it means, and how it is read.
type Number = (&'static str, &'static str, fn(&Account) -> u64);

/// Numbers that only grow.
const COUNTERS: [Number; 25] = [
    (
        "bytes_sent",
        "Bytes sent on links, and to an exit's targets",
        |it| it.traffic.sent,
    ),
    (
        "bytes_received",
        "Bytes received on links, and from an exit's targets",
        |it| it.traffic.received,
    ),
    (
        "cells_sent",
        "Cells sent to neighbours for the first time",
        |it| it.counters.node.cells_sent,
    ),
    ("cells_resent", "Cells sent to neighbours again", |it| {
        it.counters.node.cells_resent
    }),
    (
        "cells_dropped",
        "Cells dropped beyond a queue limit",
        |it| it.counters.node.cells_dropped,
    ),
    (
        "cells_duplicate",
        "Cells that arrived a second time",
        |it| it.counters.node.duplicates,
    ),
    (
        "violations",
        "Circuits closed because a neighbour broke the protocol",
        |it| it.counters.node.violations,
    ),
    ("strays", "Frames of circuits that are not known", |it| {
        it.counters.node.strays
    }),
    (
        "fallback_plans",
        "Plans of rates made in less than full, since their budget of work was spent",
        |it| it.counters.node.fallback_plans,
    ),
    (
        "worker_restarts",
        "Workers that panicked, lost their circuits and began anew",
        |it| it.restarts,
    ),
    (
        "handshakes",
        "Handshakes of circuits that succeeded",
        |it| it.counters.handshakes,
    ),
    (
        "handshakes_failed",
        "Handshakes of circuits that failed, and a client's circuits that ended before they were built",
        |it| it.counters.handshakes_failed,
    ),
    (
        "links_refused",
        "Links refused because there were too many",
        |it| it.counters.links_refused,
    ),
    (
        "links_evicted",
        "Links closed because there were too many",
        |it| it.counters.links_evicted,
    ),
    (
        "circuits_refused",
        "Circuits refused because their network began too many or broke rules",
        |it| it.counters.circuits_refused,
    ),
    (
        "setup_dropped",
        "Messages that build circuits, dropped because the limit on the rate leaves them nothing",
        |it| it.counters.setup_dropped,
    ),
    (
        "refused_at_rest",
        "Links and circuits refused because the relay drains or hibernates",
        |it| it.counters.refused_at_rest,
    ),
    (
        "circuits_evicted",
        "Circuits closed because there were too many",
        |it| it.counters.circuits_evicted,
    ),
    (
        "connections_refused",
        "Connections to targets refused for want of room, or because their circuit had its share",
        |it| it.connections.refused,
    ),
    (
        "connections_evicted",
        "Connections to targets closed because there were too many",
        |it| it.connections.evicted,
    ),
    (
        "forged",
        "Circuits closed because a cell was altered",
        |it| it.counters.forged,
    ),
    (
        "garbage",
        "Datagrams and pieces of streams that could not be read",
        |it| it.counters.garbage,
    ),
    (
        "out_of_memory",
        "Circuits and links closed because memory ran out",
        |it| it.counters.out_of_memory,
    ),
    ("trace_notes", "Packets and events noted for traces", |it| {
        it.trace_notes
    }),
    (
        "trace_notes_dropped",
        "Packets and events that are not in the traces because their writer could not keep up",
        |it| it.trace_notes_dropped,
    ),
];

/// Numbers that come and go.
const GAUGES: [Number; 15] = [
    ("links", "Links to neighbours", |it| it.counters.links),
    (
        "half_open_links",
        "Links that others opened and whose handshake is not over",
        |it| it.counters.half_open_links,
    ),
    (
        "nascent_circuits",
        "Circuits that others began and that carry no data yet",
        |it| it.counters.nascent_circuits,
    ),
    (
        "circuits",
        "Circuits, those under construction included",
        |it| it.counters.circuits,
    ),
    (
        "streams",
        "Streams of applications that begin or end here, without those that wait for a circuit",
        |it| it.streams as u64,
    ),
    (
        "connections",
        "Connections of an exit to targets, those that are being made included",
        |it| it.connections.open,
    ),
    (
        "most_connections_per_circuit",
        "Connections of the circuit that has most of them",
        |it| it.connections.most,
    ),
    (
        "memory_held_bytes",
        "Memory that links, circuits and waiting data take",
        |it| it.held.get(),
    ),
    (
        "queued_cells",
        "Cells that wait in the queues of all circuits",
        |it| views(it).map(|flow| flow.queued.get()).sum(),
    ),
    (
        "largest_queue_cells",
        "Cells that wait in the longest queue of a circuit",
        |it| views(it).map(|flow| flow.queued.get()).max().unwrap_or(0),
    ),
    (
        "highest_queue_cells",
        "Cells from neighbours that ever waited in the longest queue of a circuit",
        |it| it.counters.node.largest_queue,
    ),
    (
        "out_of_order_cells",
        "Cells that wait for others before them",
        |it| views(it).map(|flow| flow.out_of_order.get()).sum(),
    ),
    (
        "outstanding_cells",
        "Cells sent that wait for feedback",
        |it| views(it).map(|flow| flow.outstanding.get()).sum(),
    ),
    (
        "windows",
        "Directions of circuits that have a window",
        |it| windows(it).count() as u64,
    ),
    ("window_cells", "The sum of their windows", |it| {
        windows(it).sum()
    }),
];

/// What a worker has of something that is limited.
fn held(account: &Account, what: &str) -> u64 {
    let counters = &account.counters;
    match what {
        "half_open_links" => counters.half_open_links,
        "circuits" => counters.circuits,
        "nascent_circuits" => counters.nascent_circuits,
        "connections" => account.connections.open,
        _ => account.held.get(),
    }
}

fn views(account: &Account) -> impl Iterator<Item = &FlowView> {
    account.flows.iter().flatten().flatten()
}

fn windows(account: &Account) -> impl Iterator<Item = u64> {
    views(account)
        .filter_map(|flow| flow.window)
        .map(Cells::get)
}

impl Collector for Node {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let accounts: Vec<Account> = self.workers.iter().map(|worker| worker.account()).collect();
        self.fixed.encode_fullest(&mut encoder, &accounts)?;
        let account = sum(accounts.into_iter());
        for (name, help, read) in COUNTERS {
            let metric = ConstCounter::new(read(&account));
            describe(&mut encoder, name, help, &metric)?;
        }
        for (name, help, read) in GAUGES {
            gauge(&mut encoder, name, help, read(&account))?;
        }
        for summary in &account.metrics {
            encode_summary(&mut encoder, summary)?;
        }
        if let Some(pool) = account.pool {
            encode_pool(&mut encoder, pool)?;
        }
        self.fixed.encode(&mut encoder)
    }
}

impl Fixed {
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (memory, start) = (self.memory.get(), self.start.as_secs());
        gauge(
            encoder,
            "memory_limit_bytes",
            "The limit on that memory",
            memory,
        )?;
        gauge(
            encoder,
            "start_time_seconds",
            "When the node started",
            start,
        )?;
        let about = "Time of processors that the node's process took";
        let cpu = ConstCounter::new(cpu_time().as_secs_f64());
        let kind = MetricType::Counter;
        cpu.encode(encoder.encode_descriptor("cpu", about, Some(&Unit::Seconds), kind)?)?;
        self.encode_limits(encoder)?;
        self.encode_accounting(encoder)?;
        let Some((bucket, workers)) = self.bucket else {
            return Ok(());
        };
        let workers = workers as u64;
        let (rate, depth) = (bucket.rate.bytes_per_sec(), bucket.depth.get());
        let about = "The limit on what is forwarded";
        gauge(
            encoder,
            "bucket_rate_bytes_per_second",
            about,
            rate * workers,
        )?;
        let about = "What may be forwarded at once after a pause";
        gauge(encoder, "bucket_burst_bytes", about, depth * workers)
    }
}

impl Fixed {
    /// What a relay moved in the present period, if that is limited.
    fn encode_accounting(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let standing = self.standing.as_ref().and_then(|it| it.lock().ok());
        let Some(standing) = standing else {
            return Ok(());
        };
        for (name, about, value) in [
            (
                "accounting_max_bytes",
                "What may be moved in a period, in each direction",
                standing.max.get(),
            ),
            (
                "accounting_sent_bytes",
                "Bytes sent in this period",
                standing.moved.sent,
            ),
            (
                "accounting_received_bytes",
                "Bytes received in this period",
                standing.moved.received,
            ),
            (
                "accounting_end_seconds",
                "When the period ends",
                standing.end.as_secs(),
            ),
            (
                "hibernating",
                "Whether the period is spent, and nothing new is taken",
                u64::from(standing.spent),
            ),
        ] {
            gauge(encoder, name, about, value)?;
        }
        Ok(())
    }

    /// How full the worker is that is fullest: each has its part of a limit, and keeps to that on its own.
    fn encode_fullest(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        workers: &[Account],
    ) -> fmt::Result {
        let limits = self.limits.as_ref().and_then(|limits| limits.lock().ok());
        let of_relay = limits.map(|limits| {
            [
                ("half_open_links", limits.half_open_links),
                ("circuits", limits.circuits),
                ("nascent_circuits", limits.nascent_circuits),
                ("connections", limits.connections),
            ]
        });
        let of_relay = of_relay.into_iter().flatten();
        let of_relay = of_relay.map(|(what, limit)| (what, u64::from(limit)));
        let about = "What the worker that is fullest has of its part of a limit";
        let (kind, unit) = (MetricType::Gauge, Unit::Other("ratio".to_owned()));
        let mut of = encoder.encode_descriptor("fullest_worker", about, Some(&unit), kind)?;
        for (what, limit) in of_relay.chain([("memory", self.memory.get())]) {
            let part = limit.div_ceil(workers.len() as u64).max(1);
            let held = workers.iter().map(|account| held(account, what));
            let ratio = held.max().unwrap_or(0) as f64 / part as f64;
            of.encode_family(&[("of", what)])?.encode_gauge(&ratio)?;
        }
        Ok(())
    }

    /// The limits of a relay, by the names of the gauges that they limit.
    fn encode_limits(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let limits = self.limits.as_ref().and_then(|limits| limits.lock().ok());
        let Some(limits) = limits else {
            return Ok(());
        };
        let about = "What others may make the relay hold at most";
        let kind = MetricType::Gauge;
        let mut of = encoder.encode_descriptor("limit", about, None, kind)?;
        for (what, limit) in [
            ("links", limits.links),
            ("half_open_links", limits.half_open_links),
            ("circuits", limits.circuits),
            ("nascent_circuits", limits.nascent_circuits),
            ("connections", limits.connections),
            ("connections_per_circuit", limits.connections_per_circuit),
        ] {
            let labels = [("of", what)];
            of.encode_family(&labels)?.encode_gauge(&i64::from(limit))?;
        }
        Ok(())
    }
}

/// What a layer measures, over all flows: three series, whatever the number of circuits.
fn encode_summary(encoder: &mut DescriptorEncoder<'_>, summary: &Summary) -> fmt::Result {
    let metric = summary.metric;
    let (name, unit) = (format!("transport_{}", metric.name), metric.unit.to_owned());
    let unit = Unit::Other(unit);
    let kind = MetricType::Gauge;
    let mut over_flows = encoder.encode_descriptor(&name, metric.about, Some(&unit), kind)?;
    for (statistic, value) in [
        ("min", summary.min),
        ("mean", summary.mean()),
        ("max", summary.max),
    ] {
        let labels = [("statistic", statistic)];
        over_flows.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

fn encode_pool(encoder: &mut DescriptorEncoder<'_>, pool: PoolCounts) -> fmt::Result {
    let about = "Circuits of the client, by their state";
    let kind = MetricType::Gauge;
    let mut circuits = encoder.encode_descriptor("client_circuits", about, None, kind)?;
    for (state, count) in [
        ("building", pool.building),
        ("spare", pool.spare),
        ("used", pool.used),
    ] {
        let labels = [("state", state)];
        circuits.encode_family(&labels)?.encode_gauge(&count)?;
    }
    let about = "Streams that wait for a circuit";
    gauge(
        encoder,
        "client_waiting_streams",
        about,
        pool.waiting as u64,
    )
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    describe(encoder, name, help, &ConstGauge::new(value))
}

fn describe(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: &impl EncodeMetric,
) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
}

#[cfg(test)]
mod tests {
    use hopflow_overlay::{Measured, Metric};
    use hopflow_transports::{end_controls, hop_controls};

    use super::*;
    use crate::accounting::Traffic;
    use crate::net::summaries::summarize;

    fn fixed() -> Fixed {
        Fixed {
            labels: vec![("role", "relay".to_owned())],
            memory: Bytes::new(1 << 20),
            limits: Some(Arc::default()),
            standing: Some(Arc::new(Mutex::new(Standing {
                moved: Traffic {
                    sent: 7,
                    received: 8,
                },
                max: Bytes::new(8),
                end: UnixTime::from_secs(9),
                spent: true,
            }))),
            bucket: None,
            start: UnixTime::from_secs(5),
        }
    }

    #[test]
    fn a_page_names_each_number_once_with_its_unit_and_meaning() {
        let text = page(fixed(), vec![Arc::default(), Arc::default()])();
        for line in [
            "hopflow_build_info{role=\"relay\"} 1",
            "hopflow_cells_sent_total 0",
            "hopflow_memory_limit_bytes 1048576",
            "hopflow_limit{of=\"circuits\"} 60000",
            "hopflow_limit{of=\"connections\"} 16384",
            "hopflow_limit{of=\"connections_per_circuit\"} 1024",
            "hopflow_start_time_seconds 5",
            "hopflow_bytes_received_total 0",
            "hopflow_accounting_max_bytes 8",
            "hopflow_accounting_sent_bytes 7",
            "hopflow_accounting_received_bytes 8",
            "hopflow_accounting_end_seconds 9",
            "hopflow_hibernating 1",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(!text.contains("bucket"), "there is none: {text}");
        let cpu = text
            .lines()
            .find_map(|it| it.strip_prefix("hopflow_cpu_seconds_total "));
        assert!(cpu.unwrap().parse::<f64>().unwrap() > 0.0);
        let mut helps: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("# HELP"))
            .collect();
        let all = helps.len();
        helps.dedup();
        assert_eq!(helps.len(), all);
    }

    #[test]
    fn the_fullest_worker_is_told_by_its_part_of_each_limit() {
        let worker = |circuits, held| {
            let mut account = Account {
                held: Bytes::new(held),
                ..Account::default()
            };
            account.counters.circuits = circuits;
            Arc::new(Shared::with(account))
        };
        let mut workers = vec![worker(15_000, 0), worker(0, 1 << 17)];
        workers.extend([worker(0, 0), worker(0, 0)]);
        let text = page(fixed(), workers)();
        for line in [
            "hopflow_fullest_worker_ratio{of=\"circuits\"} 1.0",
            "hopflow_fullest_worker_ratio{of=\"memory\"} 0.5",
            "hopflow_fullest_worker_ratio{of=\"connections\"} 0.0",
            "hopflow_circuits 15000",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }

    #[test]
    fn what_layers_measure_is_one_gauge_over_all_flows_of_all_workers() {
        static ROUND_TRIP: Metric = Metric {
            name: "round_trip",
            unit: "seconds",
            about: "the latest round trip of the hop",
        };
        let worker = |values: &[f64]| {
            let metric = &ROUND_TRIP;
            let measured = values.iter().map(|&value| Measured { metric, value });
            let measured: Vec<_> = measured.collect();
            Arc::new(Shared::with(Account {
                metrics: summarize(&measured),
                ..Account::default()
            }))
        };
        let workers = vec![worker(&[0.25, 0.5]), worker(&[]), worker(&[1.5])];
        let text = page(fixed(), workers)();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("transport"))
            .collect();
        let expected = [
            "# HELP hopflow_transport_round_trip_seconds the latest round trip of the hop",
            "# TYPE hopflow_transport_round_trip_seconds gauge",
            "# UNIT hopflow_transport_round_trip_seconds seconds",
            "hopflow_transport_round_trip_seconds{statistic=\"min\"} 0.25",
            "hopflow_transport_round_trip_seconds{statistic=\"mean\"} 0.75",
            "hopflow_transport_round_trip_seconds{statistic=\"max\"} 1.5",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn the_operators_guide_names_every_number() {
        let guide = include_str!("../../../../docs/overlay.md");
        let counters = COUNTERS.map(|(name, ..)| format!("`hopflow_{name}_total`"));
        let gauges = GAUGES.map(|(name, ..)| format!("`hopflow_{name}`"));
        let layers = hop_controls().into_iter().chain(end_controls());
        let measured = layers.flat_map(|layer| layer.metrics);
        let measured: Vec<_> = measured
            .map(|it| format!("`hopflow_transport_{}_{}`", it.name, it.unit))
            .collect();
        for name in counters.iter().chain(&gauges).chain(&measured) {
            assert!(guide.contains(name), "{name}");
        }
    }

    #[test]
    fn dashboard_and_alerts_ask_for_numbers_that_there_are() {
        let page = page(fixed(), vec![Arc::default()])();
        for text in [
            include_str!("../../../../packaging/grafana/hopflow.json"),
            include_str!("../../../../packaging/prometheus/alerts.yml"),
        ] {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let asked: Vec<&str> = words.filter(|it| it.starts_with("hopflow_")).collect();
            assert!(asked.len() > 5);
            for name in asked {
                let line = |line: &str| line.split([' ', '{']).next() == Some(name);
                assert!(page.lines().any(line), "{name}");
            }
        }
    }
}
