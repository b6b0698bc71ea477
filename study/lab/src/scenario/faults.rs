//! Relays that fail, or change, for some time.

use hopflow_random::{Stream, Streams};
use hopflow_sim::spec::{self, NodeSpec};
use hopflow_units::{Duration, NodeId, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network::Network;
use super::quantity::{Distribution, Text};

/// Something that goes wrong at relays, or changes there, for some time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Faults {
    /// The relays: names of relays or groups, or beginnings of names with a `*` behind; all by
    /// default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relays: Vec<String>,
    /// The share of these relays that is concerned, from 0 to 1; all by default. Each relay draws a
    /// number: one that is concerned at some share is so at all larger ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub share: Option<f64>,
    /// What happens.
    pub what: FaultKind,
    /// When it begins, once; each relay draws a time of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Distribution<Duration>>,
    /// How long it lasts, with `at`; to the end by default.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Distribution<Duration>>,
    /// In place of `at`: the mean time to the first fault, and from the end of one to the next. Times
    /// are exponentially distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mttf: Option<Text<Duration>>,
    /// With `what = "stop"`, how long neighbours take to notice that a relay has stopped; 1 s by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected: Option<Text<Duration>>,
    /// The mean time to repair, with `mttf`. Times are exponentially distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mttr: Option<Text<Duration>>,
}

/// What happens at a relay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The relay's process stops: all circuits over it are closed.
    Stop,
    /// The access link loses every packet, in both directions.
    Outage,
    /// The access link has this rate, in both directions.
    Rate(Text<Rate>),
    /// The access link has this propagation delay, in both directions.
    Delay(Text<Duration>),
    /// The token bucket has this rate. One without a depth of its own holds one second of it.
    Bucket(Text<Rate>),
}

impl Faults {
    /// What happens, as the simulator knows it.
    fn kind(&self) -> spec::FaultKind {
        match self.what {
            FaultKind::Stop => spec::FaultKind::Stop {
                detected: self.detected.map_or(Duration::from_secs(1), |time| time.0),
            },
            FaultKind::Outage => spec::FaultKind::Outage,
            FaultKind::Rate(Text(rate)) => spec::FaultKind::Rate(rate),
            FaultKind::Delay(Text(delay)) => spec::FaultKind::Delay(delay),
            FaultKind::Bucket(Text(rate)) => spec::FaultKind::Bucket(rate),
        }
    }

    /// Whether a relay of this name is one of those meant, in a network with these groups.
    pub(super) fn names(&self, relay: &str, network: &Network) -> bool {
        let is_meant = |name: &String| match name.strip_suffix('*') {
            Some(beginning) => relay.starts_with(beginning),
            None => {
                let mut groups = network.relays.iter();
                name == relay || groups.any(|group| group.name == *name && group.holds(relay))
            }
        };
        self.relays.is_empty() || self.relays.iter().any(is_meant)
    }

    /// The times at which a relay has the fault, up to the end.
    fn times(&self, end: Duration, stream: &mut Stream) -> Vec<(Duration, Option<Duration>)> {
        if let Some(at) = &self.at {
            let from = at.sample(stream);
            let lasts = self.lasts.as_ref().map(|lasts| lasts.sample(stream));
            return vec![(from, lasts.map(|lasts| from + lasts))];
        }
        let (Some(mttf), Some(mttr)) = (self.mttf, self.mttr) else {
            unreachable!("the check saw to it that there are times");
        };
        let mut times = Vec::new();
        let mut from = stream.exponential(mttf.0);
        while from < end {
            // A fault takes some time, however short.
            let until = from + stream.exponential(mttr.0).max(Duration::from_nanos(1));
            times.push((from, Some(until)));
            from = until + stream.exponential(mttf.0);
        }
        times
    }
}

/// The faults of a network's relays. Each group of faults draws from streams of its own.
pub(super) fn draw(
    groups: &[Faults],
    network: &Network,
    relays: &[NodeSpec],
    end: Duration,
    streams: Streams,
) -> Vec<spec::Fault> {
    let mut faults = Vec::new();
    for (group, of_group) in groups.iter().enumerate() {
        for (number, relay) in relays.iter().enumerate() {
            let stream =
                |what: &str| streams.stream(&format!("fault {group} {what}"), number as u64);
            let share = of_group.share.unwrap_or(1.0);
            if !of_group.names(&relay.name, network) || stream("share").unit() >= share {
                continue;
            }
            let times = of_group.times(end, &mut stream("times")).into_iter();
            let begun = times.filter(|(from, _)| *from < end);
            faults.extend(begun.map(|(from, until)| spec::Fault {
                node: NodeId::new(number as u32),
                from,
                until,
                kind: of_group.kind(),
            }));
        }
    }
    faults
}
