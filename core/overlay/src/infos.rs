//! What the layers below the controls declare: carrier, multiplexing, scheduler, repair.

use hopflow_wire::Carrier;

use crate::layer::{Condition, Features, Info};
use crate::plan::{LinkPlan, Multiplexing, Order, Repair, SchedulerPlan};

const TCP: Info = Info {
    provides: Features::STREAMS,
    ..Info::new("tcp", "TCP connections")
};

const DATAGRAM: Info = Info {
    provides: Features::DATAGRAMS,
    ..Info::new("datagram", "UDP datagrams")
};

const SHARED: Info = Info::new("shared", "all circuits between two neighbours share it");

const PER_CIRCUIT: Info = Info {
    provides: Features::PER_CIRCUIT,
    requires: &[(
        Features::STREAMS,
        "A datagram belongs to no connection: one for each circuit would be nothing but another \
         port number.",
    )],
    ..Info::new("per-circuit", "every circuit has its own")
};

const ROUND_ROBIN: Info = Info::new("round-robin", "circuits take turns");

const EWMA: Info = Info {
    redundant: &[(
        Features::PER_CIRCUIT,
        "With a connection for each circuit, connections take turns and each has one circuit: EWMA \
         has nothing to choose from.",
    )],
    ..Info::new("ewma", "the circuit that sent the least of late")
};

const KIST: Info = Info {
    requires: &[(
        Features::STREAMS,
        "KIST asks the kernel how much each TCP connection can send at once; a datagram goes when \
         it is sent, and there is nothing to ask.",
    )],
    ..Info::new(
        "kist",
        "the same over all connections at once, as far as their sockets can send",
    )
};

const NEEDS_DATAGRAMS: Condition = (Features::DATAGRAMS, "TCP repairs losses already.");

const NO_REPAIR: Info = Info::new("none", "nothing but the carrier repairs losses");

const PER_HOP: Info = Info {
    provides: Features::HOP_REPAIR,
    requires: &[NEEDS_DATAGRAMS],
    ..Info::new("per-hop", "every hop sends lost cells again")
};

const END_TO_END: Info = Info {
    provides: Features::END_REPAIR,
    requires: &[
        NEEDS_DATAGRAMS,
        (
            Features::END_TCP,
            "Only TCP between the ends of a circuit repairs there.",
        ),
    ],
    ..Info::new("end-to-end", "the ends of circuits send lost cells again")
};

/// The carriers.
pub const CARRIERS: [Info; 2] = [TCP, DATAGRAM];
/// How many links two neighbours keep.
pub const MULTIPLEXINGS: [Info; 2] = [SHARED, PER_CIRCUIT];
/// The schedulers.
pub const SCHEDULERS: [Info; 3] = [ROUND_ROBIN, EWMA, KIST];
/// The kinds of repair.
pub const REPAIRS: [Info; 3] = [NO_REPAIR, PER_HOP, END_TO_END];

impl LinkPlan {
    /// Carrier, multiplexing and scheduler.
    pub const fn infos(&self) -> [Info; 3] {
        let carrier = match self.carrier {
            Carrier::Stream => TCP,
            Carrier::Datagram => DATAGRAM,
        };
        let multiplexing = match self.multiplexing {
            Multiplexing::Shared => SHARED,
            Multiplexing::PerCircuit => PER_CIRCUIT,
        };
        [carrier, multiplexing, self.scheduler.info()]
    }
}

impl SchedulerPlan {
    /// What the scheduler says of itself.
    pub const fn info(&self) -> Info {
        match (self.kist, self.order) {
            (Some(_), _) => KIST,
            (None, Order::Ewma { .. }) => EWMA,
            (None, Order::RoundRobin) => ROUND_ROBIN,
        }
    }
}

impl Repair {
    /// What the repair says of itself.
    pub const fn info(&self) -> Info {
        match self {
            Self::None => NO_REPAIR,
            Self::PerHop(_) => PER_HOP,
            Self::EndToEnd(_) => END_TO_END,
        }
    }
}
