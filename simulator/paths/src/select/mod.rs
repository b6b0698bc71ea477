//! Choosing paths as Tor's clients do.

mod draw;

use hopflow_random::Stream;

use crate::candidate::Candidate;
use crate::population::{BandwidthWeights, Flags, Population, PopulationError, Position};
use draw::WeightedRelays;

/// The fewest relays of a path that has a guard, a middle and an exit.
const SHORTEST: usize = 3;
/// Paths that are begun before it is taken for granted that there are none: a first relay may
/// leave nothing for a later position.
const ATTEMPTS: usize = 100;

/// Chooses paths by bandwidth.
///
/// The exit is chosen first, then the guard, then the middles from front to back; each by
/// consensus weight times bandwidth weight, among the relays that have the flag of the position
/// and may be in a path with those already chosen (path-spec, "Path selection and constraints"
/// and "Weighting node selection").
#[derive(Clone, Debug)]
pub struct PathSelector {
    length: usize,
    relays: Vec<Candidate>,
    guards: Choices,
    middles: Choices,
    exits: Choices,
}

/// What a path must be like beyond what holds for all.
#[expect(missing_debug_implementations, reason = "functions have no text")]
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    /// Relays in it, from one.
    pub length: usize,
    /// Which relays may be its exit, apart from being exits at all.
    pub exit: &'a dyn Fn(u32) -> bool,
    /// Which relays may be in it.
    pub relay: &'a dyn Fn(u32) -> bool,
}

/// How the relay of a position is weighed: by the first of these that leaves one.
#[derive(Clone, Debug)]
struct Choices(Vec<WeightedRelays>);

impl Choices {
    /// By bandwidth weights; where these leave nothing, as in small networks that need their only
    /// exit as an exit, by the relays' own weights; where no relay has one, all alike.
    fn lenient(relays: &[Candidate], weights: &BandwidthWeights, position: Position) -> Self {
        let wanted = match position {
            Position::Guard => Flags::GUARD,
            Position::Middle => Flags::NONE,
            Position::Exit => Flags::EXIT,
        };
        let fits = |relay: &Candidate| u128::from(relay.flags.contains(wanted));
        let choices = [
            WeightedRelays::at(relays, weights, position),
            WeightedRelays::of(relays, |relay| fits(relay) * u128::from(relay.weight)),
            WeightedRelays::of(relays, fits),
        ];
        Self(choices.into_iter().flatten().collect())
    }

    /// A relay that is `allowed`, by weight; none if no relay is.
    fn draw(&self, stream: &mut Stream, allowed: impl Fn(u32) -> bool) -> Option<u32> {
        let mut choices = self.0.iter();
        choices.find_map(|relays| relays.draw(stream, &allowed))
    }
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
        let relays: Vec<Candidate> = population.relays.iter().map(Candidate::from).collect();
        let relays_at = |position| {
            let found = WeightedRelays::at(&relays, &population.weights, position);
            let found = found.ok_or(PopulationError::NoRelay { position })?;
            Ok(Choices(vec![found]))
        };
        Ok(Self {
            length,
            guards: relays_at(Position::Guard)?,
            middles: relays_at(Position::Middle)?,
            exits: relays_at(Position::Exit)?,
            relays,
        })
    }

    /// A selector over the relays of a real network, however small it is: where bandwidth weights
    /// leave nothing, the relays' own weights decide. What is beyond weights and kinship, such as
    /// exit policies, is a [`Wish`].
    pub fn lenient(relays: Vec<Candidate>) -> Self {
        let shares = relays.iter().map(|relay| (relay.flags, relay.weight));
        let weights = BandwidthWeights::balancing(&shares);
        let relays_at = |position| Choices::lenient(&relays, &weights, position);
        Self {
            length: SHORTEST,
            guards: relays_at(Position::Guard),
            middles: relays_at(Position::Middle),
            exits: relays_at(Position::Exit),
            relays,
        }
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

    /// A path that is as wished, from guard to exit; none if the constraints leave no path, as far
    /// as can be seen.
    pub fn draw_wished(&self, wish: &Wish<'_>, stream: &mut Stream) -> Option<Vec<u32>> {
        self.draw_path(wish, stream, |exit, stream| {
            let fits = |relay| (wish.relay)(relay) && self.may_meet(relay, exit);
            self.guards.draw(stream, fits)
        })
    }

    /// A path whose guard is what `enter` chooses for an exit.
    fn draw_entered_by(
        &self,
        stream: &mut Stream,
        enter: impl Fn(u32, &mut Stream) -> Option<u32>,
    ) -> Option<Vec<u32>> {
        let any = Wish {
            length: self.length,
            exit: &|_| true,
            relay: &|_| true,
        };
        self.draw_path(&any, stream, enter)
    }

    fn draw_path(
        &self,
        wish: &Wish<'_>,
        stream: &mut Stream,
        enter: impl Fn(u32, &mut Stream) -> Option<u32>,
    ) -> Option<Vec<u32>> {
        (0..ATTEMPTS).find_map(|_| {
            let fits = |relay| (wish.relay)(relay) && (wish.exit)(relay);
            let exit = self.exits.draw(stream, fits)?;
            let mut path = Vec::with_capacity(wish.length);
            if wish.length > 1 {
                path.push(enter(exit, stream)?);
            }
            while path.len() + 1 < wish.length {
                let fits = |relay| {
                    (wish.relay)(relay)
                        && self.may_meet(relay, exit)
                        && path.iter().all(|&o| self.may_meet(relay, o))
                };
                path.push(self.middles.draw(stream, fits)?);
            }
            path.push(exit);
            Some(path)
        })
    }

    /// Whether a path may have all these relays: they differ, and no two are kin.
    pub fn allows(&self, path: &[u32]) -> bool {
        let pairs = path.iter().enumerate();
        let mut pairs =
            pairs.flat_map(|(place, one)| path[..place].iter().map(|other| (*one, *other)));
        pairs.all(|(one, other)| self.may_meet(one, other))
    }

    /// Whether a path may have both relays.
    fn may_meet(&self, one: u32, other: u32) -> bool {
        one != other && !self.relays[one as usize].is_kin_of(&self.relays[other as usize])
    }
}

#[cfg(test)]
mod tests;
