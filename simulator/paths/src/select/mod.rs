//! Choosing paths as Tor's clients do.

mod draw;

use hopflow_random::Stream;

use crate::population::{Population, PopulationError, PopulationRelay, Position};
use draw::WeightedRelays;

/// The fewest relays of a path that has a guard, a middle and an exit.
const SHORTEST: usize = 3;
/// Paths that are begun before it is taken for granted that there are none: a first relay may
/// leave nothing for a later position.
const ATTEMPTS: usize = 100;

/// Chooses paths over a population by bandwidth.
///
/// The exit is chosen first, then the guard, then the middles from front to back; each by
/// consensus weight times bandwidth weight, among the relays that have the flag of the position
/// and may be in a path with those already chosen (path-spec, "Path selection and constraints"
/// and "Weighting node selection"). Not modelled: exit policies, and which relays are reachable.
#[derive(Clone, Debug)]
pub struct PathSelector {
    length: usize,
    relays: Vec<PopulationRelay>,
    guards: WeightedRelays,
    middles: WeightedRelays,
    exits: WeightedRelays,
}

/// A client that keeps its guards: all its paths begin with one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    guards: Vec<u32>,
}

impl Client {
    /// The client's guards, as indices into the relays of the population.
    pub fn guards(&self) -> &[u32] {
        &self.guards
    }
}

impl PathSelector {
    /// A selector of paths of `length` relays, three or more: those beyond are more middles.
    ///
    /// # Errors
    /// If `length` is below three, or no relay may take one of the positions.
    pub fn new(population: &Population, length: usize) -> Result<Self, PopulationError> {
        if length < SHORTEST {
            return Err(PopulationError::PathLength {
                length,
                least: SHORTEST,
            });
        }
        let relays_at = |position| WeightedRelays::at(population, position);
        Ok(Self {
            length,
            relays: population.relays.clone(),
            guards: relays_at(Position::Guard)?,
            middles: relays_at(Position::Middle)?,
            exits: relays_at(Position::Exit)?,
        })
    }

    /// A path, from guard to exit, as indices into the relays of the population; none if the
    /// constraints leave no path, as far as can be seen.
    pub fn draw(&self, stream: &mut Stream) -> Option<Vec<u32>> {
        self.draw_entered_by(stream, |exit, stream| {
            self.guards.draw(stream, |relay| self.may_meet(relay, exit))
        })
    }

    /// A client with `guards` different guards, or as many as there are, chosen by weight; no two
    /// of them could be in one path.
    ///
    /// How many guards a client of Tor keeps has changed: three before 2014, then one (guard-spec
    /// and proposal 236).
    pub fn client(&self, guards: usize, stream: &mut Stream) -> Client {
        let mut chosen: Vec<u32> = Vec::new();
        while chosen.len() < guards {
            let fits = |relay| chosen.iter().all(|&guard| self.may_meet(relay, guard));
            let Some(guard) = self.guards.draw(stream, fits) else {
                break;
            };
            chosen.push(guard);
        }
        Client { guards: chosen }
    }

    /// A path of `client`, which begins with any of its guards, each as likely as the others; none
    /// if the constraints leave no path.
    pub fn draw_for(&self, client: &Client, stream: &mut Stream) -> Option<Vec<u32>> {
        self.draw_entered_by(stream, |exit, stream| {
            let fit = |guard: &&u32| self.may_meet(**guard, exit);
            let fitting = client.guards.iter().filter(fit);
            let last = fitting.clone().count().checked_sub(1)?;
            let at = stream.integer(0, last as u64) as usize;
            fitting.copied().nth(at)
        })
    }

    /// A path whose guard is what `enter` chooses for an exit.
    fn draw_entered_by(
        &self,
        stream: &mut Stream,
        enter: impl Fn(u32, &mut Stream) -> Option<u32>,
    ) -> Option<Vec<u32>> {
        (0..ATTEMPTS).find_map(|_| {
            let exit = self.exits.draw(stream, |_| true)?;
            let mut path = Vec::with_capacity(self.length);
            path.push(enter(exit, stream)?);
            while path.len() < self.length - 1 {
                let fits = |relay| {
                    self.may_meet(relay, exit) && path.iter().all(|&o| self.may_meet(relay, o))
                };
                path.push(self.middles.draw(stream, fits)?);
            }
            path.push(exit);
            Some(path)
        })
    }

    /// Whether a path may have both relays.
    fn may_meet(&self, one: u32, other: u32) -> bool {
        one != other && !self.relays[one as usize].is_kin_of(&self.relays[other as usize])
    }
}

#[cfg(test)]
mod tests;
