//! What layers and drivers offer and need, so that stacks can be checked before anything runs.

use std::fmt;
use std::ops::BitOr;

/// What a layer, or a driver, offers to the others.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(u32);

/// A condition on the rest of the stack, and why it is needed.
pub type Condition = (Features, &'static str);

/// What a layer says of itself. Registry, schema, sweep and drivers read it.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name in scenarios and on the axes of the design space.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What it offers.
    pub provides: Features,
    /// Of each set, at least one feature must be offered by the stack.
    pub requires: &'static [Condition],
    /// Of each set, none may be offered by the stack.
    pub excludes: &'static [Condition],
    /// Of each set, if one is offered by the stack, the layer does nothing that the first of its
    /// kind does not do: the stack works, and sweeps leave it out.
    pub redundant: &'static [Condition],
    /// What the driver must be able to do.
    pub driver: Features,
    /// Values that the layer measures for each flow, in the order in which it returns them.
    pub metrics: &'static [Metric],
    /// Whether sweeps of the design space take the layer as a value of its axis. A layer that asks
    /// for a solver, or is a variant of another one, says no.
    pub swept: bool,
}

/// A value that a layer measures for each flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    /// The name in results and exported metrics, of lower-case letters and underscores, without
    /// the unit. Layers of one stack use different names.
    pub name: &'static str,
    /// The unit: `cells`, `seconds`, `bytes_per_second`.
    pub unit: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
}

impl Features {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Hops are TCP connections.
    pub const STREAMS: Self = Self(1);
    /// Hops are datagrams.
    pub const DATAGRAMS: Self = Self(1 << 1);
    /// Every circuit has a link of its own.
    pub const PER_CIRCUIT: Self = Self(1 << 2);
    /// Hops repair losses.
    pub const HOP_REPAIR: Self = Self(1 << 3);
    /// Ends of circuits repair losses.
    pub const END_REPAIR: Self = Self(1 << 4);
    /// Something bounds what a source has under way.
    pub const BOUND: Self = Self(1 << 5);
    /// Hops report how many cells wait on the most loaded of them.
    pub const LOAD_REPORTS: Self = Self(1 << 6);
    /// The source reads loads that hops report.
    pub const LOAD_READER: Self = Self(1 << 7);
    /// Circuits of a stream are ranked.
    pub const LEG_RANK: Self = Self(1 << 8);
    /// TCP controls a circuit from end to end.
    pub const END_TCP: Self = Self(1 << 9);
    /// The layer uses the node's regular call, as its plan says, and messages between neighbours;
    /// one layer of a stack may.
    pub const TICK: Self = Self(1 << 10);
    /// Hops report how long cells wait on the slowest of them.
    pub const WAIT_REPORTS: Self = Self(1 << 11);
    /// Hops report how many cells they marked.
    pub const MARK_REPORTS: Self = Self(1 << 12);
    /// Hops report something to the source.
    pub const REPORTS: Self = Self::LOAD_REPORTS
        .or(Self::WAIT_REPORTS)
        .or(Self::MARK_REPORTS);
    /// The driver brings messages to neighbours outside of all links.
    pub const OUT_OF_BAND: Self = Self(1 << 16);
    /// The driver gives a stream several circuits.
    pub const LEGS: Self = Self(1 << 18);

    const NAMES: [(Self, &'static str); 15] = [
        (Self::STREAMS, "TCP connections"),
        (Self::DATAGRAMS, "datagrams"),
        (Self::PER_CIRCUIT, "a link for each circuit"),
        (Self::HOP_REPAIR, "repair on each hop"),
        (Self::END_REPAIR, "repair from end to end"),
        (Self::BOUND, "a bound of what a source has under way"),
        (Self::LOAD_REPORTS, "load reports of hops"),
        (Self::LOAD_READER, "an end that reads load reports"),
        (Self::LEG_RANK, "ranks of circuits"),
        (Self::END_TCP, "TCP from end to end"),
        (Self::TICK, "the node's regular call"),
        (Self::WAIT_REPORTS, "reports of waiting times"),
        (Self::MARK_REPORTS, "reports of marked cells"),
        (Self::OUT_OF_BAND, "messages out of band"),
        (Self::LEGS, "several circuits for a stream"),
    ];

    /// What is in either, as `|`, which constants cannot use.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is one of `others`.
    pub const fn any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Whether all of `others` are there.
    pub const fn all(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// What of these is not in `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }
}

impl BitOr for Features {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::NAMES.iter().filter(|(feature, _)| self.any(*feature));
        let names: Vec<_> = names.map(|(_, name)| *name).collect();
        f.write_str(&names.join(", "))
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Features({self})")
    }
}

impl Info {
    /// Whether the layer does nothing but report to the source: it holds nothing back, and goes
    /// with the control from end to end that reads it.
    pub const fn only_reports(&self) -> bool {
        self.provides.any(Features::REPORTS) && !self.provides.any(Features::BOUND)
    }

    /// A layer that offers, needs and measures nothing.
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            provides: Features::NONE,
            requires: &[],
            excludes: &[],
            redundant: &[],
            driver: Features::NONE,
            metrics: &[],
            swept: true,
        }
    }
}
