//! What was in the files that a scenario names.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopflow_paths::{CircuitFile, Population};
use hopflow_results::Fingerprint;

use super::replay::Recording;
use super::topology::Graph;
use super::traffic::TrafficModels;

/// The content of the files that a scenario names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    pub(super) circuits: Option<Arc<CircuitFile>>,
    /// The relays of the circuit file, in its order, or of the table.
    pub(super) relays: Option<Arc<Population>>,
    pub(super) graph: Option<Arc<Graph>>,
    /// Recorded page loads, by the names of their files.
    pub(super) recordings: BTreeMap<String, Arc<Recording>>,
    pub(super) traffic: TrafficModels,
    /// Identifies what was in the files.
    digest: String,
}

impl Loaded {
    /// Identifies what was in the files; empty without files.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The recorded page loads of the file of this name.
    pub(super) fn recording(&self, name: &str) -> Option<Arc<Recording>> {
        self.recordings.get(name).cloned()
    }

    pub(super) fn note(&mut self, bytes: &[u8]) {
        let digest = match str::from_utf8(bytes) {
            Ok(text) => Fingerprint::of(&[&self.digest, text]),
            Err(_) => {
                let of_bytes = Fingerprint::of_bytes(bytes).to_string();
                Fingerprint::of(&[&self.digest, "bytes", &of_bytes])
            }
        };
        self.digest = digest.to_string();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(files: &[&[u8]]) -> String {
        let mut loaded = Loaded::default();
        for file in files {
            loaded.note(file);
        }
        loaded.digest
    }

    #[test]
    fn files_that_differ_in_bytes_that_are_no_text_have_different_digests() {
        assert_ne!(digest(&[b"a\xFF"]), digest(&[b"a\xFE"]));
        assert_ne!(digest(&[b"a\xFF", b"b"]), digest(&[b"b", b"a\xFF"]));
        let text = Fingerprint::of(&["", "text"]).to_string();
        assert_eq!(digest(&[b"text"]), text);
    }
}
