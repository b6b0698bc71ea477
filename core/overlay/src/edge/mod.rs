//! The edges of circuits: where streams are cut into cells, and cells become streams again.

mod inbox;
mod resequencer;
pub(crate) mod sendme;
mod stream;

pub(crate) use resequencer::{Offer, Resequencer};
pub(crate) use stream::Stream;
