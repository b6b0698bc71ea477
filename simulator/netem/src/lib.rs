//! One-way links with queues, delay and impairments.
//!
//! A [`Link`] carries small handles; what they stand for lives with the caller. It computes when a
//! packet departs and arrives as soon as it is sent, so a drop-tail link has one pending event,
//! the arrival of the packet in front, however many packets are under way.
//!
//! The caller supplies the time and the random numbers: the simulator passes simulated time, a relay
//! in a testbed the time of its clock. For the latter a [`Line`] holds the packets as well.

mod backlog;
mod codel;
mod config;
mod flight;
mod line;
mod link;

pub use config::{CoDelConfig, LinkConfig, QueueConfig};
pub use line::{Line, access_link};
pub use link::{DropReason, Link, LinkCounters, Verdict};

#[cfg(test)]
mod tests;
