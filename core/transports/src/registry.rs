//! Which layers and presets there are.

use hopflow_overlay::{ConfigError, Factory, GatesChoose, HopControl, Info, NoEndControl};
use hopflow_wire::Payload;
use toml::Table;

use crate::ends::{
    EndTcp, FixedWindows, GradientWindow, MarkedShareWindow, VegasControl, WorstHopWindow,
};
use crate::guests;
use crate::hops::{
    Credit, DelayWindow, LoadReport, MarkReport, NoHopControl, PredictedRates, WaitReport,
};
use crate::layer::{EndEntry, PathEntry};
use crate::options::{Options, unknown_name};
use crate::paths::Switching;
use crate::presets::{PRESETS, Preset};
use crate::stack::{self, Chosen, HopEntry};

/// Lists the controls on hops: for nodes of any payload, and by what they say of themselves, which
/// does not compile their nodes.
macro_rules! own_hops {
    ($($control:ty,)*) => {
        const OWN_HOPS: &[Info] = &[$(<$control>::INFO),*];

        fn own_hops<P: Payload>() -> impl Iterator<Item = HopEntry<P>> {
            [$(HopEntry::of::<$control>()),*].into_iter()
        }
    };
}

// The controls on hops: one line for each.
own_hops! {
    NoHopControl,
    Credit,
    DelayWindow,
    LoadReport,
    WaitReport,
    MarkReport,
    PredictedRates,
}

fn hops<P: Payload>() -> Vec<HopEntry<P>> {
    own_hops().chain(guests::hops()).collect()
}

/// The controls from end to end: one line for each.
fn ends() -> Vec<EndEntry> {
    let own = [
        EndEntry::of::<NoEndControl>(),
        EndEntry::of::<FixedWindows>(),
        EndEntry::of::<VegasControl>(),
        EndEntry::of::<EndTcp>(),
        EndEntry::of::<WorstHopWindow>(),
        EndEntry::of::<GradientWindow>(),
        EndEntry::of::<MarkedShareWindow>(),
    ];
    own.into_iter().chain(guests::ends()).collect()
}

/// The choices among circuits: one line for each.
fn paths() -> Vec<PathEntry> {
    vec![PathEntry::of::<GatesChoose>(), PathEntry::of::<Switching>()]
}

/// What the controls on hops say of themselves.
pub fn hop_controls() -> Vec<Info> {
    let own = OWN_HOPS.iter().copied();
    own.chain(guests::hop_infos()).collect()
}

/// What the controls from end to end say of themselves.
pub fn end_controls() -> Vec<Info> {
    ends().into_iter().map(|entry| *(entry.info)()).collect()
}

/// What the choices among circuits say of themselves.
pub fn path_choices() -> Vec<Info> {
    paths().into_iter().map(|entry| *(entry.info)()).collect()
}

/// All presets, transport by transport.
pub fn presets() -> Vec<&'static Preset> {
    PRESETS.iter().chain(guests::presets()).collect()
}

/// Makes a factory of nodes from a preset and options that override the preset's.
///
/// # Errors
/// If the preset or an option is unknown, a value cannot be used, or the layers do not fit together.
pub fn build<P: Payload>(
    preset: &str,
    options: &Table,
) -> Result<Box<dyn Factory<P>>, ConfigError> {
    let presets = presets();
    let Some(found) = presets.iter().find(|known| known.name == preset) else {
        let names: Vec<_> = presets.iter().map(|known| known.name).collect();
        let problem = format!("\"{preset}\" is {}", unknown_name(preset, &names));
        return Err(ConfigError::new("preset", "", problem));
    };
    let mut options = found.with(options);
    let family = found.family;
    let hop = choose(
        "hop-control",
        family.hop,
        &mut options,
        &hops::<P>(),
        |it| it.info.name,
    )?;
    let end = choose("end-to-end", family.end, &mut options, &ends(), |it| {
        (it.info)().name
    })?;
    let path = choose("path", family.path, &mut options, &paths(), |it| {
        (it.info)().name
    })?;
    let (carrier, connections) = stack::carrier(&mut options, family)?;
    let repairs = stack::repairs(&mut options, carrier, (end.info)())?;
    (hop.build)(Chosen {
        family,
        options,
        carrier,
        connections,
        repairs,
        end,
        path,
    })
}

/// Reads which of the registered `entries` an option names.
fn choose<T: Copy>(
    key: &'static str,
    default: &str,
    options: &mut Options,
    entries: &[T],
    name: impl Fn(&T) -> &'static str,
) -> Result<T, ConfigError> {
    let names = entries.iter().enumerate();
    let names: Vec<_> = names.map(|(place, entry)| (name(entry), place)).collect();
    let unknown = || ConfigError::new(key, default, "the name of a layer that is registered");
    let own = names.iter().find(|(name, _)| *name == default);
    let (_, own) = own.ok_or_else(unknown)?;
    let place = options.choice(key, *own, &names)?;
    Ok(entries[place])
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

#[cfg(test)]
mod tests;
