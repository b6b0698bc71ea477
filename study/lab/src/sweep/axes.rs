//! The axes of the design space, and which of their values are asked for.

use std::fmt::Debug;

use crate::scenario::{InputError, allowed};

/// A value of one axis of the design space.
pub trait AxisValue: Copy + Debug + PartialEq + 'static {
    /// The axis: the name of its option on the command line, without hyphens in front.
    const AXIS: &'static str;
    /// The axis, for readers.
    const TITLE: &'static str;
    /// All values, in the order of tables.
    const ALL: &'static [Self];

    /// The value's name.
    fn name(self) -> &'static str;
}

macro_rules! axis {
    ($(#[$meta:meta])* $name:ident, $axis:literal, $title:literal, {
        $($(#[$doc:meta])* $value:ident = $text:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* $value,)*
        }

        impl AxisValue for $name {
            const AXIS: &'static str = $axis;
            const TITLE: &'static str = $title;
            const ALL: &'static [Self] = &[$(Self::$value,)*];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }
        }
    };
}

axis! {
    /// What carries cells between neighbours ("How (not) to Build a Transport Layer for Anonymity
    /// Overlays", section 3: the transport protocol of overlay links).
    Carrier, "carrier", "Carrier", {
        /// TCP connections.
        Tcp = "tcp",
        /// UDP datagrams.
        Datagram = "datagram",
    }
}

axis! {
    /// How circuits share what carries them (the same section: the multiplexing layer).
    Multiplexing, "multiplexing", "Multiplexing", {
        /// All circuits between two neighbours share it.
        Shared = "shared",
        /// Every circuit has its own.
        PerCircuit = "per-circuit",
    }
}

axis! {
    /// What holds a circuit's cells back at each hop.
    HopControl, "hop-control", "Hop control", {
        /// Nothing but the carrier.
        None = "none",
        /// Credits for cells that were forwarded: N23.
        Credit = "credit",
        /// A window from the delay until cells are forwarded: `BackTap`.
        DelayWindow = "delay-window",
    }
}

axis! {
    /// What holds a circuit's cells back at its source.
    EndToEnd, "end-to-end", "End to end", {
        /// Nothing.
        None = "none",
        /// A fixed window, opened by SENDMEs.
        Window = "window",
        /// A window by the circuit's round-trip times, as Tor has it since 2022.
        Vegas = "vegas",
        /// TCP from one end of the circuit to the other.
        Tcp = "tcp",
        /// A window by the load of the circuit's most loaded hop: Marut.
        WorstHop = "worst-hop",
    }
}

axis! {
    /// Which circuit's cell a node sends next.
    Scheduler, "scheduler", "Scheduler", {
        /// Circuits take turns.
        RoundRobin = "round-robin",
        /// The circuit that sent the least of late.
        Ewma = "ewma",
        /// The same over all connections at once, as far as their sockets can send.
        Kist = "kist",
    }
}

/// Names of values by axis, as users give them; an empty list stands for all values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Values of [`Carrier`].
    pub carrier: Vec<String>,
    /// Values of [`Multiplexing`].
    pub multiplexing: Vec<String>,
    /// Values of [`HopControl`].
    pub hop_control: Vec<String>,
    /// Values of [`EndToEnd`].
    pub end_to_end: Vec<String>,
    /// Values of [`Scheduler`].
    pub scheduler: Vec<String>,
}

/// The values of each axis whose cross product is swept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    carriers: Vec<Carrier>,
    multiplexings: Vec<Multiplexing>,
    hop_controls: Vec<HopControl>,
    ends: Vec<EndToEnd>,
    schedulers: Vec<Scheduler>,
}

/// A point of the design space: a value of every axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// What carries cells between neighbours.
    pub carrier: Carrier,
    /// How circuits share it.
    pub multiplexing: Multiplexing,
    /// What holds cells back at each hop.
    pub hop_control: HopControl,
    /// What holds cells back at the source.
    pub end_to_end: EndToEnd,
    /// Whose cell is next.
    pub scheduler: Scheduler,
}

