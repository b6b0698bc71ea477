//! Consensus documents, as tor-netdoc reads them.

use std::net::Ipv4Addr;

use hopflow_paths::{BandwidthWeights, Continent, Flags, Population, PopulationRelay, Relay};
use hopflow_random::Stream;
use hopflow_units::Rate;
use tor_netdoc::doc::netstatus::{MdConsensus, NetParams, PlainConsensus, RelayWeight};
use tor_netdoc::types::relay_flags::{RelayFlag, RelayFlags};

/// What comes after the version in the first line of a document that refers to microdescriptors.
const MICRODESC: &str = "microdesc";

/// What a document says of a relay, in either flavour.
struct Entry {
    name: String,
    address: Ipv4Addr,
    flags: Flags,
    /// In kilobytes per second.
    weight: u32,
}

/// The relays of a consensus document, plain or of the flavour `microdesc`; the error is the reason
/// why it is none.
///
/// Neither signatures nor dates are checked: old documents are what simulations want.
///
/// A relay's consensus weight in kilobytes per second is taken for its bandwidth, too. Bandwidth
/// weights are all equal if the document lacks some; if it has none, they are computed from the relays.
/// A consensus tells no continents, which are drawn as for the built-in population, and no families.
pub(crate) fn population(text: &str, stream: &mut Stream) -> Result<Population, String> {
    let text = without_annotations(text);
    let microdesc = text.lines().next().unwrap_or_default().ends_with(MICRODESC);
    let parsed = if microdesc {
        read_microdesc(text)
    } else {
        read_plain(text)
    };
    let (entries, weights) = parsed.map_err(|error| {
        format!(
            "is not a consensus document: {error}; allowed are network-status documents of version \
             3, plain or of the flavour {MICRODESC}"
        )
    })?;
    let relays = entries
        .into_iter()
        .map(|entry| relay(entry, stream))
        .collect();
    let mut population = Population::new(relays);
    if let Some(weights) = weights {
        population.weights = weights;
    }
    Ok(population)
}

/// The document behind the lines that archives put before it, such as `@type`.
fn without_annotations(mut text: &str) -> &str {
    while text.starts_with('@') {
        text = text.split_once('\n').map_or("", |(_, rest)| rest);
    }
    text
}

type Read = Result<(Vec<Entry>, Option<BandwidthWeights>), tor_netdoc::Error>;

/// Both flavours have the same fields, but types of their own.
macro_rules! entries_of {
    ($consensus:expr) => {{
        let consensus = $consensus;
        let entries = consensus.relays().iter().map(|relay| Entry {
            name: relay.rsa_identity().as_hex_upper(),
            address: relay.r.ip,
            flags: flags(*relay.flags()),
            weight: match *relay.weight() {
                RelayWeight::Measured(weight) | RelayWeight::Unmeasured(weight) => weight,
                _ => 0,
            },
        });
        Ok((entries.collect(), weights(consensus.bandwidth_weights())))
    }};
}

fn read_microdesc(text: &str) -> Read {
    let (_, _, unchecked) = MdConsensus::parse(text)?;
    entries_of!(&unchecked.dangerously_peek().consensus)
}

fn read_plain(text: &str) -> Read {
    let (_, _, unchecked) = PlainConsensus::parse(text)?;
    entries_of!(&unchecked.dangerously_peek().consensus)
}

fn flags(of: RelayFlags) -> Flags {
    let exit = of.contains(RelayFlag::Exit) && !of.contains(RelayFlag::BadExit);
    [
        (of.contains(RelayFlag::Guard), Flags::GUARD),
        (exit, Flags::EXIT),
        (of.contains(RelayFlag::Fast), Flags::FAST),
        (of.contains(RelayFlag::Stable), Flags::STABLE),
    ]
    .into_iter()
    .filter(|&(is_set, _)| is_set)
    .fold(Flags::NONE, |all, (_, flag)| all | flag)
}

/// The bandwidth weights of a document, if it has any.
fn weights(of: &NetParams<i32>) -> Option<BandwidthWeights> {
    of.iter().next()?;
    // Clients take all for one if a weight is missing or malformed (path-spec).
    Some(all_weights(of).unwrap_or(BandwidthWeights::EQUAL))
}

/// The weights of a document that has all of them.
fn all_weights(of: &NetParams<i32>) -> Option<BandwidthWeights> {
    let weight = |name: &str| of.get(name).and_then(|&w| u32::try_from(w).ok());
    Some(BandwidthWeights {
        wgg: weight("Wgg")?,
        wgd: weight("Wgd")?,
        wmg: weight("Wmg")?,
        wmm: weight("Wmm")?,
        wme: weight("Wme")?,
        wmd: weight("Wmd")?,
        wee: weight("Wee")?,
        wed: weight("Wed")?,
    })
}

fn relay(entry: Entry, stream: &mut Stream) -> PopulationRelay {
    let bandwidth = Rate::from_kilobytes_per_sec(u64::from(entry.weight.max(1)));
    let [first, second, ..] = entry.address.octets();
    PopulationRelay {
        relay: Relay {
            name: entry.name,
            continent: Continent::draw(stream),
            bandwidth,
        },
        flags: entry.flags,
        weight: u64::from(entry.weight) * 1_000,
        family: None,
        network: Some(u16::from_be_bytes([first, second])),
    }
}
