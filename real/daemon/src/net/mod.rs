//! Relays and clients that run: threads with sockets.

mod accept;
mod alarm;
mod carriers;
mod change;
mod circuits;
mod client;
mod clock;
mod datagrams;
mod deadlines;
mod delayed;
mod descriptors;
mod emulated;
mod exit;
mod free;
mod keep_going;
mod metrics;
mod owners;
mod pipe;
mod reload;
mod resolver;
mod role;
mod running;
mod scrape;
mod shared;
mod summaries;
mod tokens;
mod trace;
mod worker;

pub use clock::calendar_time;
pub use free::free_address;
pub use owners::Connections;
pub use running::{Running, StartError, client, relay};
pub use shared::Account;
pub use summaries::Summary;
