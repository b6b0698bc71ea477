//! The TLS records that carry a stream's frames.

use hopflow_units::Bytes;

/// How what is written at once is cut into records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Records {
    /// Content of a record at most.
    content: u64,
    /// What a record has beside its content.
    overhead: u64,
}

impl Records {
    /// Tor fills a record with a chunk of its output buffer: a page of 4096 bytes without the chunk's own
    /// fields (tor 0.4.9, `buffers.c`; measured, too). TLS 1.3 adds a header, a type and a tag (RFC 8446,
    /// section 5.2).
    pub(crate) const TOR: Self = Self {
        content: 4048,
        overhead: 22,
    };

    /// Where the record ends that holds the last of the first `plain` bytes of a write, which has `total`
    /// bytes and begins a record.
    pub(crate) fn end(self, plain: u64, total: u64) -> u64 {
        let records = plain.div_ceil(self.content);
        (records * self.content).min(total) + records * self.overhead
    }

    /// What of `room` is left for cells: tor's KIST counts 543 bytes for each of 514, as if it had a record of its
    /// own (tor 0.4.9, `channeltls.h`).
    pub(crate) fn content(room: Bytes) -> Bytes {
        Bytes::new(room.get() * 514 / 543)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_ends_where_its_record_does() {
        let cells = 20 * 514;
        for (plain, end) in [
            (514, 4070),
            (4048, 4070),
            (4049, 8140),
            (cells, cells + 3 * 22),
        ] {
            assert_eq!(Records::TOR.end(plain, cells), end, "{plain}");
        }
        assert_eq!(Records::TOR.end(514, 514), 536);
    }

    #[test]
    fn cells_that_there_is_room_for_fit_even_one_by_one() {
        for room in (0..100_000).step_by(100) {
            let cells = Records::content(Bytes::new(room)).get() / 514;
            assert!(cells * Records::TOR.end(514, 514) <= room, "{room}");
        }
    }
}
