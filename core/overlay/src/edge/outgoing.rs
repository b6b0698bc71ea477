//! What an end of a stream sends: data that waits to be packaged into cells, and the end.

use hopflow_units::{Bytes, Instant, StreamId};
use hopflow_wire::{Payload, RelayCommand, RelayHeader};

/// Data of a stream that waits to be packaged.
#[derive(Clone, Debug)]
pub(super) struct Outgoing<P: Payload> {
    data: P::Data,
    pending: u64,
    packaged: Bytes,
    next_number: u32,
    /// Bytes at the front of the data that name the stream's target, until they are packaged.
    target: Option<u64>,
    end: End,
}

/// What this end still sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// More data may be written.
    Open,
    /// The end follows the data that waits.
    Due,
    /// The end was packaged.
    Packaged,
}

impl<P: Payload> Default for Outgoing<P> {
    fn default() -> Self {
        Self {
            data: P::Data::default(),
            pending: 0,
            packaged: Bytes::ZERO,
            next_number: 0,
            target: None,
            end: End::Open,
        }
    }
}

impl<P: Payload> Outgoing<P> {
    pub(super) fn write(&mut self, data: P::Data, len: Bytes) {
        if self.end == End::Open {
            P::append(&mut self.data, data);
            self.pending += len.get();
        }
    }

    /// Makes what is written now the target, which the first cell carries.
    pub(super) fn begin(&mut self, data: P::Data, len: Bytes) {
        let fits = len.get() <= P::capacity(RelayCommand::Begin) as u64;
        assert!(fits && self.packaged.is_zero() && self.pending == 0 && self.end == End::Open);
        self.write(data, len);
        self.target = Some(self.pending);
    }

    pub(super) fn finish(&mut self) {
        if self.end == End::Open {
            self.end = End::Due;
        }
    }

    /// Whether the end was packaged.
    pub(super) fn has_ended(&self) -> bool {
        self.end == End::Packaged
    }

    /// Whether there is anything to package.
    #[inline]
    pub(super) fn offers(&self) -> bool {
        self.pending > 0 || self.target.is_some() || self.end == End::Due
    }

    /// Bytes that wait; an end that waits counts as one, and so does an empty target.
    #[inline]
    pub(super) fn waiting(&self) -> u64 {
        self.pending + u64::from(self.end == End::Due) + u64::from(self.target == Some(0))
    }

    pub(super) const fn pending(&self) -> Bytes {
        Bytes::new(self.pending)
    }

    pub(super) const fn packaged(&self) -> Bytes {
        self.packaged
    }

    /// Packages the next cell of the stream `id`, with a number if it is one of several circuits'.
    #[inline]
    pub(super) fn package(&mut self, now: Instant, id: StreamId, numbered: bool) -> P {
        let mut header = RelayHeader::control(RelayCommand::Data, id);
        let target = self.target.take();
        if target.is_some() {
            header.command = RelayCommand::Begin;
        } else if self.pending == 0 {
            header.command = RelayCommand::End;
            self.end = End::Packaged;
        }
        if numbered {
            header.command = match header.command {
                RelayCommand::End => RelayCommand::NumberedEnd,
                _ => RelayCommand::NumberedData,
            };
            header.number = self.next_number;
            self.next_number = self.next_number.wrapping_add(1);
        }
        let most = target.unwrap_or(P::capacity(header.command) as u64);
        let len = self.pending.min(most);
        header.len = len as u16;
        self.pending -= len;
        self.packaged += Bytes::new(len);
        P::cut(header, &mut self.data, now)
    }
}
