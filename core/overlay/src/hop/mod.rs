//! One hop of a flow over datagrams: order and acknowledgement at the receiver, loss detection,
//! retransmission and round-trip times at the sender.

mod receiver;
mod sender;

pub(crate) use receiver::{Accepted, Receiver};
pub(crate) use sender::{Expired, Sender};
