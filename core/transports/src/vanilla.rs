//! Tor: TCP connections between neighbours, and control from end to end alone.
//!
//! Neighbours keep one TCP connection for all their circuits. Relays read whatever arrives, so no
//! hop holds its predecessor back; what limits a circuit is the window of its source, which the
//! sink's SENDME cells open. Connections take turns of 4 to 32 cells at the token bucket; on a
//! connection circuits take turns cell by cell.
//!
//! - `vanilla` is Tor before congestion control: fixed windows ([`Windows`](crate::Windows)).
//! - `tor-vegas` is Tor as deployed: [`Vegas`](crate::Vegas), and KIST.
//! - PCTCP (Al Sabah and Goldberg, CCS '13) changes one thing: every circuit has a connection of its
//!   own between two neighbours, so that no circuit waits for a segment that another one lost.
//!
//! What leaks: relays can count SENDMEs by the rhythm of reverse cells; on the wire TCP's
//! headers show how much each connection has under way.

use hopflow_overlay::{
    ConfigError, FlowCx, Gate, Gates, Multiplexing, NodeEnv, Plan, Site, Transport, Violation,
};
use hopflow_units::{Cells, Duration, StreamId};
use hopflow_wire::RelayHeader;

use crate::Preset;
use crate::ends::{BLOCKED, EndState, Ends, Kind};
use crate::options::{Configure, Options};

/// Tor at one node.
#[derive(Debug)]
pub struct Vanilla {
    config: VanillaConfig,
}

/// Parameters of Tor.
#[derive(Clone, Copy, Debug)]
pub struct VanillaConfig {
    /// How many connections two neighbours keep.
    pub connections: Multiplexing,
    /// What limits a circuit from end to end.
    pub ends: Ends,
    /// Cells that a source cuts ahead of their departure (C tor stops reading at 256).
    pub source_queue: Cells,
    /// Cells that must be left of these before it cuts again (C tor goes on at 10).
    pub source_resume: Cells,
    /// Cells that a relay queues per circuit before it closes it.
    pub queue_limit: Cells,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
}

impl Configure for VanillaConfig {
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "vanilla",
            about: "Tor as it was: shared TCP connections, circuit and stream windows with SENDMEs",
            options: "",
        },
        Preset {
            name: "vanilla-circuit-window",
            about: "vanilla with the circuit window alone (1000 cells, 100 per SENDME)",
            options: "stream-window = 0",
        },
        Preset {
            name: "vanilla-stream-window",
            about: "vanilla with the stream window alone (500 cells, 50 per SENDME)",
            options: "circuit-window = 0",
        },
        Preset {
            name: "tor-vegas",
            about: "Tor as deployed: shared TCP connections, Vegas from end to end, KIST",
            options: "end-to-end = \"vegas\"\nscheduler = \"kist\"",
        },
        Preset {
            name: "pctcp",
            about: "PCTCP: vanilla, but with a TCP connection for each circuit between neighbours",
            options: "connections = \"per-circuit\"",
        },
        Preset {
            name: "pctcp-stream-window",
            about: "PCTCP with the stream window alone (500 cells, 50 per SENDME)",
            options: "connections = \"per-circuit\"\ncircuit-window = 0",
        },
    ];

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let mut ends = Ends::configure(options, Kind::Windows)?;
        let source_queue = options.cells("source-queue", BLOCKED.0, Cells::new(1))?;
        let (most, source_resume) = match &mut ends {
            Ends::None => {
                let allowed = "window or vegas, for nothing else limits this transport's circuits";
                return Err(ConfigError::new("end-to-end", "none", allowed));
            }
            Ends::Windows(windows) => (windows.most(), Cells::new(u64::MAX)),
            Ends::Vegas(vegas) => {
                let resume = BLOCKED.1.min(source_queue - Cells::new(1));
                vegas.blocked = (source_queue, resume);
                (BLOCKED.0, resume)
            }
        };
        Ok(Self {
            connections: options.choice(
                "connections",
                Multiplexing::Shared,
                &[
                    ("shared", Multiplexing::Shared),
                    ("per-circuit", Multiplexing::PerCircuit),
                ],
            )?,
            ends,
            source_queue,
            source_resume,
            // Twice what an honest source may have under way, for SENDMEs and several streams.
            queue_limit: options.cells("queue-limit", Cells::new(2500), most)?,
            refill: options.interval("refill", Duration::from_millis(100))?,
        })
    }
}

impl Transport for Vanilla {
    const NAME: &'static str = "vanilla";
    type Config = VanillaConfig;
    type Flow = EndState;

    fn plan(config: &VanillaConfig) -> Plan {
        Plan {
            multiplexing: config.connections,
            ahead: config.source_queue,
            resume: config.source_resume,
            ..Plan::streams(config.queue_limit, config.refill)
        }
    }

    fn new(config: &VanillaConfig, _: &NodeEnv) -> Self {
        Self { config: *config }
    }

    fn open(&mut self, site: &Site, gates: &mut Gates) -> EndState {
        self.config.ends.open(site, gates)
    }

    fn open_stream(&mut self, gate: &mut Gate) {
        self.config.ends.open_stream(gate);
    }

    fn close_stream(&mut self, end: &mut EndState, stream: StreamId) {
        end.close_stream(stream);
    }

    fn on_cut(&mut self, end: &mut EndState, cx: &mut FlowCx<'_>) {
        self.config.ends.on_cut(end, cx);
    }

    fn on_departure(&mut self, end: &mut EndState, cx: &mut FlowCx<'_>) {
        self.config.ends.on_departure(end, cx);
    }

    fn on_taken(&mut self, end: &mut EndState, cx: &mut FlowCx<'_>, _: StreamId) {
        self.config.ends.on_taken(end, cx);
    }

    fn on_consumed(&mut self, end: &mut EndState, cx: &mut FlowCx<'_>, stream: StreamId) {
        self.config.ends.on_consumed(end, cx, stream);
    }

    fn on_far_end(
        &mut self,
        end: &mut EndState,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        self.config.ends.on_far_end(end, cx, header)
    }
}
