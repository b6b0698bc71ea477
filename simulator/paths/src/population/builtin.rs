//! The built-in population: made-up relays that are distributed as real ones were.

use hopflow_random::{CdfTable, Stream};
use hopflow_units::Rate;

use super::apportion::apportion;
use super::{Flags, Population, PopulationError, PopulationRelay};
use crate::{Continent, Relay};

/// A class of relays of the built-in population.
struct Kind {
    flags: Flags,
    /// How many of the relays below are of this class.
    count: usize,
    /// Bandwidth in bytes per second and the share of relays that have at most this much.
    bandwidth: [(f64, f64); 7],
}

/// The relays of the circuits that the BackTap paper (NSDI 2016) simulated, which come from the
/// consensus of 2015-08-04: 85 relays occur in the file for 100 relays.
///
/// Counts, quartiles and upper deciles are those of relays that occur first (20), last (14) and only in the
/// middle (51); none occurs both first and last. The point before the last is the fastest relay
/// of its class, at its middle rank; the last one is the fastest of the same class in both files,
/// of 50 and of 100 relays.
const KINDS: [Kind; 3] = [
    Kind {
        flags: Flags::GUARD,
        count: 20,
        bandwidth: [
            (2_097_152.0, 0.0),
            (3_308_552.0, 0.25),
            (5_122_231.0, 0.5),
            (7_339_138.0, 0.75),
            (12_136_154.0, 0.9),
            (12_507_690.0, 0.975),
            (22_020_096.0, 1.0),
        ],
    },
    Kind {
        flags: Flags::EXIT,
        count: 14,
        bandwidth: [
            (102_400.0, 0.0),
            (896_000.0, 0.25),
            (3_534_614.0, 0.5),
            (7_433_874.0, 0.75),
            (11_421_866.0, 0.9),
            (13_317_217.0, 0.964),
            (18_645_621.0, 1.0),
        ],
    },
    Kind {
        flags: Flags::NONE,
        count: 51,
        bandwidth: [
            (102_400.0, 0.0),
            (204_800.0, 0.25),
            (512_000.0, 0.5),
            (1_048_576.0, 0.75),
            (1_945_600.0, 0.9),
            (10_240_000.0, 0.99),
            (10_240_000.0, 1.0),
        ],
    },
];

/// Shares of continents: 68 % Europe as the BackTap paper's authors drew them, and 93 % Europe
/// and North America together (BackTap paper, section 4). How the last 7 % are split is an
/// assumption.
const CONTINENTS: [(Continent, f64); 6] = [
    (Continent::Europe, 0.68),
    (Continent::NorthAmerica, 0.25),
    (Continent::Asia, 0.04),
    (Continent::SouthAmerica, 0.015),
    (Continent::Oceania, 0.01),
    (Continent::Africa, 0.005),
];

/// Consensus weights end here: what Tor clients believed of a relay that was not measured, 10 MB/s
/// (path-spec), and what the published circuits show (`docs/paths.md`).
const WEIGHT_CAP: u64 = 10_000_000;

/// The fewest relays that can form a path of three.
const LEAST: usize = 3;

impl Population {
    /// A population of `relays` made-up relays, guards first, then exits, then others.
    ///
    /// Bandwidth, flags and continents are distributed as in the network of 2015-08-04. The
    /// bandwidths of a class are one draw from each of as many equal slices of its distribution
    /// as it has relays, so that small populations are no matter of luck. All relays are fast and
    /// stable; there are no families, and networks are not known.
    ///
    /// # Errors
    /// If there are fewer than three relays.
    pub fn builtin(relays: usize, stream: &mut Stream) -> Result<Self, PopulationError> {
        if !(LEAST..=u32::MAX as usize).contains(&relays) {
            return Err(PopulationError::Size {
                relays,
                least: LEAST,
                most: u32::MAX as usize,
            });
        }
        let counts = apportion(relays, &KINDS.map(|kind| kind.count));
        let mut made = Vec::with_capacity(relays);
        for (kind, count) in KINDS.iter().zip(counts) {
            let table = log_table(&kind.bandwidth);
            for slice in 0..count {
                let probability = (slice as f64 + stream.unit()) / count as f64;
                let bytes = libm::exp(table.inverse(probability)).round() as u64;
                made.push(PopulationRelay {
                    relay: Relay {
                        name: format!("relay-{}", made.len()),
                        continent: Continent::draw(stream),
                        bandwidth: Rate::from_bytes_per_sec(bytes.max(1)).expect("not zero"),
                    },
                    flags: kind.flags | Flags::FAST | Flags::STABLE,
                    weight: bytes.min(WEIGHT_CAP),
                    family: None,
                    network: None,
                });
            }
        }
        Ok(Self::new(made))
    }
}

/// The distribution of the logarithm of a bandwidth, linear between the points.
fn log_table(points: &[(f64, f64)]) -> CdfTable {
    let logarithms = points.iter().map(|&(rate, share)| (libm::log(rate), share));
    CdfTable::new(logarithms.collect()).expect("the built-in tables are distributions")
}

impl Continent {
    /// A continent for a relay of which nobody knows where it stands, drawn as for the built-in
    /// population.
    pub fn draw(stream: &mut Stream) -> Self {
        let mut left = stream.unit();
        for (continent, share) in CONTINENTS {
            if left < share {
                return continent;
            }
            left -= share;
        }
        // Rounding may leave a little at the end.
        CONTINENTS[0].0
    }
}
