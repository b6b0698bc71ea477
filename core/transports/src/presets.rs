//! Transports by name: each is a choice of layers, and options of these.
//!
//! - `vanilla` is Tor before congestion control: neighbours keep one TCP connection for all their
//!   circuits, and fixed windows from end to end limit a circuit. Relays read whatever arrives, so
//!   no hop holds its predecessor back. Connections take turns of 4 to 32 cells at the token
//!   bucket; on a connection circuits take turns cell by cell.
//! - `tor-vegas` is Tor as deployed: Vegas from end to end, and KIST.
//! - PCTCP (Al Sabah and Goldberg, CCS '13) changes one thing: every circuit has a connection of its
//!   own between two neighbours, so that no circuit waits for a segment that another one lost.
//! - BackTap, N23, Marut and its successors, PredicTor, UDP-OR and circuit switching are described
//!   where their layers are.
//!
//! What leaks over TCP connections: relays can count SENDMEs by the rhythm of reverse cells; on the
//! wire TCP's headers show how much each connection has under way.

use hopflow_overlay::Multiplexing;
use hopflow_units::{Cells, Interval};
use hopflow_wire::Carrier;

/// A named point of the design space: layers and some of their options.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name in scenarios.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The layers that the options do not choose.
    pub family: &'static Family,
    /// Options as TOML; those of a scenario override them.
    pub options: &'static str,
}

/// What the presets of a transport have in common.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The transport's name.
    pub name: &'static str,
    /// What carries frames between neighbours.
    pub carrier: Carrier,
    /// How many connections two neighbours keep where TCP carries frames.
    pub connections: Multiplexing,
    /// The name of the control on hops.
    pub hop: &'static str,
    /// The name of the control from end to end.
    pub end: &'static str,
    /// The name of the choice among circuits.
    pub path: &'static str,
    /// Cells that a node queues per circuit.
    pub queue_limit: Cells,
    /// The interval of the token bucket's refills.
    pub refill: Interval,
}

impl Family {
    /// Tor, with other layers where this says so.
    pub const TOR: Self = Self {
        name: "vanilla",
        carrier: Carrier::Stream,
        connections: Multiplexing::Shared,
        hop: "none",
        end: "window",
        path: "fixed",
        // Twice what an honest source may have under way, for SENDMEs and several streams.
        queue_limit: Cells::new(2500),
        refill: Interval::from_millis(100),
    };

    /// BackTap, with other layers where this says so.
    pub const BACKTAP: Self = Self {
        name: "backtap",
        carrier: Carrier::Datagram,
        hop: "delay-window",
        end: "none",
        queue_limit: Cells::new(4000),
        refill: Interval::from_millis(10),
        ..Self::TOR
    };
}

const N23: Family = Family {
    name: "n23",
    hop: "credit",
    end: "none",
    ..Family::TOR
};

const MARUT: Family = Family {
    name: "marut",
    hop: "load-report",
    end: "worst-hop",
    ..Family::BACKTAP
};

const MARUT_TIMELY: Family = Family {
    name: "marut-timely",
    hop: "wait-report",
    end: "gradient",
    ..Family::BACKTAP
};

const MARUT_DCTCP: Family = Family {
    name: "marut-dctcp",
    hop: "mark-report",
    end: "marked-share",
    ..Family::BACKTAP
};

const JOINT: Family = Family {
    name: "joint",
    hop: "joint",
    // Cells that wait for a refill look like a queue; a millisecond is a cell or two of a fast relay.
    refill: Interval::from_millis(1),
    ..Family::BACKTAP
};

const PREDICTOR: Family = Family {
    name: "predictor",
    // Tor's order of cells, with a connection for each circuit as in PCTCP.
    connections: Multiplexing::PerCircuit,
    hop: "predicted-rates",
    ..Family::BACKTAP
};

const UDP_OR: Family = Family {
    name: "udp-or",
    carrier: Carrier::Datagram,
    end: "tcp",
    queue_limit: Cells::new(500),
    ..Family::TOR
};

const SWITCHING: Family = Family {
    name: "switching",
    path: "switching",
    ..Family::TOR
};

const SWITCHING_BACKTAP: Family = Family {
    name: "switching-backtap",
    path: "switching",
    ..Family::BACKTAP
};

