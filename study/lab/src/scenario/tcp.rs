//! The TCP of transports that use streams between relays.

use hopflow_sim::spec::{TcpAlgorithm, TcpConfig, WorldSpec, check_tcp};
use hopflow_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InputError;
use super::limits::Check;
use super::quantity::Text;

/// The TCP of transports that use streams; what is not set is as in Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tcp {
    /// Payload of a full segment; 1448 B by default.
    pub mss: Option<Text<Bytes>>,
    /// Bytes that may be written and not yet acknowledged, at least `mss` and a cell of 512 B; 4 MiB by
    /// default.
    pub send_buffer: Option<Text<Bytes>>,
    /// Bytes that may be written and not yet sent, as Linux's `TCP_NOTSENT_LOWAT`, at least `mss` and a
    /// cell of 512 B together; no limit by default.
    pub unsent: Option<Text<Bytes>>,
    /// Bytes that may have arrived and not yet been read; 6 MiB by default.
    pub receive_buffer: Option<Text<Bytes>>,
    /// Segments of the first congestion window; 10 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub initial_window: Option<u32>,
    /// The slow-start threshold at the beginning; none by default, so that the first loss sets it.
    /// Without effect with BBR.
    pub initial_ssthresh: Option<Text<Bytes>>,
    /// Whether a connection that sent nothing for a retransmission timeout begins slow start anew;
    /// true by default. Without effect with BBR.
    pub slow_start_after_idle: Option<bool>,
    /// What governs the congestion window; "cubic" by default.
    pub congestion: Option<Congestion>,
    /// Whether a partial segment waits while an earlier one is not acknowledged; true by default.
    pub nagle: Option<bool>,
    /// Whether losses are found by selective acknowledgements; true by default.
    pub sack: Option<bool>,
    /// Whether a rising round-trip time ends slow start before a loss does; true by default. Only with
    /// CUBIC.
    pub hystart: Option<bool>,
    /// The first segments of a connection that are acknowledged one by one, before acknowledgements
    /// are delayed; 1000 by default.
    pub quick_acks: Option<u32>,
    /// Whether a small segment is acknowledged once it is read, as in Linux; true by default. Where
    /// it is false, its acknowledgement waits for a second segment or 40 ms.
    pub read_acks: Option<bool>,
    /// Least margin of the retransmission timeout; 200 ms by default.
    pub min_rto: Option<Text<Duration>>,
    /// Whether cells travel in TLS records as tor fills them, with up to 4048 bytes of what is
    /// written at once and 22 more each, and are read once their record is whole; false by default.
    pub tls: Option<bool>,
}

/// What governs a congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// RFC 5681 and RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// BBR, version 3: draft-ietf-ccwg-bbr.
    Bbr,
}

impl Congestion {
    pub(super) const fn algorithm(self) -> TcpAlgorithm {
        match self {
            Self::NewReno => TcpAlgorithm::NewReno,
            Self::Cubic => TcpAlgorithm::Cubic,
            Self::Bbr => TcpAlgorithm::Bbr,
        }
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

impl Tcp {
    /// Whether connections can have these parameters.
    pub(super) fn check(&self, key: &str) -> Check {
        let mut tcp = TcpConfig::default();
        self.set(&mut tcp);
        check_tcp(&tcp).map_err(|error| {
            let name = match error.key() {
                "initial_window_segments" => "initial-window".to_owned(),
                name => name.replace('_', "-"),
            };
            InputError::at(format!("{key}.{name}"), error.problem())
        })
    }

    /// Sets in `world` what this says.
    pub(super) fn apply(&self, world: &mut WorldSpec) {
        set(&mut world.tls, self.tls);
        self.set(&mut world.tcp);
    }

    fn set(&self, tcp: &mut TcpConfig) {
        set(&mut tcp.mss, self.mss.map(|mss| mss.0));
        set(&mut tcp.send_buffer, self.send_buffer.map(|size| size.0));
        set(&mut tcp.unsent, self.unsent.map(|size| size.0));
        set(
            &mut tcp.receive_buffer,
            self.receive_buffer.map(|size| size.0),
        );
        set(&mut tcp.initial_window_segments, self.initial_window);
        let ssthresh = self.initial_ssthresh.map(|size| Some(size.0));
        set(&mut tcp.initial_ssthresh, ssthresh);
        set(&mut tcp.slow_start_after_idle, self.slow_start_after_idle);
        set(
            &mut tcp.algorithm,
            self.congestion.map(Congestion::algorithm),
        );
        set(&mut tcp.nagle, self.nagle);
        set(&mut tcp.sack, self.sack);
        set(&mut tcp.hystart, self.hystart);
        set(&mut tcp.delayed_ack.quick_segments, self.quick_acks);
        set(&mut tcp.delayed_ack.once_read, self.read_acks);
        set(&mut tcp.min_rto, self.min_rto.map(|time| time.0));
    }
}
