//! The layers below the controls: links to neighbours, whose cell goes next, and what repairs
//! losses.
//!
//! `round-robin` is the carrier's own order: circuits take turns cell by cell, and with TCP
//! connections take turns, too. `ewma` prefers the circuit that sent least of late (Tang and
//! Goldberg, CCS '10), within a connection where connections take turns. `kist` does so over all
//! connections of the node, and writes at intervals, no more than TCP sends soon (Jansen et al.,
//! USENIX Security '14; tor 0.4.9, `scheduler_kist.c`).

use hopflow_overlay::{
    Charging, ConfigError, EndToEnd, Excess, LinkPlan, Order, Repair, RttConfig, SchedulerPlan,
    Scope,
};
use hopflow_tcp::{Algorithm, Config as Tcp};
use hopflow_units::{Bytes, Cells, Duration};
use hopflow_wire::{CELL_DATA, Carrier};

use crate::layer::Around;
use crate::options::Options;

/// The kinds of repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repairs {
    None,
    PerHop,
    EndToEnd,
}

/// The names of the kinds of repair.
pub(crate) const REPAIRS: &[(&str, Repairs)] = &[
    ("none", Repairs::None),
    ("per-hop", Repairs::PerHop),
    ("end-to-end", Repairs::EndToEnd),
];

/// The names of the schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheduler {
    RoundRobin,
    Ewma,
    Kist,
}

const SCHEDULERS: &[(&str, Scheduler)] = &[
    ("round-robin", Scheduler::RoundRobin),
    ("ewma", Scheduler::Ewma),
    ("kist", Scheduler::Kist),
];

/// Bytes of a cell's data: what TCP takes a segment for.
const CELL: u64 = CELL_DATA as u64;

/// Reads the options of links, whose token bucket is refilled every `refill` unless they say
/// otherwise.
pub(crate) fn configure(
    options: &mut Options,
    around: &Around,
    (repairs, refill): (Repairs, Duration),
) -> Result<LinkPlan, ConfigError> {
    let queue_limit = around.queue_limit(options)?;
    let charging = options.choice(
        "charging",
        Charging::Everything,
        &[
            ("everything", Charging::Everything),
            ("as-published", Charging::FirstTransmissions),
        ],
    )?;
    let refill = options.interval("refill", refill)?;
    let plan = match around.carrier {
        Carrier::Stream => LinkPlan::streams(queue_limit, refill),
        Carrier::Datagram => LinkPlan::datagrams(queue_limit, refill),
    };
    let excess = match repairs {
        // The connection between the ends takes losses as TCP does.
        Repairs::EndToEnd => Excess::Drop,
        Repairs::None | Repairs::PerHop => plan.excess,
    };
    Ok(LinkPlan {
        multiplexing: around.multiplexing,
        scheduler: scheduler(options, around.carrier, plan.scheduler)?,
        excess,
        charging,
        ..plan
    })
}

/// Reads the scheduler's options, where `own` is the carrier's own order.
fn scheduler(
    options: &mut Options,
    carrier: Carrier,
    own: SchedulerPlan,
) -> Result<SchedulerPlan, ConfigError> {
    let scheduler = options.choice("scheduler", Scheduler::RoundRobin, SCHEDULERS)?;
    if scheduler == Scheduler::RoundRobin {
        return Ok(own);
    }
    // As tor 0.4.9 has it (circuitmux_ewma.c).
    let half_life = options.interval("half-life", Duration::from_secs(30))?;
    let order = Order::Ewma { half_life };
    if scheduler == Scheduler::Ewma {
        return Ok(SchedulerPlan { order, ..own });
    }
    if carrier == Carrier::Datagram {
        let allowed = "round-robin or ewma, for kist limits what is written to TCP connections, \
                       and this transport has none";
        return Err(ConfigError::new("scheduler", "kist", allowed));
    }
    let interval = options.interval("kist-interval", Duration::from_millis(2))?;
    Ok(SchedulerPlan {
        order,
        scope: Scope::Node,
        kist: Some(interval),
        ..own
    })
}

