//! Whether layers fit together, by what they say of themselves.

use std::fmt;

use hopflow_overlay::{ConfigError, Features, Info};

/// The options that choose the layers, in the order of
/// [`Stack::infos`](hopflow_overlay::Stack::infos).
pub const LAYER_KEYS: [&str; 7] = [
    "carrier",
    "connections",
    "scheduler",
    "repair",
    "hop-control",
    "end-to-end",
    "path",
];

/// A layer that does not fit the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// The option that chooses the layer.
    pub key: &'static str,
    /// The layer's name.
    pub layer: &'static str,
    /// Why it does not fit.
    pub reason: &'static str,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, layer, reason } = self;
        write!(
            f,
            "`{key}`: {layer} does not fit the other layers. {reason}"
        )
    }
}

impl Misfit {
    /// The error of the option that chooses the layer.
    pub(crate) fn error(&self) -> ConfigError {
        let Self { key, layer, reason } = self;
        let problem = format!("{layer} does not fit the other layers. {reason}");
        ConfigError::new(key, "", problem)
    }
}

const ONE_TICKS: &str = "The regular call of nodes and the messages between neighbours belong to \
                         one layer, and another layer of the transport uses them.";

/// Checks that each layer has what it needs of the others, and nothing that it cannot go with.
///
/// # Errors
/// The first layer that does not fit.
pub fn check(infos: &[Info; 7]) -> Result<(), Misfit> {
    let offered = offered(infos);
    let mut ticking = false;
    for (key, info) in LAYER_KEYS.into_iter().zip(infos) {
        let ticks = info.provides.any(Features::TICK);
        if ticks && ticking {
            return Err(misfit(key, info, ONE_TICKS));
        }
        ticking |= ticks;
        let banned = info.excludes.iter().find(|(set, _)| offered.any(*set));
        let lacking = info.requires.iter().find(|(set, _)| !offered.any(*set));
        if let Some((_, reason)) = banned.or(lacking) {
            return Err(misfit(key, info, reason));
        }
    }
    Ok(())
}

/// The first layer that adds nothing to a stack that works.
pub fn redundant(infos: &[Info; 7]) -> Option<Misfit> {
    let offered = offered(infos);
    LAYER_KEYS.into_iter().zip(infos).find_map(|(key, info)| {
        let mut conditions = info.redundant.iter();
        let (_, reason) = conditions.find(|(set, _)| offered.any(*set))?;
        Some(misfit(key, info, reason))
    })
}

fn offered(infos: &[Info; 7]) -> Features {
    let infos = infos.iter();
    infos.fold(Features::NONE, |all, info| all.or(info.provides))
}

const fn misfit(key: &'static str, info: &Info, reason: &'static str) -> Misfit {
    Misfit {
        key,
        layer: info.name,
        reason,
    }
}
