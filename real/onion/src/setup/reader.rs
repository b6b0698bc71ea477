//! Reads and writes the fields of a message of fixed size.

use hopflow_units::Cells;

use super::error::SetupError;
use super::handshake::Handshake;
use super::layout::MAX_HANDSHAKE;

/// The bytes of a message that are not read yet. A message is longer than all its fields together;
/// reading behind its end gives zeros.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        let there = self.slice(N);
        taken[..there.len()].copy_from_slice(there);
        taken
    }

    pub(super) fn byte(&mut self) -> u8 {
        let [byte] = self.take();
        byte
    }

    pub(super) fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.take())
    }

    pub(super) fn cells(&mut self) -> Cells {
        match u32::from_be_bytes(self.take()) {
            u32::MAX => Cells::MAX,
            cells => Cells::new(u64::from(cells)),
        }
    }

    pub(super) fn handshake(&mut self) -> Result<Handshake, SetupError> {
        let len = self.short();
        if len as usize > MAX_HANDSHAKE {
            return Err(SetupError::Length(len));
        }
        let bytes = self.slice(len as usize).to_vec();
        Handshake::new(bytes).ok_or(SetupError::Length(len))
    }

    fn slice(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// The bytes of a message that are not written yet.
pub(super) struct Writer<'a>(&'a mut [u8]);

impl<'a> Writer<'a> {
    pub(super) const fn new(bytes: &'a mut [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        let (place, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        self.0 = rest;
    }

    /// Numbers that do not fit stand for no limit.
    pub(super) fn put_cells(&mut self, cells: Cells) {
        let cells = u32::try_from(cells.get()).unwrap_or(u32::MAX);
        self.put(&cells.to_be_bytes());
    }

    pub(super) fn put_handshake(&mut self, handshake: &Handshake) {
        self.put(&(handshake.len() as u16).to_be_bytes());
        self.put(handshake);
    }
}
