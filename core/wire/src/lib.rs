//! Cells, feedback and control messages, and their encodings.
//!
//! Neighbours exchange [`Frame`]s. A frame is a plain value; [`Frame::encode`] and
//! [`Frame::decode`] turn it into bytes and back, and [`Frame::wire_len`] tells how many, so that
//! a simulator can charge the true size without encoding. The layout is specified in
//! `docs/spec/wire.md`.
//!
//! What a relay may not see travels inside a [`Payload`]: in a real overlay 509 onion-encrypted
//! bytes, in the simulator a small value that stands for them.

mod ack;
mod cell;
mod error;
mod frame;
mod message;
mod relay;
mod seq;
mod setup;

pub use ack::CellAck;
pub use cell::{Cell, CellFlags, Payload, Proof, RawPayload};
pub use error::DecodeError;
pub use frame::{Arrived, Carrier, Destroy, Feedback, Frame, Frames, Reason, Sack};
pub use message::{Message, Neighbour};
pub use relay::{RelayCommand, RelayHeader};
pub use seq::CellSeq;
pub use setup::Setup;

/// Application bytes that one cell carries at most.
pub const CELL_DATA: usize = 498;
/// Bytes of the relay header: stream 2, digest 6, length 2, command 1.
pub const RELAY_HEADER: usize = 11;
/// Bytes of a cell's payload, which only the circuit's ends can read.
pub const CELL_PAYLOAD: usize = RELAY_HEADER + CELL_DATA;
/// Bytes of a cell on a stream, by which rates and tokens count cells: circuit 2, type 1, payload.
pub const CELL: usize = 3 + CELL_PAYLOAD;
/// Bytes that a stream-level cell number takes from the data of a numbered cell.
pub const CELL_NUMBER: usize = 4;
