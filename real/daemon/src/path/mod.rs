//! Which relays a circuit takes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use hopflow_paths::{Candidate, Flags, PathSelector, Wish as Wanted};
use hopflow_random::{Stream, Streams};

use crate::directory::{Directory, Relay};

/// The relays of a path, from guard to exit, as indices into those of the directory.
pub type Path = Vec<usize>;

/// Chooses paths by bandwidth, as [`PathSelector`] does: all relays of a path are different, and no
/// two of them are of one family or in one network. Clients keep no guards: each path has a new
/// one.
#[derive(Clone, Debug)]
pub struct PathChooser {
    directory: Arc<Directory>,
    selector: PathSelector,
    draws: Draws,
}

/// Where the random numbers of paths come from.
#[derive(Clone, Debug)]
pub enum Draws {
    /// The system's cryptographic generator, which seeds a stream of numbers for each path: paths
    /// that somebody has seen tell nothing of others.
    Secret,
    /// One stream of numbers: the same paths again, for tests.
    Repeatable(Stream),
}

impl Draws {
    /// Numbers for a path; none if the system has none.
    fn for_path<T>(&mut self, draw: impl FnOnce(&mut Stream) -> Option<T>) -> Option<T> {
        match self {
            Self::Repeatable(stream) => draw(stream),
            Self::Secret => {
                let mut seed = [0; 8];
                aws_lc_rs::rand::fill(&mut seed).ok()?;
                draw(&mut Streams::new(u64::from_ne_bytes(seed)).stream("path", 0))
            }
        }
    }
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
    /// Relays that are not taken.
    pub never: &'a [usize],
}

impl PathChooser {
    /// A chooser over the directory's relays.
    pub fn new(directory: Arc<Directory>, draws: Draws) -> Self {
        Self {
            selector: PathSelector::lenient(candidates(&directory.relays)),
            directory,
            draws,
        }
    }

    /// The directory that paths are chosen from.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// A path; none if there is none, as far as can be seen.
    pub fn choose(&mut self, wish: &Wish<'_>) -> Option<Path> {
        let may = |relay: u32| !wish.never.contains(&(relay as usize));
        let careful = self.draw(wish, &|relay| may(relay) && !(wish.avoid)(relay as usize));
        careful.or_else(|| self.draw(wish, &may))
    }

    /// A path of relays that are `allowed`.
    fn draw(&mut self, wish: &Wish<'_>, allowed: &dyn Fn(u32) -> bool) -> Option<Path> {
        let relays = &self.directory.relays;
        let wanted = Wanted {
            length: wish.length,
            exit: &|relay| (wish.exit)(&relays[relay as usize]),
            relay: allowed,
        };
        let selector = &self.selector;
        let path = self
            .draws
            .for_path(|stream| selector.draw_wished(&wanted, stream))?;
        Some(path.into_iter().map(|relay| relay as usize).collect())
    }
}

/// What path selection asks of the relays.
fn candidates(relays: &[Relay]) -> Vec<Candidate> {
    let mut families = BTreeMap::new();
    let mut number = |name| {
        let next = families.len() as u32;
        *families.entry(name).or_insert(next)
    };
    let candidate = |relay: &Relay| {
        let flag = |has, flag| if has { flag } else { Flags::NONE };
        Candidate {
            flags: Flags::FAST
                | flag(relay.guard, Flags::GUARD)
                | flag(relay.exit.is_some(), Flags::EXIT),
            weight: relay.weight,
            family: relay.family.clone().map(&mut number),
            network: network(relay.address.ip()),
            other_network: relay.other_address.and_then(|it| network(it.ip())),
        }
    };
    relays.iter().map(candidate).collect()
}

/// The network by which an address says who runs a relay: the upper 16 bits of an IPv4 address, the
/// upper 32 of an IPv6 address (path-spec, "Path selection and constraints").
///
/// Networks on one machine or behind one router, as tests have them, say nothing.
fn network(address: IpAddr) -> Option<u32> {
    match address.to_canonical() {
        IpAddr::V4(it) if it.is_loopback() || it.is_private() || it.is_link_local() => None,
        IpAddr::V4(it) => Some(it.to_bits() >> 16),
        IpAddr::V6(it) if it.is_loopback() || it.is_unique_local() => None,
        IpAddr::V6(it) if it.is_unicast_link_local() => None,
        IpAddr::V6(it) => Some((it.to_bits() >> 96) as u32),
    }
}

#[cfg(test)]
mod tests;
