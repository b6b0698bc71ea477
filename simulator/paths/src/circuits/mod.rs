//! Published circuit files: relays and paths that others chose.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::{PathsError, Relay};

/// The bytes that a gzip file begins with (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The most bytes that a compressed file may hold: some five million circuits.
const LARGEST: u64 = 1 << 30;
/// The fewest relays of a path: with one there would be no hop.
const SHORTEST_PATH: usize = 2;

/// Relays and the paths of circuits over them, as published with papers.
///
/// A line of the file is a circuit: its number and, each after a tab, its relays in the order
/// from entry to exit, two or more. A relay is a fingerprint of 40 hexadecimal digits, the code
/// of a continent and its bandwidth in bytes per second, separated by blanks. Empty lines are
/// skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CircuitFile {
    /// The relays that occur, in the order of their first occurrence.
    ///
    /// Where a relay occurs with two continents, the first counts: in published files, some do.
    pub relays: Vec<Relay>,
    /// The paths in the order of the file, from entry to exit, as indices into `relays`.
    pub paths: Vec<Vec<u32>>,
}

impl CircuitFile {
    /// Reads the file `path`, plain or compressed by gzip.
    ///
    /// # Errors
    /// If the file cannot be read or is not a circuit file.
    pub fn read(path: &Path) -> Result<Self, PathsError> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| PathsError::read(&name, source))?;
        Self::parse(&bytes, &name)
    }

    /// Takes the circuits from the bytes of a file, plain or compressed by gzip; errors call the
    /// file `name`.
    ///
    /// # Errors
    /// If the bytes are not a circuit file, or a compressed one holds more than 1 GiB.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, PathsError> {
        let bytes =
            decompressed(bytes, LARGEST).map_err(|source| PathsError::read(name, source))?;
        let mut builder = Builder::default();
        for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            std::str::from_utf8(line)
                .map_err(|_| "is not text in UTF-8".to_owned())
                .and_then(|line| builder.add_line(line.trim_end_matches('\r')))
                .map_err(|reason| PathsError::at_line(name, index + 1, reason))?;
        }
        if builder.file.paths.is_empty() {
            return Err(PathsError::content(
                name,
                "holds no circuit; expected is a circuit per line: its number and its relays, \
                 separated by tabs",
            ));
        }
        Ok(builder.file)
    }
}

/// The content of a file that may be compressed, and then holds at most so many bytes: gzip packs a
/// thousand times as many into one.
fn decompressed(bytes: &[u8], largest: u64) -> io::Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut content = Vec::new();
    let read = MultiGzDecoder::new(bytes)
        .take(largest.saturating_add(1))
        .read_to_end(&mut content)?;
    if read as u64 > largest {
        let reason = format!("it holds more than {largest} bytes; allowed are up to {largest}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(Cow::Owned(content))
}

/// A circuit file that is being read.
#[derive(Default)]
struct Builder {
    file: CircuitFile,
    /// Where in `file.relays` a fingerprint stands.
    indices: BTreeMap<String, u32>,
}

impl Builder {
    /// Adds the circuit of `line`; the error is the reason why it is none.
    fn add_line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() {
            return Ok(());
        }
        let mut fields = line.split('\t');
        let number = fields.next().unwrap_or_default();
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!(
                "field 1, the circuit's number, is \"{number}\"; allowed is a whole number, and \
                 tabs separate the fields"
            ));
        }
        let path = fields
            .enumerate()
            .map(|(position, field)| {
                self.index_of(field)
                    .map_err(|reason| format!("field {}, a relay, {reason}", position + 2))
            })
            .collect::<Result<Vec<_>, _>>()?;
        if path.len() < SHORTEST_PATH {
            return Err(format!(
                "has a path of {} relays; allowed are {SHORTEST_PATH} or more, each after a tab",
                path.len()
            ));
        }
        if let Some(twice) = first_repeated(&path) {
            let name = &self.file.relays[twice as usize].name;
            return Err(format!(
                "has relay {name} twice; allowed are paths of different relays"
            ));
        }
        self.file.paths.push(path);
        Ok(())
    }

    /// The index of the relay that `field` describes, which is added if it is new.
    fn index_of(&mut self, field: &str) -> Result<u32, String> {
        let relay = parse_relay(field)?;
        let Some(&index) = self.indices.get(&relay.name) else {
            let index = u32::try_from(self.file.relays.len()).expect("a file of fewer relays");
            self.indices.insert(relay.name.clone(), index);
            self.file.relays.push(relay);
            return Ok(index);
        };
        let known = &self.file.relays[index as usize];
        if known.bandwidth != relay.bandwidth {
            return Err(format!(
                "gives {} a bandwidth of {} B/s after {} B/s on an earlier line; allowed is one \
                 bandwidth per relay",
                relay.name,
                relay.bandwidth.bytes_per_sec(),
                known.bandwidth.bytes_per_sec()
            ));
        }
        Ok(index)
    }
}

/// The relay that a field of a circuit file describes; the error is the reason why it is none.
fn parse_relay(field: &str) -> Result<Relay, String> {
    let parts: Vec<&str> = field.split(' ').collect();
    let &[fingerprint, continent, bandwidth] = parts.as_slice() else {
        return Err(format!(
            "is \"{field}\"; expected are fingerprint, continent and bandwidth, separated by blanks"
        ));
    };
    Relay::parse(fingerprint, continent, bandwidth)
}

/// The first element of `path` that occurred before.
fn first_repeated(path: &[u32]) -> Option<u32> {
    let repeated = |&(at, relay): &(usize, &u32)| path[..at].contains(relay);
    path.iter().enumerate().find(repeated).map(|(_, &r)| r)
}

#[cfg(test)]
mod tests;
