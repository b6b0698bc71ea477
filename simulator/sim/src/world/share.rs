//! How the nodes of one machine divide its budgets.

use hopflow_overlay::{BucketConfig, Plan};
use hopflow_units::{Bytes, Duration, Rate};

use crate::spec::BucketSpec;

/// A node of a machine: its transport, and its share of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) transport: usize,
    pub(crate) share: Share,
}

/// What a machine gives to the node of one transport: so many of so many parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    parts: u64,
    of: u64,
}

impl Part {
    /// The nodes of a machine over which so many circuits of each transport lead: one for each
    /// transport in use, at least one.
    pub(crate) fn of_machine(circuits: &[u64]) -> Vec<Self> {
        // Where no circuit leads, the first transport runs.
        let of = circuits.iter().sum::<u64>().max(1);
        let parts = circuits.iter().enumerate().filter(|(_, parts)| **parts > 0);
        let mut nodes: Vec<_> = parts
            .map(|(transport, &parts)| Self {
                transport,
                share: Share { parts, of },
            })
            .collect();
        if nodes.is_empty() {
            nodes.push(Self {
                transport: 0,
                share: Share { parts: 1, of: 1 },
            });
        }
        nodes
    }
}

impl Share {
    pub(crate) fn rate(self, whole: Rate) -> Rate {
        let part = self.part(whole.bytes_per_sec()).max(1);
        Rate::from_bytes_per_sec(part).expect("the part is above zero")
    }

    fn bytes(self, whole: Bytes) -> Bytes {
        Bytes::new(self.part(whole.get()))
    }

    fn part(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.parts) / u128::from(self.of)) as u64
    }
}

/// The token bucket of a node that has a share of its machine's.
pub(crate) fn bucket_of(spec: &BucketSpec, plan: &Plan, share: Share, phase: f64) -> BucketConfig {
    let interval = spec.interval.unwrap_or(plan.link.refill);
    let rate = share.rate(spec.rate);
    let depth = spec.depth.map_or_else(
        || rate.bytes_in(Duration::from_secs(1)),
        |depth| share.bytes(depth),
    );
    let phase = Duration::from_nanos((interval.as_nanos() as f64 * phase) as u64);
    // A bucket that cannot hold a cell would never let one out.
    BucketConfig {
        rate,
        depth: depth.max(Bytes::new(2048)),
        interval,
        phase,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_share_a_machine_in_proportion_to_their_circuits() {
        let part = |transport, parts, of| Part {
            transport,
            share: Share { parts, of },
        };
        assert_eq!(Part::of_machine(&[3, 1]), [part(0, 3, 4), part(1, 1, 4)]);
        assert_eq!(Part::of_machine(&[0, 2]), [part(1, 2, 2)]);
        assert_eq!(Part::of_machine(&[0, 0]), [part(0, 1, 1)]);
        let whole = Rate::from_kilobytes_per_sec(1000);
        let quarter = Rate::from_kilobytes_per_sec(250);
        assert_eq!(part(1, 1, 4).share.rate(whole), quarter);
    }
}
