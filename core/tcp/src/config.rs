//! Parameters of an endpoint.

use std::fmt;

use hopflow_units::{Bytes, Duration};

/// How the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Algorithm {
    /// Additive increase, multiplicative decrease (RFC 5681, RFC 6582).
    NewReno,
    /// A cubic function of the time since the last loss (RFC 9438); Linux's default.
    #[default]
    Cubic,
    /// A model of the path's rate and round-trip time, and pacing (draft-ietf-ccwg-bbr, version 3).
    Bbr,
}

/// When the receiver acknowledges (RFC 5681, section 4.2; RFC 9293, section 3.8.6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// An acknowledgement is due once this many full segments wait for it.
    pub segments: u32,
    /// An acknowledgement is due once a segment has waited this long for it.
    pub timeout: Duration,
    /// The first segments of a connection that are acknowledged at once, so that slow start is
    /// not held up. Linux does so while its receive window opens, by two segments for each that
    /// arrives; it also comes back to it after long idle times, which the model does not.
    pub quick_segments: u32,
    /// Whether a reader that empties the buffer of a segment that was pushed, or smaller than full,
    /// makes the acknowledgement due as well, unless data lately went the other way to carry it.
    /// Linux does so; ns-3 does not.
    pub once_read: bool,
}

/// Parameters of an endpoint. The default is Linux with its buffers fully grown.
///
/// Buffers do not tune themselves and are counted in payload bytes, where Linux also counts its
/// own book-keeping.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the switches are independent"
)]
pub struct Config {
    /// Payload of a full segment; 1448 leaves room for timestamps within 1500 bytes of IP.
    pub mss: Bytes,
    /// Bytes that may be written and not yet acknowledged.
    pub send_buffer: Bytes,
    /// Bytes that may be written and not yet sent (Linux's `TCP_NOTSENT_LOWAT`); no limit by default.
    pub unsent: Bytes,
    /// Bytes that may have arrived and not yet been read: the largest window.
    pub receive_buffer: Bytes,
    /// Segments of the first congestion window (RFC 6928).
    pub initial_window_segments: u32,
    /// Where slow start ends at the latest; `None`: at the first loss. Without effect with BBR.
    pub initial_ssthresh: Option<Bytes>,
    /// Whether a partial segment waits while an earlier partial one is not acknowledged
    /// (RFC 9293, section 3.7.4, in Minshall's variant, as in Linux).
    pub nagle: bool,
    /// Whether losses are found by selective acknowledgements (RFC 2018, RFC 6675).
    pub sack: bool,
    /// Whether, with SACK, losses are also found by the order of transmissions, so that lost
    /// retransmissions are, and by time, with the reordering timer and the tail loss probe (RFC
    /// 8985). Linux always has this.
    pub rack: bool,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Least margin of the retransmission timeout above the smoothed round-trip time, as in
    /// Linux; RFC 6298 bounds the sum instead.
    pub min_rto: Duration,
    /// Longest retransmission timeout, with all its backing off.
    pub max_rto: Duration,
    /// How the congestion window grows and shrinks.
    pub algorithm: Algorithm,
    /// Whether a rising round-trip time ends slow start before a loss does; only with CUBIC.
    pub hystart: bool,
    /// Whether the window shrinks over the course of a recovery (RFC 9937) or at its start.
    pub rate_reduction: bool,
    /// Whether a connection that was idle for a timeout starts from the initial window again
    /// (RFC 5681, section 4.1). Without effect with BBR.
    pub slow_start_after_idle: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: Bytes::new(1448),
            send_buffer: Bytes::new(4 << 20),
            unsent: Bytes::MAX,
            receive_buffer: Bytes::new(6 << 20),
            initial_window_segments: 10,
            initial_ssthresh: None,
            nagle: true,
            sack: true,
            rack: true,
            delayed_ack: DelayedAck {
                segments: 2,
                timeout: Duration::from_millis(40),
                quick_segments: 1000,
                once_read: true,
            },
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            algorithm: Algorithm::default(),
            hystart: true,
            rate_reduction: true,
            slow_start_after_idle: true,
        }
    }
}

/// A parameter that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    key: &'static str,
    value: String,
    allowed: &'static str,
}

impl ConfigError {
    /// An error about a parameter, as [`Config`] calls it.
    pub fn new(key: &'static str, value: impl fmt::Display, allowed: &'static str) -> Self {
        Self {
            key,
            value: value.to_string(),
            allowed,
        }
    }

    /// The parameter, as [`Config`] calls it.
    pub const fn key(&self) -> &'static str {
        self.key
    }

    /// Its value, and what is allowed.
    pub fn problem(&self) -> String {
        format!("{}: allowed is {}", self.value, self.allowed)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key, self.problem())
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Checks every parameter.
    ///
    /// # Errors
    /// Names the first parameter that is out of its range, and the range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let buffer = (self.mss.get()..=1 << 31, "mss to 2 GiB");
        in_range("mss", self.mss, (64..=65_455, "64 B to 65455 B"))?;
        in_range("send_buffer", self.send_buffer, buffer.clone())?;
        in_range("receive_buffer", self.receive_buffer, buffer)?;
        let unsent = (self.mss.get()..=u64::MAX, "one mss or more");
        in_range("unsent", self.unsent, unsent)?;
        let ssthresh = self.initial_ssthresh.unwrap_or(Bytes::MAX);
        let floor = (2 * self.mss.get()..=u64::MAX, "at least two mss");
        in_range("initial_ssthresh", ssthresh, floor)?;
        let window = u64::from(self.initial_window_segments);
        in_range("initial_window_segments", window, (1..=1000, "1 to 1000"))?;
        let segments = u64::from(self.delayed_ack.segments);
        in_range("delayed_ack.segments", segments, (1..=64, "1 to 64"))?;
        let ack = self.delayed_ack.timeout;
        in_range("delayed_ack.timeout", ack, (0..=500_000_000, "0 to 500 ms"))?;
        let min_rto = (1_000_000..=60_000_000_000, "1 ms to 60 s");
        in_range("min_rto", self.min_rto, min_rto)?;
        let max_rto = (1_000_000_000..=3_600_000_000_000, "1 s to 3600 s");
        in_range("max_rto", self.max_rto, max_rto)
    }
}

/// A quantity as a number in its smallest unit.
trait Quantity: fmt::Display + Copy {
    fn number(self) -> u64;
}

impl Quantity for u64 {
    fn number(self) -> u64 {
        self
    }
}

impl Quantity for Bytes {
    fn number(self) -> u64 {
        self.get()
    }
}

impl Quantity for Duration {
    fn number(self) -> u64 {
        self.as_nanos()
    }
}

fn in_range(
    key: &'static str,
    value: impl Quantity,
    (range, allowed): (std::ops::RangeInclusive<u64>, &'static str),
) -> Result<(), ConfigError> {
    if range.contains(&value.number()) {
        return Ok(());
    }
    Err(ConfigError::new(key, value, allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid() {
        assert_eq!(Config::default().validate(), Ok(()));
    }

    #[test]
    fn an_error_names_key_value_and_range() {
        let config = Config {
            mss: Bytes::new(9),
            ..Config::default()
        };
        let message = config.validate().unwrap_err().to_string();
        assert_eq!(message, "mss = 9 B: allowed is 64 B to 65455 B");
        let config = Config {
            min_rto: Duration::ZERO,
            ..Config::default()
        };
        let message = config.validate().unwrap_err().to_string();
        assert_eq!(message, "min_rto = 0 s: allowed is 1 ms to 60 s");
    }
}
