//! Which relays a circuit takes.

use std::sync::Arc;

use hopflow_paths::{
    BandwidthWeights, Continent, Flags, PopulationRelay, Position, Relay as PlacedRelay,
};
use hopflow_random::Stream;
use hopflow_units::Rate;

use crate::directory::{Directory, Relay};

/// Paths that are begun before it is taken for granted that there are none: an exit may leave
/// nothing for the guard.
const ATTEMPTS: usize = 32;

/// The relays of a path, from guard to exit, as indices into those of the directory.
pub type Path = Vec<usize>;

/// Chooses paths by bandwidth.
///
/// The exit is chosen first, then the guard, then the middles from front to back, each by its
/// weight times the bandwidth weight of its flags at that position (Tor's path-spec, "Weighting
/// node selection"), all different. Where the bandwidth weights would leave nothing, as in small
/// networks that need their only exit as an exit, the relays' own weights decide. Clients keep no
/// guards: each path has a new one.
#[derive(Clone, Debug)]
pub struct PathChooser {
    directory: Arc<Directory>,
    weights: BandwidthWeights,
    stream: Stream,
}

/// What a path must be like.
#[expect(missing_debug_implementations, reason = "functions have no text")]
pub struct Wish<'a> {
    /// Relays in it, from one.
    pub length: usize,
    /// Which relays may be its exit, apart from being exits at all.
    pub exit: &'a dyn Fn(&Relay) -> bool,
    /// Relays that are taken only if there is no path without them.
    pub avoid: &'a dyn Fn(usize) -> bool,
}

impl PathChooser {
    /// A chooser over the directory's relays that draws from `stream`.
    pub fn new(directory: Arc<Directory>, stream: Stream) -> Self {
        let relays: Vec<_> = directory.relays.iter().map(weighted).collect();
        Self {
            weights: BandwidthWeights::balancing(&relays),
            directory,
            stream,
        }
    }

    /// The directory that paths are chosen from.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// A path; none if there is none, as far as can be seen.
    pub fn choose(&mut self, wish: &Wish<'_>) -> Option<Path> {
        let careful = (0..ATTEMPTS).find_map(|_| self.attempt(wish, wish.avoid));
        careful.or_else(|| (0..ATTEMPTS).find_map(|_| self.attempt(wish, &|_| false)))
    }

    fn attempt(&mut self, wish: &Wish<'_>, avoid: &dyn Fn(usize) -> bool) -> Option<Path> {
        let exit = self.draw(Position::Exit, |index, relay| {
            !avoid(index) && relay.exit.is_some() && (wish.exit)(relay)
        })?;
        let mut path = Path::with_capacity(wish.length);
        while path.len() + 1 < wish.length {
            let position = match path.len() {
                0 => Position::Guard,
                _ => Position::Middle,
            };
            let next = self.draw(position, |index, relay| {
                let fits = position == Position::Middle || relay.guard;
                fits && !avoid(index) && index != exit && !path.contains(&index)
            })?;
            path.push(next);
        }
        path.push(exit);
        Some(path)
    }

    /// A relay that fits, by its weight at `position`; none if no relay fits.
    fn draw(&mut self, position: Position, fits: impl Fn(usize, &Relay) -> bool) -> Option<usize> {
        let relays = self.directory.relays.iter().enumerate();
        let fitting = relays.filter(|(index, relay)| fits(*index, relay));
        // What it weighs; without bandwidth weights; where no relay has a weight.
        let weighed = fitting.map(|(index, relay)| {
            let balanced = relay.weight * u64::from(self.factor(position, relay));
            (index, [balanced, relay.weight, 1])
        });
        let weighed: Vec<_> = weighed.collect();
        let total = |kind: usize| {
            weighed
                .iter()
                .map(|(_, weights)| weights[kind])
                .sum::<u64>()
        };
        let kind = (0..3).find(|&kind| total(kind) > 0)?;
        let mut mark = self.stream.integer(0, total(kind) - 1);
        let drawn = weighed.iter().find(|(_, weights)| {
            let rest = mark.checked_sub(weights[kind]);
            mark = rest.unwrap_or(mark);
            rest.is_none()
        });
        drawn.map(|(index, _)| *index)
    }

    /// The bandwidth weight of a relay's flags at `position`.
    fn factor(&self, position: Position, relay: &Relay) -> u32 {
        let weights = &self.weights;
        match (position, relay.guard, relay.exit.is_some()) {
            (Position::Guard, true, false) => weights.wgg,
            (Position::Guard, true, true) => weights.wgd,
            (Position::Middle, true, false) => weights.wmg,
            (Position::Middle, true, true) => weights.wmd,
            (Position::Middle, false, true) => weights.wme,
            (Position::Middle, false, false) => weights.wmm,
            (Position::Exit, false, true) => weights.wee,
            (Position::Exit, true, true) => weights.wed,
            (Position::Guard, false, _) | (Position::Exit, _, false) => 0,
        }
    }
}

/// The relay as far as bandwidth weights depend on it: they do not ask where it stands.
fn weighted(relay: &Relay) -> PopulationRelay {
    let flag = |has, flag| if has { flag } else { Flags::NONE };
    PopulationRelay {
        relay: PlacedRelay {
            name: relay.nickname.clone(),
            continent: Continent::Europe,
            bandwidth: Rate::from_kilobytes_per_sec(1),
        },
        flags: Flags::FAST
            | flag(relay.guard, Flags::GUARD)
            | flag(relay.exit.is_some(), Flags::EXIT),
        weight: relay.weight,
        family: None,
        network: None,
    }
}

#[cfg(test)]
mod tests;
