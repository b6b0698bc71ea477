//! Marked cells on their way from node to node, for the recorder of breakdowns.

mod crossing;
mod tcp;

pub(crate) use self::crossing::{Crossing, Least, SegmentTimes};
pub(crate) use self::tcp::{Read, SentCell, TcpMarks};
