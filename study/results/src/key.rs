//! What identifies a run.

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;

/// What a run was made from; equal keys mean equal results.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    /// The label of the transport under test, unique within its scenario.
    pub transport: String,
    /// Number of the sampled network; transports share networks, which pairs their runs.
    pub network: u32,
    /// The seed of the run.
    pub seed: u64,
    /// Hash of everything that decides the result.
    pub content: Fingerprint,
}

impl RunKey {
    /// The key of a run with `seed` over sampled network `network`.
    ///
    /// `content` lists what else decides the result: the scenario, the transport's parameters, the
    /// version of hopflow. It is hashed together with transport, network and seed.
    pub fn new(transport: &str, network: u32, seed: u64, content: &[&str]) -> Self {
        let mut texts = vec![transport];
        let (network_text, seed_text) = (network.to_string(), seed.to_string());
        texts.extend([network_text.as_str(), seed_text.as_str()]);
        texts.extend(content);
        Self {
            transport: transport.to_owned(),
            network,
            seed,
            content: Fingerprint::of(&texts),
        }
    }

    /// The name of the run's folder: readable first, unique by its end.
    pub fn folder(&self) -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        };
        let transport: String = self.transport.chars().take(40).map(plain).collect();
        format!(
            "{transport}-n{}-s{}-{}",
            self.network, self.seed, self.content
        )
    }
}
