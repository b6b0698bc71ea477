//! The layers below the controls: links to neighbours, whose cell goes next, and what repairs
//! losses.
//!
//! `round-robin` is the carrier's own order: circuits take turns cell by cell, and with TCP
//! connections take turns, too. `ewma` prefers the circuit that sent least of late (Tang and
//! Goldberg, CCS '10), within a connection where connections take turns. `kist` does so over all
//! connections of the node, and writes at intervals, no more than TCP sends soon (Jansen et al.,
//! USENIX Security '14; tor 0.4.9, `scheduler_kist.c`).

use hopflow_overlay::{
    Charging, ConfigError, EndToEnd, Excess, HopRepair, LinkPlan, Order, Repair, SchedulerPlan,
    Scope,
};
use hopflow_tcp::{Algorithm, Config as Tcp};
use hopflow_units::{Bytes, Cells, Duration, Interval};
use hopflow_wire::{CELL_DATA, Carrier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choice::Repairs;
use crate::layer::Around;
use crate::read::Reader;

/// The options of links.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct LinkOptions {
    /// Cells that a node queues per circuit, enough for what layers have under way; by default the
    /// preset's.
    #[schemars(range(min = 1))]
    queue_limit: Option<Cells>,
    /// What the token bucket charges: every byte, or only cells that are sent for the first time, as
    /// the published simulations do.
    charging: ChargingName,
    /// The interval of the token bucket's refills; by default the preset's.
    refill: Option<Interval>,
    /// Whose cell goes next: circuits take turns; the circuit that sent least of late; the same over
    /// all connections of the node, which writes at intervals what TCP sends soon (TCP only).
    scheduler: Scheduler,
    /// The time after which a cell counts half for `ewma` and `kist`; by default 30 s, as in tor
    /// 0.4.9 (`circuitmux_ewma.c`).
    half_life: Option<Interval>,
    /// The interval at which `kist` writes; by default 2 ms.
    kist_interval: Option<Interval>,
}

/// What the token bucket charges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ChargingName {
    Everything,
    AsPublished,
}

/// The schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Scheduler {
    RoundRobin,
    Ewma,
    Kist,
}

/// The options of hops that repair losses.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct HopRepairOptions {
    /// Whether feedback tells what has arrived beyond a loss (RFC 2018), so that hops repair several
    /// losses in a round trip; otherwise one.
    selective_acknowledgements: bool,
}

/// The options of the connection of a circuit's ends.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct TcpOptions {
    /// What governs TCP's window (RFC 9438, RFC 5681, or draft-ietf-ccwg-bbr).
    algorithm: AlgorithmName,
    /// Whether the receiver reports what arrived beyond a loss (RFC 2018).
    sack: bool,
    /// Whether a rising round-trip time ends slow start before a loss does; only with CUBIC.
    hystart: bool,
    /// The first window, in segments, which are cells (RFC 6928: 10).
    #[schemars(range(min = 1, max = 1000))]
    initial_window: u32,
    /// The window at which slow start ends, two cells or more; 0 B: none before the first loss. BBR
    /// has none.
    initial_ssthresh: Bytes,
    /// Segments at a connection's start that are acknowledged at once.
    #[schemars(range(min = 0, max = u32::MAX))]
    quick_acks: u32,
    /// Least margin of the retransmission timeout above the round trip, from 1 ms to 60 s.
    min_rto: Duration,
    /// What the sender holds, a cell or more.
    send_buffer: Bytes,
    /// What the receiver holds, a cell or more.
    receive_buffer: Bytes,
}

/// TCP's algorithms of congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum AlgorithmName {
    Cubic,
    NewReno,
    Bbr,
}

/// The options that some schedulers alone have.
pub(crate) const SCHEDULER_KEYS: [&str; 2] = ["half-life", "kist-interval"];

/// Bytes of a cell's data: what TCP takes a segment for.
const CELL: u64 = CELL_DATA as u64;

/// Reads the options of links, whose token bucket is refilled every `refill` unless they say
/// otherwise.
///
/// # Errors
/// If a value cannot be used.
pub(crate) fn read(
    reader: &mut Reader,
    around: &Around,
    settled: (Repairs, Interval),
) -> Result<LinkPlan, ConfigError> {
    let mut options: LinkOptions = reader.read()?;
    let plan = options.plan(around, settled)?;
    reader.note(&options);
    Ok(plan)
}

/// Reads the options of what repairs losses.
///
/// # Errors
/// If a value cannot be used.
pub(crate) fn read_repair(reader: &mut Reader, repairs: Repairs) -> Result<Repair, ConfigError> {
    Ok(match repairs {
        Repairs::None => Repair::None,
        Repairs::PerHop => {
            let options: HopRepairOptions = reader.read()?;
            reader.note(&options);
            Repair::PerHop(HopRepair {
                selective: options.selective_acknowledgements,
                ..HopRepair::default()
            })
        }
        Repairs::EndToEnd => {
            let options: TcpOptions = reader.read()?;
            reader.note(&options);
            options.repair()?
        }
    })
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            queue_limit: None,
            charging: ChargingName::Everything,
            refill: None,
            scheduler: Scheduler::RoundRobin,
            half_life: None,
            kist_interval: None,
        }
    }
}

