//! Which transport is a point of the design space, or why none is.
//!
//! A point names five layers; what they declare settles the rest, and whether they fit together.

use hopflow_overlay::infos::REPAIRS;
use hopflow_overlay::{Features, Info};
use hopflow_transports::{LAYER_KEYS, check, redundant};
use toml::Table;

use super::axes::Point;
use crate::scenario::Choice;

/// The layers of a stack, in the order of [`LAYER_KEYS`].
type Layers = [Info; 7];

/// The transport of a point, or why there is none.
pub(super) fn choice(point: &Point, bases: &[Base]) -> Result<Choice, &'static str> {
    let layers = layers(point);
    check(&layers).map_err(|misfit| misfit.reason)?;
    if let Some(misfit) = redundant(&layers) {
        return Err(misfit.reason);
    }
    let names = layers.map(|layer| layer.name);
    let base = bases.iter().min_by_key(|base| base.distance(&names));
    Ok(base.map_or_else(Choice::default, |base| base.with(&names)))
}

/// The layers of a point: its own, and what goes with them.
fn layers(point: &Point) -> Layers {
    let Point {
        carrier,
        multiplexing,
        hop_control,
        end_to_end,
        scheduler,
    } = *point;
    let hop = reporter(&hop_control, &end_to_end).unwrap_or(hop_control);
    let repair = repair(&carrier, &hop, &end_to_end);
    let path = hopflow_transports::path_choices()[0];
    [
        carrier,
        multiplexing,
        scheduler,
        repair,
        hop,
        end_to_end,
        path,
    ]
}

/// Where nothing controls hops, what reports on them to the end that reads it.
fn reporter(hop: &Info, end: &Info) -> Option<Info> {
    if hop.name != "none" {
        return None;
    }
    let reads = |hop: &Info| end.requires.iter().any(|(set, _)| hop.provides.any(*set));
    let mut hops = hopflow_transports::hop_controls().into_iter();
    hops.find(|hop| hop.only_reports() && reads(hop))
}

/// TCP repairs losses itself. Over datagrams hops do so where a layer keeps state of them, and ends
/// where they can; nothing does where a point has neither.
fn repair(carrier: &Info, hop: &Info, end: &Info) -> Info {
    let [none, per_hop, end_to_end] = REPAIRS;
    match hop.name {
        _ if carrier.provides.any(Features::STREAMS) => none,
        "none" if end.provides.any(Features::END_TCP) => end_to_end,
        "none" => none,
        _ => per_hop,
    }
}

/// A preset that chooses layers and nothing else: what points are described by, and have the other
/// parameters of, such as limits of queues.
#[derive(Debug)]
pub(super) struct Base {
    name: &'static str,
    /// The names of its layers, in the order of [`LAYER_KEYS`].
    layers: [String; 7],
}

/// The options of layers in the order in which names of points give them.
const ORDER: [&str; 7] = [
    "carrier",
    "connections",
    "repair",
    "hop-control",
    "end-to-end",
    "path",
    "scheduler",
];

impl Base {
    /// All of them.
    pub(super) fn all() -> Vec<Self> {
        let presets = hopflow_transports::presets().into_iter();
        let layers_alone = presets.filter(|preset| {
            let options = preset.options.parse::<Table>();
            options.is_ok_and(|options| options.keys().all(|key| ORDER.contains(&key.as_str())))
        });
        layers_alone
            .filter_map(|preset| Self::of(preset.name))
            .collect()
    }

    fn of(name: &'static str) -> Option<Self> {
        let factory = hopflow_simulated_hosts::build(name, &Table::new()).ok()?;
        let described = factory.describe();
        let value = |key| {
            let mut lines = described.lines().filter_map(|line| line.split_once(" = "));
            let found = lines.find(|(known, _)| *known == key);
            found.map_or(String::new(), |(_, value)| value.to_owned())
        };
        let layers = LAYER_KEYS.map(value);
        Some(Self { name, layers })
    }

    /// How far a stack is from this one: nearest are those with the same layers, then those with the
    /// same control on hops, of these those of which fewest layers differ. Presets with a scheduler
    /// of their own are near to nothing but themselves.
    fn distance(&self, names: &[&'static str; 7]) -> (bool, bool, usize) {
        let differs = |key| self.differing(names).any(|(other, _)| other == key);
        let count = self.differing(names).count();
        let special = self.layers[2] != "round-robin" && count > 0;
        (special, differs("hop-control"), count)
    }

    /// The options by which a stack differs from this one.
    fn differing<'a>(
        &'a self,
        names: &'a [&'static str; 7],
    ) -> impl Iterator<Item = (&'static str, &'static str)> + 'a {
        let pairs = LAYER_KEYS.into_iter().zip(names).zip(&self.layers);
        pairs.filter_map(|((key, name), own)| (own != name).then_some((key, *name)))
    }

    /// This preset with the layers of a stack.
    fn with(&self, names: &[&'static str; 7]) -> Choice {
        let mut options = Table::new();
        for key in ORDER {
            let value = self.differing(names).find(|(other, _)| *other == key);
            if let Some((_, value)) = value {
                options.insert(key.to_owned(), value.into());
            }
        }
        Choice {
            preset: Some(self.name.to_owned()),
            options,
            upgrade: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{Axes, Chosen};

    #[test]
    fn every_point_with_a_transport_can_be_built_and_no_two_are_the_same() {
        let points = Axes::choose(&Chosen::default()).unwrap().points();
        let bases = Base::all();
        let mut seen = Vec::new();
        for point in points {
            let Ok(choice) = choice(&point, &bases) else {
                continue;
            };
            let preset = choice.preset.clone().unwrap();
            let built = hopflow_simulated_hosts::build(&preset, &choice.options);
            let built = built.unwrap_or_else(|error| panic!("{}: {error}", point.label()));
            let described = built.describe();
            let is_chosen = |(key, info): (&str, Info)| {
                let line = format!("{key} = {}", info.name);
                described.lines().any(|other| other == line)
            };
            let mut layers = LAYER_KEYS.into_iter().zip(layers(&point));
            assert!(layers.all(is_chosen), "{}: {choice:?}", point.label());
            assert!(
                !seen.contains(&described),
                "{} is there already",
                point.label()
            );
            seen.push(described);
        }
        assert_eq!(seen.len(), 29);
    }

    #[test]
    fn points_are_named_by_the_nearest_transport() {
        let named = |label: &str| {
            let points = Axes::choose(&Chosen::default()).unwrap().points();
            let point = points.iter().find(|point| point.label() == label).unwrap();
            let choice = choice(point, &Base::all()).unwrap();
            let options = choice.options.to_string().trim().replace('\n', ", ");
            format!("{} {options}", choice.preset.unwrap())
        };
        let shown = [
            "tcp+shared+none+vegas+kist",
            "tcp+shared+none+vegas+ewma",
            "tcp+shared+credit+window+round-robin",
            "datagram+shared+none+worst-hop+round-robin",
        ];
        assert_eq!(
            shown.map(named),
            [
                "tor-vegas ",
                "vanilla end-to-end = \"vegas\", scheduler = \"ewma\"",
                "n23 end-to-end = \"window\"",
                "marut ",
            ]
        );
    }
}
