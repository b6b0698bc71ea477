//! Which transports there are.

use std::marker::PhantomData;

use hopflow_overlay::{ConfigError, Factory, Host, Node, NodeEnv, Plan, Transport};
use hopflow_wire::Payload;
use toml::Table;

use crate::options::{Configure, Options, unknown_name};
use crate::{BackTap, Vanilla};

/// A named point of the design space: a transport and some of its options.
#[derive(Debug)]
pub struct Preset {
    /// The name in scenarios.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    transport: &'static str,
    /// Options as TOML.
    options: &'static str,
}

/// One line per transport.
macro_rules! transports {
    ($($transport:ty),* $(,)?) => {
        fn configured<P: Payload>(
            transport: &str,
            options: Options,
        ) -> Result<Box<dyn Factory<P>>, ConfigError> {
            $(if transport == <$transport>::NAME {
                return Configured::<$transport>::new(options)
                    .map(|configured| Box::new(configured) as Box<dyn Factory<P>>);
            })*
            unreachable!("presets name transports of this list: {transport}")
        }
    };
}

transports! {
    Vanilla,
    BackTap,
}

const PRESETS: &[Preset] = &[
    Preset {
        name: "vanilla",
        about: "Tor as it was: shared TCP connections, circuit and stream windows with SENDMEs",
        transport: "vanilla",
        options: "",
    },
    Preset {
        name: "vanilla-circuit-window",
        about: "vanilla with the circuit window alone (1000 cells, 100 per SENDME)",
        transport: "vanilla",
        options: "stream-window = 0",
    },
    Preset {
        name: "vanilla-stream-window",
        about: "vanilla with the stream window alone (500 cells, 50 per SENDME)",
        transport: "vanilla",
        options: "circuit-window = 0",
    },
    Preset {
        name: "backtap",
        about: "BackTap: hop-by-hop backpressure with delay-based windows over datagrams",
        transport: "backtap",
        options: "",
    },
    Preset {
        name: "backtap-as-printed",
        about: "BackTap exactly as its paper prints it: one cell more or less per round trip",
        transport: "backtap",
        options: "startup = \"none\"\ngrow = \"always\"",
    },
];

/// All presets.
pub fn presets() -> &'static [Preset] {
    PRESETS
}

/// Makes a factory of nodes from a preset and options that override the preset's.
///
/// # Errors
/// If the preset or an option is unknown, or a value cannot be used.
pub fn build<P: Payload>(
    preset: &str,
    options: &Table,
) -> Result<Box<dyn Factory<P>>, ConfigError> {
    let Some(found) = PRESETS.iter().find(|other| other.name == preset) else {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        return Err(ConfigError::new("preset", "", {
            format!("\"{preset}\" is {}", unknown_name(preset, &names))
        }));
    };
    let base: Table = found
        .options
        .parse()
        .expect("the presets' options are TOML, as tests check");
    configured(found.transport, Options::new([&base, options]))
}

/// A transport with its configuration: a factory of nodes.
#[derive(Debug)]
pub struct Configured<T: Transport> {
    config: T::Config,
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
        Ok(Self {
            config,
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
        T::plan(&self.config)
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
        Box::new(Node::<T, P>::new(&self.config, env))
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
            assert_eq!(factory.name(), preset.transport);
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
