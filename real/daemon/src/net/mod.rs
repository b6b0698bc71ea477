//! Relays and clients that run: threads with sockets.

mod accept;
mod alarm;
mod begins;
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
mod failures;
mod free;
mod keep_going;
mod keeper;
mod metrics;
mod moves;
mod owners;
mod pipe;
mod ranks;
mod reach;
mod reload;
mod resolver;
mod role;
mod running;
mod scrape;
mod shared;
mod soon;
mod summaries;
mod tokens;
mod trace;
mod uplink;
mod worker;

pub use carriers::UNSENT_OF_CONNECTIONS;
#[cfg(test)]
pub(crate) use clock::Clock;
pub use clock::calendar_time;
pub use free::free_address;
pub use keeper::Calendar;
pub use owners::Connections;
pub use running::{Running, StartError, client, default_legs, relay, relay_by};
pub use shared::Account;
pub use summaries::Summary;
