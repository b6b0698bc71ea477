//! What the tests share.

use hopflow_onion::OnionPayload;
use hopflow_overlay::Factory;
use hopflow_units::Duration;
use toml::Table;

/// The presets that engines take.
pub(crate) fn real() -> impl Iterator<Item = &'static str> {
    let names = hopflow_transports::presets().into_iter();
    let names = names.map(|preset| preset.name);
    names.filter(|name| hopflow_real_hosts::build(name, &Table::new()).is_ok())
}

pub(crate) fn transport(name: &str) -> Box<dyn Factory<OnionPayload>> {
    configured(name, "")
}

/// A transport with options.
pub(crate) fn configured(name: &str, options: &str) -> Box<dyn Factory<OnionPayload>> {
    let options = options.parse().expect("it is TOML");
    hopflow_real_hosts::build(name, &options).expect("the registry knows name and options")
}

/// Bytes that show when some are missing, repeated or out of order.
pub(crate) fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|place| (place / 7) as u8 ^ seed).collect()
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }

    pub(crate) fn millis(&mut self, end: usize) -> Duration {
        Duration::from_millis(self.below(end) as u64)
    }
}
