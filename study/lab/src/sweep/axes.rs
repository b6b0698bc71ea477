//! The axes of the design space, and which of their values are asked for.

use hopflow_overlay::Info;
use hopflow_overlay::infos::{CARRIERS, MULTIPLEXINGS, SCHEDULERS};
use hopflow_transports::{end_controls, hop_controls};

use crate::scenario::{InputError, allowed};

/// The titles of the axes, in the order of [`Point::values`].
pub const TITLES: [&str; 5] = [
    "Carrier",
    "Multiplexing",
    "Hop control",
    "End to end",
    "Scheduler",
];

/// The names of the axes on the command line and in files, in the same order.
pub const NAMES: [&str; 5] = [
    "carrier",
    "multiplexing",
    "hop-control",
    "end-to-end",
    "scheduler",
];

/// Names of values by axis, as users give them; an empty list stands for all values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// What carries cells between neighbours ("How (not) to Build a Transport Layer for Anonymity
    /// Overlays", section 3: the transport protocol of overlay links).
    pub carrier: Vec<String>,
    /// How circuits share what carries them (the same section: the multiplexing layer).
    pub multiplexing: Vec<String>,
    /// What holds a circuit's cells back at each hop.
    pub hop_control: Vec<String>,
    /// What holds a circuit's cells back at its source.
    pub end_to_end: Vec<String>,
    /// Which circuit's cell a node sends next.
    pub scheduler: Vec<String>,
}

/// The values of each axis whose cross product is swept: what layers declare of themselves.
#[derive(Clone, Debug)]
pub struct Axes {
    /// In the order of [`NAMES`].
    values: [Vec<Info>; 5],
}

/// A point of the design space: a value of every axis.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// What carries cells between neighbours.
    pub carrier: Info,
    /// How circuits share it.
    pub multiplexing: Info,
    /// What holds cells back at each hop.
    pub hop_control: Info,
    /// What holds cells back at the source.
    pub end_to_end: Info,
    /// Whose cell is next.
    pub scheduler: Info,
}

impl Axes {
    /// The values that are asked for, in the order of the axes.
    ///
    /// # Errors
    /// If a name is no value of its axis.
    pub fn choose(chosen: &Chosen) -> Result<Self, InputError> {
        let Chosen {
            carrier,
            multiplexing,
            hop_control,
            end_to_end,
            scheduler,
        } = chosen;
        let hops = hop_controls().into_iter();
        let hops = hops.filter(|info| !info.only_reports());
        let values = [
            values(0, carrier, CARRIERS)?,
            values(1, multiplexing, MULTIPLEXINGS)?,
            values(2, hop_control, hops)?,
            values(3, end_to_end, end_controls())?,
            values(4, scheduler, SCHEDULERS)?,
        ];
        Ok(Self { values })
    }

    /// The names of the values of each axis, in the order of [`NAMES`].
    pub fn names(&self) -> [Vec<&'static str>; 5] {
        self.values.each_ref().map(|values| names(values))
    }

    /// The cross product, the last axis fastest.
    pub fn points(&self) -> Vec<Point> {
        let [carriers, multiplexings, hop_controls, ends, schedulers] = &self.values;
        let mut points = Vec::new();
        for &carrier in carriers {
            for &multiplexing in multiplexings {
                for &hop_control in hop_controls {
                    for &end_to_end in ends {
                        points.extend(schedulers.iter().map(|&scheduler| Point {
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
            self.carrier.name,
            self.multiplexing.name,
            self.hop_control.name,
            self.end_to_end.name,
            self.scheduler.name,
        ]
    }

    /// The label by which results call the point.
    pub fn label(&self) -> String {
        self.values().join("+")
    }
}

fn names(values: &[Info]) -> Vec<&'static str> {
    values.iter().map(|value| value.name).collect()
}

/// The values with these names, in the order of the axis; all of them if there are no names.
fn values(
    axis: usize,
    chosen: &[String],
    all: impl IntoIterator<Item = Info>,
) -> Result<Vec<Info>, InputError> {
    let (mut all, others): (Vec<Info>, Vec<Info>) = all.into_iter().partition(|info| info.swept);
    let has = |values: &[Info], name: &String| values.iter().any(|value| value.name == name);
    if let Some(name) = chosen.iter().find(|name| !has(&all, name)) {
        let allowed = allowed(name, names(&all));
        let problem = if has(&others, name) {
            format!(
                "\"{name}\" is no value of a sweep, but `hopflow compare` takes presets with it; {allowed}"
            )
        } else {
            format!("\"{name}\" is unknown; {allowed}")
        };
        return Err(InputError::at(format!("--{}", NAMES[axis]), problem));
    }
    all.retain(|value| chosen.is_empty() || chosen.iter().any(|name| name == value.name));
    Ok(all)
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
