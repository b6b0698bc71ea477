//! The send buffer: what the application wrote, and where the stream ends.

use crate::Config;

/// Data that was never sent and could be next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NewData {
    pub(super) start: u64,
    /// Bytes of payload.
    pub(super) len: u64,
    /// Whether nothing that was written follows.
    pub(super) last: bool,
    /// Whether FIN follows.
    pub(super) fin: bool,
}

impl NewData {
    /// The offset behind the data and FIN.
    pub(super) const fn end(&self) -> u64 {
        self.start + self.len + self.fin as u64
    }
}

/// What the application wrote. Bytes below the cumulative acknowledgement need no room.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBuffer {
    capacity: u64,
    /// What may be written and not sent.
    unsent: u64,
    /// End of what the application wrote.
    written: u64,
    fin: bool,
}

impl SendBuffer {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            capacity: config.send_buffer.get(),
            unsent: config.unsent.get(),
            written: 0,
            fin: false,
        }
    }

    pub(super) const fn limits_unsent(&self) -> bool {
        self.unsent < u64::MAX
    }

    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// End of the sequence space in use: the data and, after closing, FIN.
    pub(super) const fn end(&self) -> u64 {
        self.written + self.fin as u64
    }

    /// Free room if everything below `una` is acknowledged, and below `nxt` sent.
    pub(super) fn space(&self, una: u64, nxt: u64) -> u64 {
        if self.fin {
            return 0;
        }
        let unsent = self.written - nxt.min(self.written);
        let room = self.capacity - (self.written - una);
        room.min(self.unsent.saturating_sub(unsent))
    }

    /// Takes as many of `len` bytes as there is room for, and returns how many.
    pub(super) fn write(&mut self, len: u64, una: u64, nxt: u64) -> u64 {
        let accepted = len.min(self.space(una, nxt));
        self.written += accepted;
        accepted
    }

    pub(super) const fn close(&mut self) {
        self.fin = true;
    }

    pub(super) const fn is_fin_acknowledged(&self, una: u64) -> bool {
        self.fin && una > self.written
    }

    /// What lies at `start`, at most `max` bytes of it; `None` if there is nothing to send.
    pub(super) fn at(&self, start: u64, max: u64) -> Option<NewData> {
        if start >= self.end() {
            return None;
        }
        let len = (self.written - start).min(max);
        let last = start + len == self.written;
        let data = NewData {
            start,
            len,
            last,
            fin: last && self.fin,
        };
        (data.end() > start).then_some(data)
    }
}

#[cfg(test)]
mod tests {
    use hopflow_units::Bytes;

    use super::*;

    fn buffer() -> SendBuffer {
        SendBuffer::new(&Config {
            send_buffer: Bytes::new(100),
            ..Config::default()
        })
    }

    #[test]
    fn acknowledged_bytes_make_room() {
        let mut buffer = buffer();
        assert_eq!(buffer.write(150, 0, 0), 100);
        assert_eq!(buffer.write(150, 30, 100), 30);
        buffer.close();
        assert_eq!(buffer.space(130, 130), 0);
    }

    #[test]
    fn bytes_that_are_sent_make_room_for_others() {
        let mut buffer = SendBuffer {
            unsent: 40,
            ..buffer()
        };
        assert_eq!(buffer.write(150, 0, 0), 40);
        assert_eq!(buffer.space(0, 40), 40);
        assert_eq!(buffer.write(150, 0, 30), 30);
        assert_eq!(buffer.write(150, 0, 70), 30);
        assert_eq!(buffer.space(0, 100), 0);
    }

    #[test]
    fn fin_follows_the_last_byte() {
        let mut buffer = buffer();
        buffer.write(100, 0, 0);
        buffer.close();
        let first = buffer.at(0, 60).expect("data waits");
        assert_eq!((first.end(), first.last, first.fin), (60, false, false));
        let second = buffer.at(60, 60).expect("data waits");
        assert_eq!((second.end(), second.last, second.fin), (101, true, true));
        assert_eq!(buffer.at(101, 60), None);
        assert!(!buffer.is_fin_acknowledged(100) && buffer.is_fin_acknowledged(101));
    }

    #[test]
    fn without_room_only_fin_is_sent() {
        let mut buffer = buffer();
        buffer.write(10, 0, 0);
        buffer.close();
        assert_eq!(buffer.at(0, 0), None);
        assert!(buffer.at(10, 0).is_some_and(|data| data.fin));
    }
}