/// The titles of the axes, in the order of [`Point::values`].
pub const TITLES: [&str; 5] = [
    Carrier::TITLE,
    Multiplexing::TITLE,
    HopControl::TITLE,
    EndToEnd::TITLE,
    Scheduler::TITLE,
];

/// The names of the axes on the command line and in files, in the same order.
pub const NAMES: [&str; 5] = [
    Carrier::AXIS,
    Multiplexing::AXIS,
    HopControl::AXIS,
    EndToEnd::AXIS,
    Scheduler::AXIS,
];

impl Axes {
    /// The values that are asked for, in the order of the axes.
    ///
    /// # Errors
    /// If a name is no value of its axis.
    pub fn choose(chosen: &Chosen) -> Result<Self, InputError> {
        Ok(Self {
            carriers: values(&chosen.carrier)?,
            multiplexings: values(&chosen.multiplexing)?,
            hop_controls: values(&chosen.hop_control)?,
            ends: values(&chosen.end_to_end)?,
            schedulers: values(&chosen.scheduler)?,
        })
    }

    /// The names of the values of each axis, in the order of [`NAMES`].
    pub fn names(&self) -> [Vec<&'static str>; 5] {
        [
            names(&self.carriers),
            names(&self.multiplexings),
            names(&self.hop_controls),
            names(&self.ends),
            names(&self.schedulers),
        ]
    }

    /// The cross product, the last axis fastest.
    pub fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for &carrier in &self.carriers {
            for &multiplexing in &self.multiplexings {
                for &hop_control in &self.hop_controls {
                    for &end_to_end in &self.ends {
                        points.extend(self.schedulers.iter().map(|&scheduler| Point {
                            carrier,
                            multiplexing,
                            hop_control,
                            end_to_end,
                            scheduler,
                        }));
                    }
                }
            }
        }
        points
    }
}

impl Point {
    /// The names of the point's values, in the order of [`NAMES`].
    pub fn values(&self) -> [&'static str; 5] {
        [
            self.carrier.name(),
            self.multiplexing.name(),
            self.hop_control.name(),
            self.end_to_end.name(),
            self.scheduler.name(),
        ]
    }

    /// The label by which results call the point.
    pub fn label(&self) -> String {
        self.values().join("+")
    }
}

fn names<V: AxisValue>(values: &[V]) -> Vec<&'static str> {
    values.iter().map(|value| value.name()).collect()
}

/// The values with these names, in the order of the axis; all of them if there are no names.
fn values<V: AxisValue>(chosen: &[String]) -> Result<Vec<V>, InputError> {
    for name in chosen {
        if V::ALL.iter().all(|value| value.name() != name) {
            let allowed = allowed(name, names(V::ALL));
            let problem = format!("\"{name}\" is unknown; {allowed}");
            return Err(InputError::at(format!("--{}", V::AXIS), problem));
        }
    }
    let wanted = |value: &&V| chosen.is_empty() || chosen.iter().any(|name| name == value.name());
    Ok(V::ALL.iter().filter(wanted).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_space_is_the_product_of_all_values() {
        let points = Axes::choose(&Chosen::default()).unwrap().points();
        assert_eq!(points.len(), 2 * 2 * 3 * 5 * 3);
        assert_eq!(
            points[1].label(),
            "tcp+shared+none+none+ewma",
            "the last axis is the fastest"
        );
    }

    #[test]
    fn an_axis_can_be_restricted_in_any_order() {
        let chosen = Chosen {
            carrier: vec!["datagram".to_owned()],
            scheduler: vec!["kist".to_owned(), "round-robin".to_owned()],
            ..Chosen::default()
        };
        let axes = Axes::choose(&chosen).unwrap();
        assert_eq!(axes.names()[0], ["datagram"]);
        assert_eq!(axes.names()[4], ["round-robin", "kist"]);
    }

    #[test]
    fn an_unknown_value_is_named_with_what_is_allowed() {
        let chosen = Chosen {
            hop_control: vec!["credits".to_owned()],
            ..Chosen::default()
        };
        let error = Axes::choose(&chosen).unwrap_err().to_string();
        assert_eq!(
            error,
            "--hop-control: \"credits\" is unknown; did you mean \"credit\"? \
             allowed: none, credit, delay-window"
        );
    }
}
