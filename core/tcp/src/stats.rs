//! Counters of an endpoint.

/// What an endpoint has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Segments with data or FIN, first transmissions and retransmissions.
    pub segments_sent: u64,
    /// Retransmissions, of those.
    pub segments_retransmitted: u64,
    /// Segments without data that only acknowledged.
    pub acks_sent: u64,
    /// Offsets (bytes and FIN) that the other side told to have received, in order or not.
    pub bytes_delivered: u64,
    /// Expiries of the retransmission timer, those of the handshake left out.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub tail_probes: u64,
    /// Fast recoveries entered.
    pub fast_recoveries: u64,
}
