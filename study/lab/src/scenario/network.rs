//! The network of a scenario: nodes around a hub, their links and buckets.

use std::borrow::Cow;

use hopflow_sim::spec::{AccessSpec, BucketSpec};
use hopflow_units::{Bytes, Duration, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::quantity::{Distribution, Text, TextOr};
use super::queue::Queue;
use super::source::Source;
use super::tcp::{Congestion, Tcp};
use super::topology::Topology;

/// The network that all transports under test share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Network {
    /// How the nodes are joined.
    #[serde(default)]
    pub topology: Topology,
    /// The access link of every node, unless the node or circuit says otherwise.
    #[serde(default)]
    pub access: Access,
    /// The token bucket of every relay, unless the relay says otherwise.
    #[serde(default)]
    pub bucket: Shaping,
    /// The access link of clients, as far as it differs from `access`.
    #[serde(default)]
    pub clients: Access,
    /// The TCP of transports that use streams between relays.
    #[serde(default)]
    pub tcp: Tcp,
    /// Where relays come from, beside those listed here.
    #[serde(default)]
    pub source: Option<Source>,
    /// The relays, one or a group at a time.
    #[serde(default)]
    pub relays: Vec<Relays>,
    /// TCP connections of other applications on the machines of relays.
    #[serde(default)]
    pub cross: Vec<Cross>,
}

impl Network {
    /// The numbers of the relays that a name stands for.
    pub(super) fn numbers(&self, name: &str) -> std::ops::Range<usize> {
        let mut first = 0;
        for relays in &self.relays {
            let size = relays.size() as usize;
            if relays.name == name {
                return first..first + size;
            }
            if let Some(member) = relays.members().position(|member| member == name) {
                return first + member..first + member + 1;
            }
            first += size;
        }
        unreachable!("the check saw to it that every name is that of a relay")
    }

    /// Whether this is the name of a group of relays.
    pub(super) fn has_group(&self, name: &str) -> bool {
        let mut relays = self.relays.iter();
        relays.any(|relays| relays.count.is_some() && relays.name == name)
    }
}

/// Downloads without end, each over a TCP connection from a server of its own to an application
/// on a relay's machine, whose access link it shares with the relay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cross {
    /// Number of connections.
    pub count: u32,
    /// The relay.
    pub to: String,
    /// The servers' access links, as far as they differ from the network's.
    #[serde(default)]
    pub access: Access,
    /// When a connection opens; at once by default.
    #[serde(default = "at_once")]
    pub start: Distribution<Duration>,
    /// What governs the congestion windows of these connections; by default as `tcp` says.
    #[serde(default)]
    pub congestion: Option<Congestion>,
}

pub(super) const fn at_once() -> Distribution<Duration> {
    Distribution::Fixed(Duration::ZERO)
}

/// A relay, or a group of relays that are drawn from the same distributions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Relays {
    /// The name by which paths call the relay; a path that names a group draws one of its members.
    pub name: String,
    /// Number of relays in the group, which are called NAME-1, NAME-2 and so on.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// The router at which the relay is, or the level of a tree (`level-2`) whose routers a group
    /// takes in turn.
    #[serde(default)]
    pub at: Option<String>,
    /// The access link, as far as it differs from the network's.
    #[serde(default)]
    pub access: Access,
    /// The token bucket, as far as it differs from the network's, or "unlimited".
    #[serde(default)]
    pub bucket: Option<Shaping>,
}

impl Relays {
    /// Number of relays.
    pub(super) fn size(&self) -> u64 {
        self.count.map_or(1, u64::from)
    }

    /// The names of the relays.
    pub(super) fn members(&self) -> impl Iterator<Item = String> {
        (1..=self.size()).map(|number| match self.count {
            Some(_) => format!("{}-{number}", self.name),
            None => self.name.clone(),
        })
    }

    /// Whether this is the name of the relay, of the group, or of one in the group.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.name == name || self.members().any(|member| member == name)
    }
}

/// A full-duplex access link, alike in both directions; what is not set comes from the network,
/// then from the defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Access {
    /// Serialisation rate; 10 Gbit/s by default.
    pub rate: Option<Distribution<Rate>>,
    /// One-way propagation delay to the hub; 10 ms by default.
    pub delay: Option<Distribution<Duration>>,
    /// The queue in front of each direction; "100 packets" by default.
    pub queue: Option<Queue>,
    /// Probability that a packet is lost; 0 by default.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1))]
    pub loss: Option<f64>,
    /// Probability that a packet arrives twice; 0 by default.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1))]
    pub duplicate: Option<f64>,
    /// Extra delay of a packet, drawn uniformly from zero to this; none by default.
    pub jitter: Option<Text<Duration>>,
    /// Whether jitter may reorder packets; false by default.
    pub reorder: Option<bool>,
    /// What the operator states for the rate, as a multiple of it; 1 by default. Transports that
    /// divide the link among circuits go by this.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100))]
    pub stated: Option<f64>,
}

