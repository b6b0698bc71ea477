//! Layers and presets of other crates.
//!
//! A crate that has a control of its own registers it when its program starts: a control on hops for
//! every kind of payload that it will build nodes for, a control from end to end once for all. From
//! then on options may name it, and [`presets`](crate::presets) and [`build`](crate::build) know what
//! was registered. A name means one thing: another control or preset of that name is refused, the
//! same one again changes nothing.

use std::any::Any;
use std::fmt;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use hopflow_wire::Payload;

use crate::entry::EndEntry;
use crate::presets::Preset;
use crate::stack::{HopEntry, HopLayer};

/// What was registered.
struct Guests {
    /// Of any payload: a [`HopEntry`] each, found again by its type.
    hops: Vec<(HopLayer, Box<dyn Any + Send + Sync>)>,
    ends: Vec<EndEntry>,
    presets: Vec<&'static Preset>,
}

static GUESTS: RwLock<Guests> = RwLock::new(Guests {
    hops: Vec::new(),
    ends: Vec::new(),
    presets: Vec::new(),
});

/// A name that was to be registered means something else already.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameTaken {
    /// What the two are.
    kind: &'static str,
    name: &'static str,
    known: &'static str,
    new: &'static str,
}

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            name,
            known,
            new,
        } = self;
        write!(
            f,
            "two {kind} are named \"{name}\": first {known}, then {new}; allowed is a name that no \
             other has"
        )
    }
}

impl std::error::Error for NameTaken {}

/// Adds a control on hops, where these are known besides.
pub(crate) fn add_hop<P: Payload>(entry: HopEntry<P>, own: &[HopLayer]) -> Result<(), NameTaken> {
    let HopLayer { info, made_by, .. } = entry.layer;
    change(|guests| {
        let mut layers = own.iter().chain(guests.hops.iter().map(|(layer, _)| layer));
        let known = layers.find(|known| known.info.name == info.name);
        let known = known.map(|known| (known.made_by)());
        is_same("controls on hops", info.name, known, made_by())?;
        let again = guests
            .hops
            .iter()
            .any(|(layer, known)| layer.info.name == info.name && known.is::<HopEntry<P>>());
        if !again {
            guests.hops.push((entry.layer, Box::new(entry)));
        }
        Ok(())
    })
}

/// Adds a control from end to end, where these are known besides.
pub(crate) fn add_end(entry: EndEntry, own: &[EndEntry]) -> Result<(), NameTaken> {
    let name = (entry.info)().name;
    change(|guests| {
        let mut known = own.iter().chain(&guests.ends);
        let known = known.find(|known| (known.info)().name == name);
        let known = known.map(|known| (known.made_by)());
        if !is_same("controls from end to end", name, known, (entry.made_by)())? {
            guests.ends.push(entry);
        }
        Ok(())
    })
}

/// Adds a preset, where these are known besides.
pub(crate) fn add_preset(preset: &'static Preset, own: &[Preset]) -> Result<(), NameTaken> {
    change(|guests| {
        let mut presets = guests.presets.iter();
        if presets.any(|known| std::ptr::eq(*known, preset)) {
            return Ok(());
        }
        let mut known = own.iter().chain(guests.presets.iter().copied());
        if let Some(known) = known.find(|known| known.name == preset.name) {
            return Err(NameTaken {
                kind: "presets",
                name: preset.name,
                known: known.about,
                new: preset.about,
            });
        }
        guests.presets.push(preset);
        Ok(())
    })
}

/// Whether a control of this name is known; it is an error if another type than `new` is it.
fn is_same(
    kind: &'static str,
    name: &'static str,
    known: Option<&'static str>,
    new: &'static str,
) -> Result<bool, NameTaken> {
    match known {
        None => Ok(false),
        Some(known) if known == new => Ok(true),
        Some(known) => Err(NameTaken {
            kind,
            name,
            known,
            new,
        }),
    }
}

/// Controls on hops for nodes whose cells hold `P`.
pub(crate) fn hops<P: Payload>() -> Vec<HopEntry<P>> {
    let guests = look();
    let entries = guests.hops.iter();
    let entries = entries.filter_map(|(_, entry)| entry.downcast_ref::<HopEntry<P>>());
    entries.copied().collect()
}

/// Controls on hops, whatever their cells hold.
pub(crate) fn hop_layers() -> Vec<HopLayer> {
    look().hops.iter().map(|(layer, _)| *layer).collect()
}

pub(crate) fn ends() -> Vec<EndEntry> {
    look().ends.clone()
}

pub(crate) fn presets() -> Vec<&'static Preset> {
    look().presets.clone()
}

fn look() -> RwLockReadGuard<'static, Guests> {
    GUESTS.read().unwrap_or_else(PoisonError::into_inner)
}

fn change(how: impl FnOnce(&mut Guests) -> Result<(), NameTaken>) -> Result<(), NameTaken> {
    how(&mut GUESTS.write().unwrap_or_else(PoisonError::into_inner))
}
