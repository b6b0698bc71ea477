//! N23: hop-by-hop credits (Al Sabah et al., PETS '11).
//!
//! A node may send `N2 + N3` cells of a circuit beyond those that its successor has reported as
//! forwarded; the successor reports after every `N2` cells that it forwards, in a message as long
//! as a cell. `N2` says how coarse the reports are, `N3` how many cells cover the time that a
//! report takes. Credits take the place of all end-to-end windows (the
//! option `end-to-end` brings one back); neighbours share one TCP
//! connection, as in vanilla Tor.
//!
//! What leaks: a predecessor learns when each lot of `N2` cells was forwarded, hence the circuit's
//! rate at the successor; a report's size on the wire is that of a cell.

use hopflow_overlay::{
    ConfigError, FlowCx, Gate, Gates, NodeEnv, Plan, Role, Site, Transport, Violation,
};
use hopflow_units::{Cells, Duration, StreamId};
use hopflow_wire::RelayHeader;

use crate::Preset;
use crate::ends::{EndState, Ends, Kind};
use crate::options::{Configure, Options};

/// N23 at one node.
#[derive(Debug)]
pub struct N23(N23Config);

/// Parameters of N23.
#[derive(Clone, Copy, Debug)]
pub struct N23Config {
    /// Cells from one report to the next.
    pub n2: Cells,
    /// Cells that may be under way besides.
    pub n3: Cells,
    /// Who needs credit.
    pub enforce: Enforce,
    /// What limits a circuit from end to end besides: nothing, unless asked for.
    pub ends: Ends,
    /// Cells that a node queues per circuit.
    pub queue_limit: Cells,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
}

/// Who needs credit to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enforce {
    /// Every node.
    EveryHop,
    /// The source alone, as in the code with which the BackTap authors compared.
    Source,
}

impl Configure for N23Config {
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "n23",
            about: "N23: hop-by-hop credits over shared TCP connections",
            options: "",
        },
        Preset {
            name: "n23-as-published",
            about: "N23 as the BackTap authors compared with it: only the source needs credit",
            options: "enforce = \"source\"",
        },
    ];

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let n2 = options.cells("n2", Cells::new(20), Cells::new(1))?;
        let n3 = options.cells("n3", Cells::new(70), Cells::ZERO)?;
        let enforce = options.choice(
            "enforce",
            Enforce::EveryHop,
            &[
                ("every-hop", Enforce::EveryHop),
                ("source", Enforce::Source),
            ],
        )?;
        Ok(Self {
            n2,
            n3,
            enforce,
            ends: Ends::configure(options, Kind::None)?,
            queue_limit: options.cells("queue-limit", Cells::new(2500).max(n2 + n3), n2 + n3)?,
            refill: options.interval("refill", Duration::from_millis(100))?,
        })
    }
}

impl Transport for N23 {
    const NAME: &'static str = "n23";
    type Config = N23Config;
    type Flow = EndState;

    fn plan(config: &N23Config) -> Plan {
        Plan {
            forward_feedback: true,
            feedback_every: config.n2,
            feedback_padded: true,
            ..Plan::streams(config.queue_limit, config.refill)
        }
    }

    fn new(config: &N23Config, _: &NodeEnv) -> Self {
        Self(*config)
    }

    fn open(&mut self, site: &Site, gates: &mut Gates) -> EndState {
        if self.0.enforce == Enforce::EveryHop || site.role == Role::Source {
            gates.hop.set_window(self.0.n2 + self.0.n3);
        }
        self.0.ends.open(site, gates)
    }

    fn open_stream(&mut self, gate: &mut Gate) {
        self.0.ends.open_stream(gate);
    }

    fn close_stream(&mut self, end: &mut EndState, stream: StreamId) {
        end.close_stream(stream);
    }

    fn on_cut(&mut self, end: &mut EndState, cx: &mut FlowCx<'_>) {
        self.0.ends.on_cut(end, cx);
    }

    fn on_taken(&mut self, end: &mut EndState, cx: &mut FlowCx<'_>, _: StreamId) {
        self.0.ends.on_taken(end, cx);
    }

    fn on_consumed(&mut self, end: &mut EndState, cx: &mut FlowCx<'_>, stream: StreamId) {
        self.0.ends.on_consumed(end, cx, stream);
    }

    fn on_far_end(
        &mut self,
        end: &mut EndState,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        self.0.ends.on_far_end(end, cx, header)
    }
}
