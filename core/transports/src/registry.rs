//! Which layers and presets there are.

use hopflow_overlay::{
    ConfigError, EndControl, Factory, GatesChoose, HopControl, Info, NoEndControl,
};
use hopflow_wire::Payload;
use toml::Table;

use crate::choice::LayerChoice;
use crate::ends::{
    EndTcp, FixedWindows, GradientWindow, MarkedShareWindow, VegasControl, WorstHopWindow,
};
use crate::entry::{EndEntry, PathEntry};
use crate::guests::{self, NameTaken};
use crate::hops::{
    Credit, DelayWindow, Joint, LoadReport, MarkReport, NoHopControl, PredictedRates, WaitReport,
};
use crate::layer::LayerOptions;
use crate::link::SCHEDULER_KEYS;
use crate::paths::Switching;
use crate::presets::{PRESETS, Preset};
use crate::read::{Reader, unknown};
use crate::stack::{Chosen, HopEntry, HopLayer, settle_links};

/// Lists the controls on hops: for nodes of any payload, and whatever cells hold, which does not
/// compile nodes.
macro_rules! own_hops {
    ($($control:ty,)*) => {
        const OWN_HOPS: &[HopLayer] = &[$(HopLayer::of::<$control>()),*];

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
    Joint,
}

fn hops<P: Payload>() -> Vec<HopEntry<P>> {
    distinct(own_hops().chain(guests::hops()), |entry| {
        entry.layer.info.name
    })
}

/// The controls from end to end: one line for each.
fn own_ends() -> Vec<EndEntry> {
    vec![
        EndEntry::plain::<NoEndControl>(),
        EndEntry::of::<FixedWindows>(),
        EndEntry::of::<VegasControl>(),
        EndEntry::of::<EndTcp>(),
        EndEntry::of::<WorstHopWindow>(),
        EndEntry::of::<GradientWindow>(),
        EndEntry::of::<MarkedShareWindow>(),
    ]
}

/// The controls from end to end.
pub(crate) fn ends() -> Vec<EndEntry> {
    let mut ends = own_ends();
    ends.extend(guests::ends());
    ends
}

/// The choices among circuits: one line for each.
pub(crate) fn paths() -> Vec<PathEntry> {
    vec![
        PathEntry::plain::<GatesChoose>(),
        PathEntry::of::<Switching>(),
    ]
}

/// The controls on hops, whatever cells hold.
pub(crate) fn hop_layers() -> Vec<HopLayer> {
    let own = OWN_HOPS.iter().copied();
    distinct(own.chain(guests::hop_layers()), |layer| layer.info.name)
}

/// What the controls on hops say of themselves.
pub fn hop_controls() -> Vec<Info> {
    hop_layers().into_iter().map(|layer| layer.info).collect()
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

/// Without repetitions: a control that is registered for several payloads is one layer.
fn distinct<T>(all: impl Iterator<Item = T>, name: impl Fn(&T) -> &'static str) -> Vec<T> {
    let mut known: Vec<T> = Vec::new();
    for one in all {
        if known.iter().all(|other| name(other) != name(&one)) {
            known.push(one);
        }
    }
    known
}

/// Lets the option `hop-control` name a control on hops, for nodes whose cells hold `P`.
///
/// # Errors
/// If another control on hops has its name.
pub fn register_hop<H: HopControl<Config: LayerOptions>, P: Payload>() -> Result<(), NameTaken> {
    guests::add_hop(HopEntry::<P>::of::<H>(), OWN_HOPS)
}

/// Lets the option `end-to-end` name a control from end to end.
///
/// # Errors
/// If another control from end to end has its name.
pub fn register_end<E: EndControl + LayerOptions>() -> Result<(), NameTaken> {
    guests::add_end(EndEntry::of::<E>(), &own_ends())
}

/// Lets scenarios name a preset.
///
/// # Errors
/// If another preset has its name.
pub fn register_preset(preset: &'static Preset) -> Result<(), NameTaken> {
    guests::add_preset(preset, PRESETS)
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
        let names = presets.iter().map(|known| known.name);
        let problem = format!("\"{preset}\" is {}", unknown(preset, names));
        return Err(ConfigError::new("preset", "", problem));
    };
    let hops = hops::<P>();
    let layers: Vec<_> = hops.iter().map(|entry| entry.layer).collect();
    let (hop, chosen) = choose(found, options, &layers)?;
    (hops[hop].build)(chosen)
}

/// Reads which layers a transport has; the control on hops is one of `hops`, by its place.
pub(crate) fn choose(
    preset: &Preset,
    options: &Table,
    hops: &[HopLayer],
) -> Result<(usize, Chosen), ConfigError> {
    let (family, ends, paths) = (preset.family, ends(), paths());
    let mut reader = Reader::new([preset.options_under(options), options.clone()]);
    let mut choice: LayerChoice = reader.read()?;
    let hop = place(
        "hop-control",
        choice.hop_control.get_or_insert(family.hop.to_owned()),
        hops.iter().map(|layer| layer.info.name),
    )?;
    let end = ends[place(
        "end-to-end",
        choice.end_to_end.get_or_insert(family.end.to_owned()),
        ends.iter().map(|entry| (entry.info)().name),
    )?];
    let path = paths[place(
        "path",
        choice.path.get_or_insert(family.path.to_owned()),
        paths.iter().map(|entry| (entry.info)().name),
    )?];
    let (carrier, connections, repairs) = settle_links(&mut choice, family, (end.info)());
    reader.note(&choice);
    let chosen = Chosen {
        family,
        reader,
        carrier,
        connections,
        repairs,
        end,
        path,
    };
    Ok((hop, chosen))
}

/// The place of the layer that an option names.
fn place(
    key: &str,
    name: &str,
    names: impl Iterator<Item = &'static str>,
) -> Result<usize, ConfigError> {
    let names: Vec<_> = names.collect();
    let place = names.iter().position(|known| *known == name);
    place.ok_or_else(|| ConfigError::new(key, format!("\"{name}\""), names.join(", ")))
}

impl Preset {
    /// The options that the preset sets.
    pub(crate) fn own_options(&self) -> Table {
        let options = self.options.parse();
        options.expect("the presets' options are TOML, as tests check")
    }

    /// The options that the preset sets, where a user sets `given`: what belongs to the preset's own
    /// scheduler is left out if the user chooses another one.
    fn options_under(&self, given: &Table) -> Table {
        let mut own = self.own_options();
        if given
            .get("scheduler")
            .is_some_and(|one| own.get("scheduler") != Some(one))
        {
            own.retain(|key, _| !SCHEDULER_KEYS.contains(&key));
        }
        own
    }
}

#[cfg(test)]
mod tests;
