//! What the parts of a download's time are, coarsely.

use std::collections::BTreeMap;

use hopflow_results::{Cause, Part, Stage};

/// What a part of a download's time is, coarsely.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Data waits at its source because a window or a rate holds it back.
    PackageWindow,
    /// Data waits at its source because the cells before it cannot leave sooner.
    PackageQueue,
    /// A cell waits in a circuit's queue for a window or a rate of its circuit.
    Window,
    /// A cell waits for a node's rate, which all of its circuits share.
    Shared,
    /// It is in a buffer of TCP, or in the queue of a link.
    Buffers,
    /// Something was lost, or comes before it and is late.
    Repair,
    /// It is on the wire.
    Wire,
    /// At the server or the user.
    Ends,
}

/// The time of a download, by [`Kind`], in nanoseconds.
pub(super) type Kinds = [u64; 8];

impl Kind {
    /// All of them, in the order of charts.
    pub const ALL: [Self; 8] = [
        Self::PackageWindow,
        Self::PackageQueue,
        Self::Window,
        Self::Shared,
        Self::Buffers,
        Self::Repair,
        Self::Wire,
        Self::Ends,
    ];

    /// The kind of a part.
    pub const fn of(part: &Part) -> Self {
        match (part.stage, part.cause) {
            (Stage::Server | Stage::User, _) => Self::Ends,
            (
                stage,
                Cause::EndWindow
                | Cause::EndRate
                | Cause::StreamWindow
                | Cause::Stream
                | Cause::HopWindow
                | Cause::HopRate,
            ) => match stage {
                Stage::Package => Self::PackageWindow,
                _ => Self::Window,
            },
            (Stage::Package, _) => Self::PackageQueue,
            (_, Cause::Bucket | Cause::Turn | Cause::Run | Cause::Reading) => Self::Shared,
            (_, Cause::Room | Cause::Uplink | Cause::Buffer | Cause::LinkQueue) => Self::Buffers,
            (_, Cause::Retransmission | Cause::TcpOrder | Cause::Order) => Self::Repair,
            _ => Self::Wire,
        }
    }

    /// What a legend calls it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::PackageWindow => "at the source, for a window",
            Self::PackageQueue => "at the source, behind its queue",
            Self::Window => "in queues, for a window",
            Self::Shared => "in queues, for a node’s rate",
            Self::Buffers => "in buffers of TCP and links",
            Self::Repair => "for what was lost or late",
            Self::Wire => "on the wire",
            Self::Ends => "at server and user",
        }
    }

    /// The times of downloads, by circuit and request.
    pub(super) fn times(parts: &[Part]) -> BTreeMap<(u32, u32), Kinds> {
        let mut times: BTreeMap<_, Kinds> = BTreeMap::new();
        for part in parts {
            let kinds = times.entry((part.circuit, part.request)).or_default();
            kinds[Self::of(part) as usize] += part.time_ns;
        }
        times
    }
}
