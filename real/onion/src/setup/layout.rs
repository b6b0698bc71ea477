//! The version of the set-up messages and the sizes of their parts.

use hopflow_wire::CELL_PAYLOAD;

use crate::keys::KEY;
use crate::{Introduction, TAG};

/// The version of the set-up messages that this crate speaks.
pub const VERSION: u8 = 1;
/// Bytes of a sealed hop message: what a body has behind kind and counter.
pub const SEALED_SETUP: usize = CELL_PAYLOAD - 5;
/// Bytes of a hop message before it is sealed.
pub const SETUP_PLAIN: usize = SEALED_SETUP - TAG;
/// Bytes of an EXTEND without its handshake message: kind 1, family 1, address 16, port 2,
/// fingerprint 32, length 2.
const EXTEND_FIELDS: usize = 54;
/// Bytes of a handshake message at most: as many as fit an EXTEND.
pub const MAX_HANDSHAKE: usize = SETUP_PLAIN - EXTEND_FIELDS;
/// Bytes of payload that a handshake message carries at most, next to a key and a tag.
pub const MAX_HANDSHAKE_PAYLOAD: usize = MAX_HANDSHAKE - KEY - TAG;

// Both fit a CREATE: kind 1, version 1, queue limit 4, length 2, handshake, introduction.
const _: () = assert!(8 + MAX_HANDSHAKE + Introduction::LEN <= CELL_PAYLOAD);
