//! Layers and presets of other crates.
//!
//! A crate that has a control of its own registers it once, when its program starts: a control on
//! hops for every kind of payload that it will build nodes for, a control from end to end once for
//! all. From then on options may name it, and [`presets`](crate::presets) and
//! [`build`](crate::build) know what was registered. A name that is there already stays what it is.

use std::any::Any;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use hopflow_overlay::{EndControl, HopControl};
use hopflow_wire::Payload;

use crate::entry::EndEntry;
use crate::layer::LayerOptions;
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

/// Lets the option `hop-control` name a control on hops, for nodes whose cells hold `P`.
pub fn register_hop<H: HopControl<Config: LayerOptions>, P: Payload>() {
    let entry = HopEntry::<P>::of::<H>();
    change(|guests| guests.hops.push((entry.layer, Box::new(entry))));
}

/// Lets the option `end-to-end` name a control from end to end.
pub fn register_end<E: EndControl + LayerOptions>() {
    change(|guests| guests.ends.push(EndEntry::of::<E>()));
}

/// Lets scenarios name a preset.
pub fn register_preset(preset: &'static Preset) {
    change(|guests| guests.presets.push(preset));
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

fn change(how: impl FnOnce(&mut Guests)) {
    how(&mut GUESTS.write().unwrap_or_else(PoisonError::into_inner));
}