impl LinkOptions {
    /// Fills in what is left open, where the token bucket is refilled every `refill`, and makes the
    /// plan of links.
    ///
    /// # Errors
    /// If a value does not fit the other layers.
    fn plan(
        &mut self,
        around: &Around,
        (repairs, refill): (Repairs, Interval),
    ) -> Result<LinkPlan, ConfigError> {
        let queue_limit = around.queue_limit(self.queue_limit)?;
        self.queue_limit = Some(queue_limit);
        let refill = self.refill.get_or_insert(refill).get();
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
            scheduler: self.scheduler(around.carrier, plan.scheduler)?,
            excess,
            charging: match self.charging {
                ChargingName::Everything => Charging::Everything,
                ChargingName::AsPublished => Charging::FirstTransmissions,
            },
            ..plan
        })
    }

    /// The scheduler, where `own` is the carrier's own order.
    fn scheduler(
        &mut self,
        carrier: Carrier,
        own: SchedulerPlan,
    ) -> Result<SchedulerPlan, ConfigError> {
        if self.scheduler != Scheduler::Kist && self.kist_interval.is_some() {
            let reason = "the scheduler kist alone has an interval";
            return Err(ConfigError::new("kist-interval", "", reason));
        }
        if self.scheduler == Scheduler::RoundRobin {
            if self.half_life.is_some() {
                let reason = "the schedulers ewma and kist alone have a half-life";
                return Err(ConfigError::new("half-life", "", reason));
            }
            return Ok(own);
        }
        let half_life = self.half_life.get_or_insert(Interval::from_millis(30_000));
        let order = Order::Ewma {
            half_life: half_life.get(),
        };
        if self.scheduler == Scheduler::Ewma {
            return Ok(SchedulerPlan { order, ..own });
        }
        if carrier == Carrier::Datagram {
            let allowed = "round-robin or ewma, for kist limits what is written to TCP \
                           connections, and this transport has none";
            return Err(ConfigError::new("scheduler", "kist", allowed));
        }
        let interval = self.kist_interval.get_or_insert(Interval::from_millis(2));
        Ok(SchedulerPlan {
            order,
            scope: Scope::Node,
            kist: Some(interval.get()),
            ..own
        })
    }
}

impl Default for TcpOptions {
    fn default() -> Self {
        let tcp = Tcp::default();
        Self {
            algorithm: match tcp.algorithm {
                Algorithm::Cubic => AlgorithmName::Cubic,
                Algorithm::NewReno => AlgorithmName::NewReno,
                Algorithm::Bbr => AlgorithmName::Bbr,
            },
            sack: tcp.sack,
            hystart: tcp.hystart,
            initial_window: tcp.initial_window_segments,
            initial_ssthresh: Bytes::ZERO,
            quick_acks: tcp.delayed_ack.quick_segments,
            min_rto: tcp.min_rto,
            send_buffer: Bytes::new(1 << 20),
            receive_buffer: Bytes::new(1 << 20),
        }
    }
}

impl TcpOptions {
    /// What repairs losses from end to end.
    ///
    /// # Errors
    /// If a value cannot be used.
    fn repair(&self) -> Result<Repair, ConfigError> {
        let send = buffer("send-buffer", self.send_buffer, Cells::new(u64::MAX))?;
        let most = EndToEnd::MAX_RECEIVE_BUFFER;
        let receive = buffer("receive-buffer", self.receive_buffer, most)?;
        Ok(Repair::EndToEnd(EndToEnd::new(self.tcp()?, send, receive)))
    }

    fn tcp(&self) -> Result<Tcp, ConfigError> {
        let threshold = self.initial_ssthresh;
        if !threshold.is_zero() && threshold.get() < 2 * CELL {
            let allowed = "two cells, 996 B, or more; 0 B: none before the first loss";
            return Err(ConfigError::new("initial-ssthresh", threshold, allowed));
        }
        if !threshold.is_zero() && self.algorithm == AlgorithmName::Bbr {
            let allowed = "0 B with the algorithm bbr, whose model of the path ends its start";
            return Err(ConfigError::new("initial-ssthresh", threshold, allowed));
        }
        let range = Duration::from_millis(1)..=Duration::from_secs(60);
        if !range.contains(&self.min_rto) {
            let allowed = "a time from 1 ms to 60 s";
            return Err(ConfigError::new("min-rto", self.min_rto, allowed));
        }
        let mut tcp = Tcp {
            algorithm: match self.algorithm {
                AlgorithmName::Cubic => Algorithm::Cubic,
                AlgorithmName::NewReno => Algorithm::NewReno,
                AlgorithmName::Bbr => Algorithm::Bbr,
            },
            sack: self.sack,
            hystart: self.hystart,
            initial_window_segments: self.initial_window,
            initial_ssthresh: (!threshold.is_zero()).then_some(threshold),
            min_rto: self.min_rto,
            ..Tcp::default()
        };
        tcp.delayed_ack.quick_segments = self.quick_acks;
        Ok(tcp)
    }
}

/// A buffer, in whole cells.
fn buffer(key: &str, bytes: Bytes, most: Cells) -> Result<Cells, ConfigError> {
    let cells = Cells::new(bytes.get() / CELL);
    if cells.is_zero() || cells > most {
        let most = most.get().saturating_mul(CELL);
        let allowed = format!("a cell, {CELL} B, to {most} B");
        return Err(ConfigError::new(key, bytes, allowed));
    }
    Ok(cells)
}
