//! The options that choose a transport's layers.

use hopflow_overlay::Multiplexing;
use hopflow_wire::Carrier;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which layers a transport has; where this leaves it open, its preset says so.
#[derive(Clone, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct LayerChoice {
    /// The control on hops; by default the preset's.
    pub(crate) hop_control: Option<String>,
    /// The control from end to end; by default the preset's.
    pub(crate) end_to_end: Option<String>,
    /// The choice among the circuits of a stream that has several; by default the preset's.
    pub(crate) path: Option<String>,
    /// What carries frames between neighbours; by default the preset's.
    pub(crate) carrier: Option<CarrierName>,
    /// How many TCP connections two neighbours keep: one that their circuits share, or one for each
    /// circuit; by default the preset's. Over datagrams there is nothing to share.
    pub(crate) connections: Option<Connections>,
    /// What repairs losses; by default hops where datagrams carry frames, or the ends if there is a
    /// TCP connection between them.
    pub(crate) repair: Option<Repairs>,
}

/// What carries frames between neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("enum" = ["datagram", "tcp", "stream"]))]
pub(crate) enum CarrierName {
    Datagram,
    #[serde(alias = "stream")]
    Tcp,
}

/// How many connections two neighbours keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Connections {
    Shared,
    PerCircuit,
}

/// The kinds of repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Repairs {
    None,
    PerHop,
    EndToEnd,
}

impl From<Carrier> for CarrierName {
    fn from(carrier: Carrier) -> Self {
        match carrier {
            Carrier::Datagram => Self::Datagram,
            Carrier::Stream => Self::Tcp,
        }
    }
}

impl From<CarrierName> for Carrier {
    fn from(name: CarrierName) -> Self {
        match name {
            CarrierName::Datagram => Self::Datagram,
            CarrierName::Tcp => Self::Stream,
        }
    }
}

impl From<Multiplexing> for Connections {
    fn from(multiplexing: Multiplexing) -> Self {
        match multiplexing {
            Multiplexing::Shared => Self::Shared,
            Multiplexing::PerCircuit => Self::PerCircuit,
        }
    }
}

impl From<Connections> for Multiplexing {
    fn from(connections: Connections) -> Self {
        match connections {
            Connections::Shared => Self::Shared,
            Connections::PerCircuit => Self::PerCircuit,
        }
    }
}
