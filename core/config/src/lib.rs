//! Reading what users write: TOML with quantities as text, and errors that say where and what is
//! allowed.

mod edit;
mod error;
mod names;
mod queue;
pub mod read;
mod schema;

pub use edit::set;
pub use error::InputError;
pub use names::{allowed, nearest};
pub use queue::packets;
pub use schema::forbid_null;