/// The presets, transport by transport.
pub(crate) const PRESETS: &[Preset] = &[
    Preset {
        name: "vanilla",
        about: "Tor as it was: shared TCP connections, circuit and stream windows with SENDMEs",
        family: &Family::TOR,
        options: "",
    },
    Preset {
        name: "vanilla-circuit-window",
        about: "vanilla with the circuit window alone (1000 cells, 100 per SENDME)",
        family: &Family::TOR,
        options: "stream-window = 0",
    },
    Preset {
        name: "vanilla-stream-window",
        about: "vanilla with the stream window alone (500 cells, 50 per SENDME)",
        family: &Family::TOR,
        options: "circuit-window = 0",
    },
    Preset {
        name: "tor-vegas",
        about: "Tor as deployed: shared TCP connections, Vegas from end to end, KIST",
        family: &Family::TOR,
        options: "end-to-end = \"vegas\"\nscheduler = \"kist\"",
    },
    Preset {
        name: "pctcp",
        about: "PCTCP: vanilla, but with a TCP connection for each circuit between neighbours",
        family: &Family::TOR,
        options: "connections = \"per-circuit\"",
    },
    Preset {
        name: "pctcp-stream-window",
        about: "PCTCP with the stream window alone (500 cells, 50 per SENDME)",
        family: &Family::TOR,
        options: "connections = \"per-circuit\"\ncircuit-window = 0",
    },
    Preset {
        name: "backtap",
        about: "BackTap: hop-by-hop backpressure with delay-based windows over datagrams",
        family: &Family::BACKTAP,
        options: "",
    },
    Preset {
        name: "backtap-as-printed",
        about: "BackTap with windows as its paper prints them: one cell more or less per round trip",
        family: &Family::BACKTAP,
        options: "growth = \"one-cell\"",
    },
    Preset {
        name: "n23",
        about: "N23: hop-by-hop credits over shared TCP connections",
        family: &N23,
        options: "",
    },
    Preset {
        name: "n23-as-published",
        about: "N23 as the BackTap authors compared with it: only the source needs credit",
        family: &N23,
        options: "enforce = \"source\"",
    },
    Preset {
        name: "marut",
        about: "Marut: windows at the edges, by the most loaded hop; released from end to end",
        family: &MARUT,
        options: "",
    },
    Preset {
        name: "marut-timely",
        about: "Marut's signals with TIMELY's control: windows by the gradient of waiting times",
        family: &MARUT_TIMELY,
        options: "",
    },
    Preset {
        name: "marut-dctcp",
        about: "Marut's signals with DCTCP's control: windows by the share of marked cells",
        family: &MARUT_DCTCP,
        options: "",
    },
    Preset {
        name: "predictor",
        about: "PredicTor: distributed model predictive control over datagrams, plans in band",
        family: &PREDICTOR,
        options: "",
    },
    Preset {
        name: "predictor-as-published",
        about: "PredicTor as its authors simulated it: over TCP, plans out of band, in phase",
        family: &PREDICTOR,
        options: "carrier = \"tcp\"\nfeedback = \"out-of-band\"\nhop-delay = \"40 ms\"\n\
                  in-phase = true\nenforce = \"budget\"\nidle-cells = 0\nforget = 1000000\n\
                  downloads-only = true\ngrant = \"shifted\"\npin = 2\nreserve = 0\nmemory = 0\n\
                  horizon = 10\nqueue-target = 100\nqueue-limit = 1000000",
    },
    Preset {
        name: "joint",
        about: "Joint control: hop-by-hop windows and quiet-first rates that nodes tell; EWMA",
        family: &JOINT,
        options: "scheduler = \"ewma\"\nhalf-life = \"1 s\"\nsharing = \"quiet-first\"\n\
                  selective-acknowledgements = true",
    },
    Preset {
        name: "joint-rr",
        about: "Joint control with circuits that take turns and max-min rates",
        family: &JOINT,
        options: "selective-acknowledgements = true",
    },
    Preset {
        name: "udp-or",
        about: "UDP-OR: one TCP connection from end to end over datagrams (CUBIC, as Linux)",
        family: &UDP_OR,
        options: "",
    },
    Preset {
        name: "udp-or-newreno",
        about: "UDP-OR with NewReno",
        family: &UDP_OR,
        options: "algorithm = \"new-reno\"",
    },
    Preset {
        name: "switching",
        about: "Circuit switching: entries move bulk circuits to spare ones, over vanilla",
        family: &SWITCHING,
        options: "",
    },
    Preset {
        name: "switching-pctcp",
        about: "Circuit switching over PCTCP",
        family: &SWITCHING,
        options: "connections = \"per-circuit\"",
    },
    Preset {
        name: "switching-backtap",
        about: "Circuit switching over BackTap",
        family: &SWITCHING_BACKTAP,
        options: "",
    },
];
