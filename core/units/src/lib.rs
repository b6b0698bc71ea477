//! Quantities with units, identifiers, and their parsing.
//!
//! Time is integer nanoseconds and data is integer bytes, so that results are the same bits on
//! every machine. Each quantity that meets another one is its own type; text such as
//! `"1500 kB/s"` or `"40 ms"` is parsed by [`FromStr`](std::str::FromStr) and printed by
//! [`Display`](std::fmt::Display). With the feature `serde` files that users write hold them as such
//! text, and the JSON Schema of these files describes it.

mod data;
mod ids;
mod parse;
mod quantity;
#[cfg(feature = "serde")]
mod text;
mod time;

pub use data::{Bytes, Cells, Rate};
pub use ids::{CircuitId, LinkId, NodeId, StreamId};
pub use parse::ParseError;
pub use quantity::Quantity;
pub use time::{Duration, Instant, Interval};
