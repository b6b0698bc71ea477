//! Tor before congestion control: shared TCP connections and fixed end-to-end windows.
//!
//! Neighbours keep one TCP connection for all their circuits. The packaging edge may have 1000
//! cells under way per circuit and 500 per stream; the delivering edge returns a SENDME cell for
//! every 100 and 50 cells (BackTap paper, sections 3.1 and 4.1; tor-spec, sections 7.3 and 7.4).
//! Relays read whatever arrives, so no hop holds its predecessor back. Connections take turns of 4
//! to 32 cells at the token bucket; on a connection circuits take turns cell by cell.
//!
//! PCTCP (Al Sabah and Goldberg, CCS '13) changes one thing: every circuit has a connection of its
//! own between two neighbours, so that no circuit waits for a segment that another one lost.
//!
//! What leaks: relays can count SENDMEs by the rhythm of reverse cells; on the wire TCP's
//! headers show how much each connection has under way.

use hopflow_overlay::{
    Acknowledger, ConfigError, FlowCx, Gate, Gates, Multiplexing, NodeEnv, Plan, SendmeWindow,
    Site, Transport, Violation,
};
use hopflow_units::{Cells, Duration, StreamId};
use hopflow_wire::{RelayCommand, RelayHeader};

use crate::Preset;
use crate::options::{Configure, Options};

/// Vanilla Tor.
#[derive(Debug)]
pub struct Vanilla {
    config: VanillaConfig,
}

/// Parameters of vanilla Tor.
#[derive(Clone, Copy, Debug)]
pub struct VanillaConfig {
    /// How many connections two neighbours keep.
    pub connections: Multiplexing,
    /// The circuit's window; `None`: not limited.
    pub circuit: Option<SendmeWindow>,
    /// The window of each stream; `None`: not limited.
    pub stream: Option<SendmeWindow>,
    /// Cells that a source cuts ahead of their departure (C tor stops reading at 256).
    pub source_queue: Cells,
    /// Cells that a relay queues per circuit before it closes it.
    pub queue_limit: Cells,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
}

/// What a delivering edge has counted.
#[derive(Debug, Default)]
pub struct Deliveries {
    circuit: Acknowledger,
    streams: Vec<(StreamId, Acknowledger)>,
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
        let mut window = |keys: [&'static str; 2], start, increment| {
            let start = options.cells(keys[0], Cells::new(start), Cells::ZERO)?;
            let increment = options.cells(keys[1], Cells::new(increment), Cells::new(1))?;
            if start.is_zero() {
                return Ok(None);
            }
            if increment > start {
                let allowed = format!("at most the window, {}", start.get());
                return Err(ConfigError::new(keys[1], increment.get(), allowed));
            }
            Ok(Some(SendmeWindow { start, increment }))
        };
        let circuit = window(["circuit-window", "circuit-increment"], 1000, 100)?;
        let stream = window(["stream-window", "stream-increment"], 500, 50)?;
        if circuit.is_none() && stream.is_none() {
            let allowed = "above 0, unless there is a stream window";
            return Err(ConfigError::new("circuit-window", 0, allowed));
        }
        let most = circuit
            .or(stream)
            .map_or(Cells::ZERO, |window| window.start);
        Ok(Self {
            connections: options.choice(
                "connections",
                Multiplexing::Shared,
                &[
                    ("shared", Multiplexing::Shared),
                    ("per-circuit", Multiplexing::PerCircuit),
                ],
            )?,
            circuit,
            stream,
            source_queue: options.cells("source-queue", Cells::new(256), Cells::new(1))?,
            // Twice what an honest source may have under way, for SENDMEs and several streams.
            queue_limit: options.cells("queue-limit", Cells::new(2500), most)?,
            refill: options.interval("refill", Duration::from_millis(100))?,
        })
    }
}

impl Transport for Vanilla {
    const NAME: &'static str = "vanilla";
    type Config = VanillaConfig;
    type Flow = Deliveries;

    fn plan(config: &VanillaConfig) -> Plan {
        Plan {
            multiplexing: config.connections,
            ahead: config.source_queue,
            ..Plan::streams(config.queue_limit, config.refill)
        }
    }

    fn new(config: &VanillaConfig, _: &NodeEnv) -> Self {
        Self { config: *config }
    }

    fn open(&mut self, _: &Site, gates: &mut Gates) -> Deliveries {
        if let Some(window) = &self.config.circuit {
            window.open(&mut gates.end);
        }
        Deliveries::default()
    }

    fn open_stream(&mut self, gate: &mut Gate) {
        if let Some(window) = &self.config.stream {
            window.open(gate);
        }
    }

    fn close_stream(&mut self, seen: &mut Deliveries, stream: StreamId) {
        seen.streams.retain(|(id, _)| *id != stream);
    }

    fn on_taken(&mut self, seen: &mut Deliveries, cx: &mut FlowCx<'_>, _: StreamId) {
        let window = self.config.circuit.as_ref();
        if window.is_some_and(|window| seen.circuit.on_delivered(window)) {
            cx.send_far_end(RelayCommand::Sendme, StreamId::new(0));
        }
    }

    fn on_consumed(&mut self, seen: &mut Deliveries, cx: &mut FlowCx<'_>, stream: StreamId) {
        let window = self.config.stream.as_ref();
        if window.is_some_and(|window| seen.stream(stream).on_delivered(window)) {
            cx.send_far_end(RelayCommand::Sendme, stream);
        }
    }

    fn on_far_end(
        &mut self,
        _: &mut Deliveries,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        if header.command != RelayCommand::Sendme {
            return Err(Violation::Unexpected);
        }
        if header.stream == StreamId::new(0) {
            let window = self.config.circuit.as_ref().ok_or(Violation::Unexpected)?;
            return window.on_sendme(&mut cx.gates.end);
        }
        let window = self.config.stream.as_ref().ok_or(Violation::Unexpected)?;
        let gate = cx
            .stream_gate(header.stream)
            .ok_or(Violation::UnknownStream)?;
        window.on_sendme(gate)
    }
}

impl Deliveries {
    fn stream(&mut self, stream: StreamId) -> &mut Acknowledger {
        let place = self.streams.iter().position(|(id, _)| *id == stream);
        let place = place.unwrap_or_else(|| {
            self.streams.push((stream, Acknowledger::default()));
            self.streams.len() - 1
        });
        &mut self.streams[place].1
    }
}
