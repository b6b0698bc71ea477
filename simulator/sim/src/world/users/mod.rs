//! Users: clients that fetch or upload, and the servers that answer them.

mod client;
mod directions;
mod endpoint;
mod journal;
mod leg;
mod renewal;
mod server;
mod sink;

pub(crate) use client::Client;
pub(crate) use directions::Directions;
pub(crate) use endpoint::{Endpoint, StreamWrite};
pub(crate) use journal::Journal;
pub(crate) use leg::Leg;
pub(crate) use renewal::Later;
pub(crate) use server::Server;
pub(crate) use sink::Sink;
