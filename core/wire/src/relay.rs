//! The relay header: what the two ends of a circuit tell each other.

use hopflow_units::StreamId;

use crate::{CELL_DATA, CELL_NUMBER, DecodeError, RELAY_HEADER};

/// What a cell asks of the far end of its circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RelayCommand {
    /// A stream begins; its data says where it shall lead.
    Begin = 1,
    /// Stream data.
    Data = 2,
    /// The stream ends: no more data in this direction.
    End = 3,
    /// The receiver of data allows more of it (tor-spec 7.3, 7.4); stream 0 means the circuit.
    Sendme = 5,
    /// The client wants the circuit linked with others that end at the same exit (proposal 329, section 4; ours in
    /// its form).
    Link = 19,
    /// The exit's answer.
    Linked = 20,
    /// Stream data of a stream that uses several circuits; the number orders it.
    NumberedData = 24,
    /// The end of a stream that uses several circuits; the number orders it.
    NumberedEnd = 25,
    /// The stream is broken off, in both directions.
    Reset = 26,
    /// Tells which of the circuit's cells have arrived, where its ends repair; see
    /// [`CellAck`](crate::CellAck).
    Ack = 27,
    /// Asks for an [`Ack`](Self::Ack).
    Ask = 28,
    /// Nothing follows on this circuit of streams that have several (circuit switching, Kale et al.,
    /// section 4.3; ours in its form).
    Switch = 29,
    /// Streams that have several circuits are about to go on by this one.
    SwitchConn = 30,
    /// They may.
    SwitchAck = 31,
    /// The receiver of a stream's data holds enough of it (proposal 324, section 4).
    Xoff = 43,
    /// The receiver takes the stream's data again.
    Xon = 44,
}

impl RelayCommand {
    /// All commands.
    pub const ALL: [Self; 16] = [
        Self::Begin,
        Self::Data,
        Self::End,
        Self::Sendme,
        Self::Link,
        Self::Linked,
        Self::NumberedData,
        Self::NumberedEnd,
        Self::Reset,
        Self::Ack,
        Self::Ask,
        Self::Xoff,
        Self::Xon,
        Self::Switch,
        Self::SwitchConn,
        Self::SwitchAck,
    ];

    /// The command of a code.
    ///
    /// # Errors
    /// If there is none.
    #[inline]
    pub const fn from_code(code: u8) -> Result<Self, DecodeError> {
        match BY_CODE[code as usize] {
            Some(command) => Ok(command),
            None => Err(DecodeError::UnknownCommand(code)),
        }
    }

    /// Whether the cell has a number: among those of its stream or, if it acknowledges, that of the
    /// next cell expected.
    pub const fn is_numbered(self) -> bool {
        matches!(self, Self::NumberedData | Self::NumberedEnd | Self::Ack)
    }

    /// Whether the cell is one by which the ends of a circuit, where they repair, speak about the others.
    pub const fn is_of_connection(self) -> bool {
        matches!(self, Self::Ack | Self::Ask)
    }

    /// Whether the cell is part of what a stream carries, in order and subject to its windows.
    /// Other commands are about a stream or the circuit.
    pub const fn is_content(self) -> bool {
        matches!(
            self,
            Self::Begin | Self::Data | Self::End | Self::NumberedData | Self::NumberedEnd
        )
    }
}

/// Commands by their codes: every cell that ends here is looked up.
const BY_CODE: [Option<RelayCommand>; 256] = {
    let mut table = [None; 256];
    let mut place = 0;
    while place < RelayCommand::ALL.len() {
        let command = RelayCommand::ALL[place];
        table[command as usize] = Some(command);
        place += 1;
    }
    table
};

/// The relay header of a cell, readable at the circuit's ends only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelayHeader {
    /// What the far end shall do.
    pub command: RelayCommand,
    /// The stream that is meant; 0 stands for the circuit as a whole.
    pub stream: StreamId,
    /// Bytes of application data in the cell.
    pub len: u16,
    /// Position among all data cells of the stream, over all its circuits, or the next cell that an
    /// acknowledgement expects. Only numbered commands carry it ([`RelayCommand::is_numbered`]);
    /// zero otherwise.
    pub number: u32,
}

impl RelayHeader {
    /// A header without data.
    pub const fn control(command: RelayCommand, stream: StreamId) -> Self {
        Self {
            command,
            stream,
            len: 0,
            number: 0,
        }
    }

    /// Application bytes that a cell with this command can carry.
    pub const fn capacity(command: RelayCommand) -> usize {
        if command.is_numbered() {
            CELL_DATA - CELL_NUMBER
        } else {
            CELL_DATA
        }
    }

    /// Writes the header, and the number of a numbered cell behind it; returns the bytes used.
    pub fn encode(&self, out: &mut [u8; crate::CELL_PAYLOAD]) -> usize {
        out[..2].copy_from_slice(&self.stream.get().to_be_bytes());
        out[2..8].fill(0); // Where Tor has a digest; payloads of tests have none.
        out[8..10].copy_from_slice(&self.len.to_be_bytes());
        out[10] = self.command as u8;
        if !self.command.is_numbered() {
            return RELAY_HEADER;
        }
        out[RELAY_HEADER..RELAY_HEADER + CELL_NUMBER].copy_from_slice(&self.number.to_be_bytes());
        RELAY_HEADER + CELL_NUMBER
    }

    /// Reads a header.
    ///
    /// # Errors
    /// If the command is unknown or the length exceeds what the cell can hold.
    pub fn decode(bytes: &[u8; crate::CELL_PAYLOAD]) -> Result<Self, DecodeError> {
        let command = RelayCommand::from_code(bytes[10])?;
        let len = u16::from_be_bytes([bytes[8], bytes[9]]);
        if len as usize > Self::capacity(command) {
            return Err(DecodeError::Length(len));
        }
        let number = if command.is_numbered() {
            u32::from_be_bytes([bytes[11], bytes[12], bytes[13], bytes[14]])
        } else {
            0
        };
        let stream = StreamId::new(u16::from_be_bytes([bytes[0], bytes[1]]));
        Ok(Self {
            command,
            stream,
            len,
            number,
        })
    }
}
