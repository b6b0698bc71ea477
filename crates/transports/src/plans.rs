//! What the transports need of the machine, by the carrier of their hops. Each changes what differs.

use hopflow_overlay::{Charging, Excess, Multiplexing, Plan, RttConfig, Scope, Turn};
use hopflow_units::{Cells, Duration};
use hopflow_wire::Carrier;

/// TCP connections between neighbours, as Tor has them: no feedback about cells, and turns of an
/// eighth of the token bucket.
pub(crate) fn streams(queue_limit: Cells, refill: Duration) -> Plan {
    Plan {
        carrier: Carrier::Stream,
        multiplexing: Multiplexing::Shared,
        scope: Scope::Link,
        turn: Turn::EighthOfBucket,
        reliable: false,
        forward_feedback: false,
        feedback_delay: Duration::ZERO,
        feedback_every: Cells::new(1),
        feedback_padded: false,
        queue_limit,
        excess: Excess::CloseIfPersistent,
        ahead: Cells::new(1),
        charging: Charging::Everything,
        refill,
        rtt: RttConfig::default(),
        out_of_band: false,
        fills: 1.0,
        tick: None,
    }
}

/// BackTap's datagrams: reliability per hop, feedback about every cell, and turns of one cell over
/// all circuits of the node.
pub(crate) fn datagrams(queue_limit: Cells, feedback_delay: Duration, refill: Duration) -> Plan {
    Plan {
        carrier: Carrier::Datagram,
        scope: Scope::Node,
        turn: Turn::Cells(1),
        reliable: true,
        forward_feedback: true,
        feedback_delay,
        ..streams(queue_limit, refill)
    }
}
