//! Users: clients that fetch or upload, and the servers that answer them.

mod journal;
mod leg;
mod transfers;
mod user;

pub(crate) use journal::Journal;
pub(crate) use leg::Leg;
pub(crate) use user::{StreamWrite, User};
