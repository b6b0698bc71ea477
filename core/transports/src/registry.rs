//! Which transports there are.

use std::marker::PhantomData;

use hopflow_overlay::{ConfigError, Factory, Host, Node, NodeEnv, Plan, Transport};
use hopflow_wire::Payload;
use toml::Table;

use crate::options::{Configure, Options, unknown_name};
use crate::scheduling;

/// A named point of the design space: a transport and some of its options.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name in scenarios.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Options as TOML; those of a scenario override them.
    pub options: &'static str,
}

macro_rules! transports {
    ($($transport:ty),* $(,)?) => {
        /// All presets, transport by transport.
        pub fn presets() -> Vec<&'static Preset> {
            let transports: &[&'static [Preset]] =
                &[$(<<$transport as Transport>::Config as Configure>::PRESETS),*];
            transports.iter().copied().flatten().collect()
        }

        /// Makes a factory of nodes from a preset and options that override the preset's.
        ///
        /// # Errors
        /// If the preset or an option is unknown, or a value cannot be used.
        pub fn build<P: Payload>(
            preset: &str,
            options: &Table,
        ) -> Result<Box<dyn Factory<P>>, ConfigError> {
            $(if let Some(found) = find::<$transport>(preset) {
                let configured = Configured::<$transport>::new(found.with(options))?;
                return Ok(Box::new(configured));
            })*
            let names: Vec<_> = presets().iter().map(|preset| preset.name).collect();
            let problem = format!("\"{preset}\" is {}", unknown_name(preset, &names));
            Err(ConfigError::new("preset", "", problem))
        }
    };
}

// The registry: one line for each transport.
transports! {
    crate::vanilla::Vanilla,
    crate::backtap::BackTap,
    crate::n23::N23,
    crate::marut::Marut,
    crate::marut_timely::MarutTimely,
    crate::marut_dctcp::MarutDctcp,
    crate::predictor::Predictor,
    crate::udp_or::UdpOr,
    crate::switching::Switching<crate::VanillaConfig>,
    crate::switching::Switching<crate::BackTapConfig>,
}

fn find<T: Transport<Config: Configure>>(name: &str) -> Option<&'static Preset> {
    T::Config::PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    fn with(&self, options: &Table) -> Options {
        let own: Table = self
            .options
            .parse()
            .expect("the presets' options are TOML, as tests check");
        Options::new([&own, options])
    }
}

/// A transport with its configuration and scheduler: a factory of nodes.
#[derive(Debug)]
pub struct Configured<T: Transport> {
    config: T::Config,
    plan: Plan,
    resolved: Vec<(&'static str, String)>,
    transport: PhantomData<fn() -> T>,
}

impl<T: Transport<Config: Configure>> Configured<T> {
    /// Reads the transport's configuration.
    ///
    /// # Errors
    /// If an option is unknown or its value cannot be used.
    pub fn new(mut options: Options) -> Result<Self, ConfigError> {
        let config = T::Config::configure(&mut options)?;
        let plan = scheduling::configure(&mut options, T::plan(&config))?;
        Ok(Self {
            config,
            plan,
            resolved: options.finish()?,
            transport: PhantomData,
        })
    }
}

impl<T: Transport, P: Payload> Factory<P> for Configured<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn plan(&self) -> Plan {
        self.plan.clone()
    }

    fn describe(&self) -> String {
        let lines = self
            .resolved
            .iter()
            .map(|(key, value)| format!("{key} = {value}"));
        lines.collect::<Vec<_>>().join(
            "
",
        )
    }

    fn node(&self, env: &NodeEnv) -> Box<dyn Host<P>> {
        let plan = self.plan.clone();
        Box::new(Node::<T, P>::with_plan(&self.config, plan, env))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_wire::RawPayload;

    #[test]
    fn every_preset_can_be_built() {
        for preset in presets() {
            let factory = build::<RawPayload>(preset.name, &Table::new()).unwrap();
            assert!(!factory.describe().is_empty());
        }
    }

    #[test]
    fn a_misspelt_preset_is_told_which_may_be_meant() {
        let error = build::<RawPayload>("baktap", &Table::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("\"baktap\" is unknown; did you mean `backtap`?"),
            "{error}"
        );
    }
}
