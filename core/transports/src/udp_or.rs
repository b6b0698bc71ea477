//! UDP-OR: one TCP connection from end to end, over hops that only forward.
//!
//! C. Viecco, "UDP-OR: A fair onion transport design", Hot Topics in Privacy Enhancing Technologies
//! 2008, as F. Tschorsch and B. Scheuermann, "How (not) to Build a Transport Layer for Anonymity
//! Overlays", SIGMETRICS Performance Evaluation Review 40(4), 2013, section 4.4, set it against TCP
//! on every hop.
//!
//! Cells travel as datagrams. Relays keep a drop-tail queue per circuit, acknowledge nothing and
//! repeat nothing; the circuit's ends keep a TCP connection whose segments are cells and whose
//! acknowledgements are cells, too. Congestion control so takes the round trip and the losses of
//! the whole circuit.
//!
//! What leaks: every relay sees a cell's number on the circuit and how often it was sent before, so
//! two relays of a circuit can tell that they see the same cells, and each how many were lost
//! before it; acknowledgements show as the cells of the reverse direction.

use hopflow_overlay::{ConfigError, EndToEnd, Excess, Gates, NodeEnv, Plan, Scope, Site};
use hopflow_overlay::{Transport, Turn};
use hopflow_tcp::{Algorithm, Config as Tcp};
use hopflow_units::{Bytes, Cells, Duration};
use hopflow_wire::{CELL_DATA, Carrier};

use crate::Preset;
use crate::options::{Configure, Options};

/// UDP-OR at one node: all that it does is in its plan.
#[derive(Debug)]
pub struct UdpOr;

/// Parameters of UDP-OR.
#[derive(Clone, Copy, Debug)]
pub struct UdpOrConfig {
    /// The connection of a circuit's ends.
    pub connection: EndToEnd,
    /// Cells that a source cuts ahead of TCP's window.
    pub source_queue: Cells,
    /// Cells that a node queues per circuit; what comes beyond is dropped.
    pub queue_limit: Cells,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
}

/// Bytes of a cell's data: what TCP takes a segment for.
const CELL: u64 = CELL_DATA as u64;

impl Configure for UdpOrConfig {
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "udp-or",
            about: "UDP-OR: one TCP connection from end to end over datagrams (CUBIC, as Linux)",
            options: "",
        },
        Preset {
            name: "udp-or-newreno",
            about: "UDP-OR with NewReno",
            options: "algorithm = \"new-reno\"",
        },
    ];

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let tcp = tcp(options)?;
        let send = cells(options, "send-buffer", Cells::new(u64::MAX))?;
        let receive = cells(options, "receive-buffer", EndToEnd::MAX_RECEIVE_BUFFER)?;
        Ok(Self {
            connection: EndToEnd::new(tcp, send, receive),
            source_queue: options.cells("source-queue", Cells::new(16), Cells::new(1))?,
            queue_limit: options.cells("queue-limit", Cells::new(500), Cells::new(1))?,
            refill: options.interval("refill", Duration::from_millis(100))?,
        })
    }
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
fn cells(options: &mut Options, key: &'static str, most: Cells) -> Result<Cells, ConfigError> {
    let bytes = options.bytes(key, Bytes::new(1 << 20))?;
    let cells = Cells::new(bytes.get() / CELL);
    if cells.is_zero() || cells > most {
        let most = most.get().saturating_mul(CELL);
        let allowed = format!("a cell, {CELL} B, to {most} B");
        return Err(ConfigError::new(key, bytes, allowed));
    }
    Ok(cells)
}

impl Transport for UdpOr {
    const NAME: &'static str = "udp-or";
    type Config = UdpOrConfig;
    type Flow = ();

    fn plan(config: &UdpOrConfig) -> Plan {
        Plan {
            carrier: Carrier::Datagram,
            scope: Scope::Node,
            turn: Turn::Cells(1),
            excess: Excess::Drop,
            ahead: config.source_queue,
            connection: Some(config.connection),
            ..Plan::streams(config.queue_limit, config.refill)
        }
    }

    fn new(_: &UdpOrConfig, _: &NodeEnv) -> Self {
        Self
    }

    fn open(&mut self, _: &Site, _: &mut Gates) {}
}