/// Reads the parameters of what repairs losses.
pub(crate) fn repair(options: &mut Options, repairs: Repairs) -> Result<Repair, ConfigError> {
    Ok(match repairs {
        Repairs::None => Repair::None,
        Repairs::PerHop => Repair::PerHop(RttConfig::default()),
        Repairs::EndToEnd => Repair::EndToEnd(connection(options)?),
    })
}

/// The connection of a circuit's ends.
fn connection(options: &mut Options) -> Result<EndToEnd, ConfigError> {
    let tcp = tcp(options)?;
    let send = buffer(options, "send-buffer", Cells::new(u64::MAX))?;
    let receive = buffer(options, "receive-buffer", EndToEnd::MAX_RECEIVE_BUFFER)?;
    Ok(EndToEnd::new(tcp, send, receive))
}

/// TCP's own parameters.
fn tcp(options: &mut Options) -> Result<Tcp, ConfigError> {
    let mut tcp = Tcp::default();
    let algorithms = [
        ("cubic", Algorithm::Cubic),
        ("new-reno", Algorithm::NewReno),
    ];
    tcp.algorithm = options.choice("algorithm", tcp.algorithm, &algorithms)?;
    tcp.sack = options.flag("sack", tcp.sack)?;
    tcp.hystart = options.flag("hystart", tcp.hystart)?;
    let initial = tcp.initial_window_segments;
    tcp.initial_window_segments = options.count("initial-window", initial, (1, 1000))?;
    let threshold = options.bytes("initial-ssthresh", Bytes::ZERO)?;
    if !threshold.is_zero() && threshold.get() < 2 * CELL {
        let allowed = "two cells, 996 B, or more; 0 B: none before the first loss";
        return Err(ConfigError::new("initial-ssthresh", threshold, allowed));
    }
    tcp.initial_ssthresh = (!threshold.is_zero()).then_some(threshold);
    let quick = tcp.delayed_ack.quick_segments;
    tcp.delayed_ack.quick_segments = options.count("quick-acks", quick, (0, u32::MAX))?;
    tcp.min_rto = options.interval("min-rto", tcp.min_rto)?;
    let range = Duration::from_millis(1)..=Duration::from_secs(60);
    if !range.contains(&tcp.min_rto) {
        let allowed = "a time from 1 ms to 60 s";
        return Err(ConfigError::new("min-rto", tcp.min_rto, allowed));
    }
    Ok(tcp)
}

/// A buffer, in whole cells.
fn buffer(options: &mut Options, key: &'static str, most: Cells) -> Result<Cells, ConfigError> {
    let bytes = options.bytes(key, Bytes::new(1 << 20))?;
    let cells = Cells::new(bytes.get() / CELL);
    if cells.is_zero() || cells > most {
        let most = most.get().saturating_mul(CELL);
        let allowed = format!("a cell, {CELL} B, to {most} B");
        return Err(ConfigError::new(key, bytes, allowed));
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use hopflow_overlay::Plan;
    use hopflow_wire::RawPayload;

    use super::*;
    use crate::build;

    fn plan(preset: &str, options: &str) -> Result<Plan, ConfigError> {
        let options = options.parse().unwrap();
        build::<RawPayload>(preset, &options).map(|factory| factory.plan())
    }

    #[test]
    fn every_transport_takes_a_scheduler() {
        for preset in crate::presets() {
            let plan = plan(preset.name, "scheduler = \"ewma\"\nhalf-life = \"1 s\"").unwrap();
            let half_life = Duration::from_secs(1);
            let order = plan.link.scheduler.order;
            assert_eq!(order, Order::Ewma { half_life }, "{}", preset.name);
        }
    }

    #[test]
    fn kist_is_for_tcp() {
        let kist = "scheduler = \"kist\"";
        assert_eq!(
            plan("pctcp", kist).unwrap().link.scheduler.scope,
            Scope::Node
        );
        let error = plan("backtap", kist).unwrap_err().to_string();
        assert!(error.contains("round-robin or ewma"), "{error}");
    }
}