impl Access {
    /// This link, with what it leaves open taken from `defaults`.
    pub(super) fn or(&self, defaults: &Self) -> Self {
        Self {
            rate: self.rate.clone().or_else(|| defaults.rate.clone()),
            delay: self.delay.clone().or_else(|| defaults.delay.clone()),
            queue: self.queue.or(defaults.queue),
            loss: self.loss.or(defaults.loss),
            duplicate: self.duplicate.or(defaults.duplicate),
            jitter: self.jitter.or(defaults.jitter),
            reorder: self.reorder.or(defaults.reorder),
            stated: self.stated.or(defaults.stated),
        }
    }

    /// The link with rate and delay drawn by the two functions where they are distributions.
    pub(super) fn resolve(
        &self,
        draw_rate: impl FnOnce(&Distribution<Rate>) -> Rate,
        draw_delay: impl FnOnce(&Distribution<Duration>) -> Duration,
    ) -> AccessSpec {
        let default_rate = Rate::from_megabits_per_sec(10_000);
        AccessSpec {
            rate: self.rate.as_ref().map_or(default_rate, draw_rate),
            delay: self
                .delay
                .as_ref()
                .map_or(Duration::from_millis(10), draw_delay),
            queue: self.queue.unwrap_or_default().0,
            loss: self.loss.unwrap_or_default(),
            duplicate: self.duplicate.unwrap_or_default(),
            jitter: self.jitter.unwrap_or_default().0,
            reorder: self.reorder.unwrap_or_default(),
            stated: self.stated.unwrap_or(1.0),
        }
    }
}

/// A relay's limit on what it sends: a token bucket, or `"unlimited"`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shaping {
    /// As fast as the access link.
    #[default]
    Unlimited,
    /// A token bucket.
    Bucket(Bucket),
}

/// A token bucket as a relay's operator sets it; what is not set comes from the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Bucket {
    /// Tokens (bytes) per second.
    pub rate: Option<Distribution<Rate>>,
    /// Tokens that the bucket holds, and starts with; by default one second of the rate.
    pub depth: Option<Text<Bytes>>,
    /// Time between refills; by default the transport's own.
    pub refill: Option<Text<Duration>>,
    /// When the relay pays; by default when it sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pays: Option<Pays>,
}

/// When a relay pays its token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pays {
    /// When it sends.
    Sending,
    /// When it reads, as C tor does: what it cannot pay for waits in its sockets. Over datagrams,
    /// which cannot be left unread, it pays when it sends.
    Reading,
}

impl Shaping {
    /// This bucket, with what it leaves open taken from `defaults`.
    pub(super) fn or(this: Option<&Self>, defaults: &Self) -> Self {
        match (this, defaults) {
            (None, defaults) => defaults.clone(),
            (Some(Self::Bucket(bucket)), Self::Bucket(defaults)) => Self::Bucket(Bucket {
                rate: bucket.rate.clone().or_else(|| defaults.rate.clone()),
                depth: bucket.depth.or(defaults.depth),
                refill: bucket.refill.or(defaults.refill),
                pays: bucket.pays.or(defaults.pays),
            }),
            (Some(shaping), _) => shaping.clone(),
        }
    }

    /// The bucket with its rate drawn by `draw`; `None` if there is none.
    pub(super) fn resolve(
        &self,
        draw: impl FnOnce(&Distribution<Rate>) -> Rate,
    ) -> Option<BucketSpec> {
        let Self::Bucket(bucket) = self else {
            return None;
        };
        let rate = draw(bucket.rate.as_ref().expect("the check saw to it"));
        Some(bucket.with_rate(rate))
    }
}

impl Bucket {
    /// The bucket of a relay with this rate.
    pub(super) fn with_rate(&self, rate: Rate) -> BucketSpec {
        BucketSpec {
            rate,
            depth: self.depth.map(|depth| depth.0),
            interval: self.refill.map(|refill| refill.0),
            reading: self.pays == Some(Pays::Reading),
        }
    }
}

impl<'de> Deserialize<'de> for Shaping {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOr {
            expected: "a token bucket { rate, depth, refill, pays }, or \"unlimited\"".to_owned(),
            from_text: |text| match text {
                "unlimited" => Ok(Self::Unlimited),
                text => Err(format!(
                    "\"{text}\" is no token bucket; allowed: {{ rate, depth, refill, pays }}, or \"unlimited\""
                )),
            },
            from_table: |bucket| Ok(Self::Bucket(bucket)),
        })
    }
}

impl Serialize for Shaping {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => serializer.serialize_str("unlimited"),
            Self::Bucket(bucket) => bucket.serialize(serializer),
        }
    }
}

impl JsonSchema for Shaping {
    fn schema_name() -> Cow<'static, str> {
        "Shaping".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A token bucket, or \"unlimited\".",
            "anyOf": [{ "const": "unlimited" }, generator.subschema_for::<Bucket>()],
        })
    }
}
