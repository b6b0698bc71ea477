//! Tables of relays: a population as a text file.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{BandwidthWeights, Flags, Population, PopulationRelay};
use crate::relay::number;
use crate::{PathsError, Relay};

/// What the line of the bandwidth weights begins with, as in consensus documents.
const WEIGHTS: &str = "bandwidth-weights ";

/// The columns, in the order in which a table has them.
const COLUMNS: &str = "fingerprint,continent,bandwidth,weight,flags,family,network";

/// The flags by their names in consensus documents.
const FLAGS: [(&str, Flags); 4] = [
    ("Exit", Flags::EXIT),
    ("Fast", Flags::FAST),
    ("Guard", Flags::GUARD),
    ("Stable", Flags::STABLE),
];

impl Population {
    /// The population as a table: the bandwidth weights, the names of the columns, and a line for
    /// each relay.
    ///
    /// Bandwidths are in bytes per second, flags are separated by blanks, a network is the first
    /// half of an IPv4 address; families and networks that are not known are empty.
    pub fn to_table(&self) -> String {
        let mut weights = self.weights;
        let weights = named(&mut weights).map(|(name, weight)| format!("{name}={weight}"));
        let mut table = format!("{WEIGHTS}{}\n{COLUMNS}\n", weights.join(" "));
        for relay in &self.relays {
            let flags = FLAGS.iter().filter(|(_, flag)| relay.flags.contains(*flag));
            let flags: Vec<_> = flags.map(|(name, _)| *name).collect();
            let family = relay
                .family
                .map_or(String::new(), |family| family.to_string());
            let network = relay.network.map_or(String::new(), |network| {
                let [first, second] = network.to_be_bytes();
                format!("{first}.{second}")
            });
            writeln!(
                table,
                "{},{},{},{},{},{family},{network}",
                relay.relay.name,
                relay.relay.continent,
                relay.relay.bandwidth.bytes_per_sec(),
                relay.weight,
                flags.join(" "),
            )
            .expect("text grows");
        }
        table
    }

    /// The population of a table of relays; errors call it `file`.
    ///
    /// The names of relays are fingerprints. If the line of the bandwidth weights is missing, they
    /// are computed from the relays; otherwise it has all eight.
    ///
    /// # Errors
    /// If the text is not such a table.
    pub fn from_table(text: &str, file: &str) -> Result<Self, PathsError> {
        let mut lines = text.lines().enumerate().peekable();
        let weights = lines.next_if(|(_, line)| line.starts_with(WEIGHTS));
        let weights = weights
            .map(|(_, line)| parse_weights(&line[WEIGHTS.len()..]))
            .transpose()
            .map_err(|reason| PathsError::at_line(file, 1, reason))?;
        if lines.next().is_none_or(|(_, line)| line != COLUMNS) {
            return Err(PathsError::content(
                file,
                format!(
                    "is not a table of relays; expected are the columns {COLUMNS}. Tables are made \
                     of Tor's consensus documents by hopflow-consensus (tools/consensus)"
                ),
            ));
        }
        let mut names = BTreeSet::new();
        let mut relays = Vec::new();
        for (index, line) in lines {
            let at_line = |reason: String| PathsError::at_line(file, index + 1, reason);
            let relay = parse_relay(line).map_err(at_line)?;
            if !names.insert(relay.relay.name.clone()) {
                let name = &relay.relay.name;
                return Err(at_line(format!(
                    "has relay {name} again; allowed is one line per relay"
                )));
            }
            relays.push(relay);
        }
        let mut population = Self::new(relays);
        if let Some(weights) = weights {
            population.weights = weights;
        }
        Ok(population)
    }
}

/// The weights, by their names in consensus documents.
fn named(weights: &mut BandwidthWeights) -> [(&'static str, &mut u32); 8] {
    [
        ("Wed", &mut weights.wed),
        ("Wee", &mut weights.wee),
        ("Wgd", &mut weights.wgd),
        ("Wgg", &mut weights.wgg),
        ("Wmd", &mut weights.wmd),
        ("Wme", &mut weights.wme),
        ("Wmg", &mut weights.wmg),
        ("Wmm", &mut weights.wmm),
    ]
}

/// The weights of their line, which has each of them once.
fn parse_weights(line: &str) -> Result<BandwidthWeights, String> {
    let mut weights = BandwidthWeights::EQUAL;
    let mut found = BTreeSet::new();
    for word in line.split(' ') {
        let given = word.split_once('=');
        let given = given.and_then(|(name, value)| Some((name, number::<u32>(value)?)));
        let mut known = named(&mut weights);
        let place = known
            .iter_mut()
            .find(|(name, _)| given.is_some_and(|(other, _)| other == *name));
        let (Some((name, place)), Some((_, value))) = (place, given) else {
            let allowed = known.map(|(name, _)| name).join(", ");
            return Err(format!(
                "has the bandwidth weight \"{word}\"; allowed are NAME=NUMBER with the names \
                 {allowed}"
            ));
        };
        **place = value;
        if !found.insert(*name) {
            return Err(format!(
                "has the bandwidth weight {name} again; allowed is each of them once"
            ));
        }
    }
    let names = named(&mut weights).map(|(name, _)| name);
    match names.iter().find(|name| !found.contains(*name)) {
        None => Ok(weights),
        Some(name) => Err(format!(
            "lacks the bandwidth weight {name}; allowed is a line with all of {}, or no such line",
            names.join(", ")
        )),
    }
}

/// The relay of a line; the error is the reason why it is none.
fn parse_relay(line: &str) -> Result<PopulationRelay, String> {
    let fields: Vec<&str> = line.split(',').collect();
    let &[
        fingerprint,
        continent,
        bandwidth,
        weight,
        flags,
        family,
        network,
    ] = fields.as_slice()
    else {
        return Err(format!(
            "has {} fields; expected are {COLUMNS}",
            fields.len()
        ));
    };
    Ok(PopulationRelay {
        relay: Relay::parse(fingerprint, continent, bandwidth)?,
        flags: parse_flags(flags)?,
        weight: number(weight).ok_or_else(|| {
            format!("has the weight \"{weight}\"; allowed are whole numbers from 0 on")
        })?,
        family: optional(family, parse_family)?,
        network: optional(network, parse_network)?,
    })
}

fn parse_flags(names: &str) -> Result<Flags, String> {
    let mut flags = Flags::NONE;
    for name in names.split(' ').filter(|name| !name.is_empty()) {
        let Some((_, flag)) = FLAGS.iter().find(|(known, _)| *known == name) else {
            let allowed = FLAGS.map(|(name, _)| name).join(", ");
            return Err(format!("has the flag \"{name}\"; allowed are {allowed}"));
        };
        flags = flags | *flag;
    }
    Ok(flags)
}

fn parse_family(family: &str) -> Result<u32, String> {
    let allowed = "allowed are whole numbers, or nothing";
    number(family).ok_or_else(|| format!("has the family \"{family}\"; {allowed}"))
}

fn parse_network(network: &str) -> Result<u16, String> {
    let halves = network.split_once('.');
    let bytes = halves.and_then(|(first, second)| Some([number(first)?, number(second)?]));
    bytes.map(u16::from_be_bytes).ok_or_else(|| {
        format!(
            "has the network \"{network}\"; allowed is the first half of an IPv4 address, such as \
             192.0, or nothing"
        )
    })
}

/// The value of a field that may be empty.
fn optional<T>(
    field: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    if field.is_empty() {
        return Ok(None);
    }
    parse(field).map(Some)
}

#[cfg(test)]
mod tests;
