//! One hop of a flow over datagrams: order and acknowledgement at the receiver, loss detection,
//! retransmission and round-trip times at the sender.

mod forwards;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;

use hopflow_units::Duration;

/// How hops repair losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HopRepair {
    /// Bounds of the time-out.
    pub rtt: RttConfig,
    /// Whether feedback tells what has arrived beyond a gap (RFC 2018), so that several gaps are
    /// repaired in a round trip; otherwise one is.
    pub selective: bool,
}

pub(crate) use forwards::Forwards;
pub(crate) use receiver::{Accepted, Receiver};
pub use rtt::{RttConfig, RttEstimator};
pub(crate) use sender::{Expired, Sender};

/// What feedback of the successor brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct News {
    /// Cells newly acknowledged.
    pub(crate) acked: u64,
    /// The round trip of the last of these.
    pub(crate) ack_rtt: Option<Duration>,
    /// Whether cells were lost.
    pub(crate) lost: bool,
    /// Cells newly forwarded; `None` if newer feedback has overtaken this.
    pub(crate) forwarded: Option<u64>,
    /// From sending the last of these to hearing that it was forwarded.
    pub(crate) forward_rtt: Option<Duration>,
}
