//! The choice among the circuits of a stream that has several.

mod switching;

pub(crate) use switching::Switching;
