//! The layers that transports are made of, and the presets that name transports.
//!
//! A transport is a choice at every layer ([`hopflow_overlay::Stack`]). A control on hops is one
//! file in `hops/` that implements [`HopControl`](hopflow_overlay::HopControl); a control from end to
//! end is one file in `ends/` that implements [`EndControl`](hopflow_overlay::EndControl). Its options
//! are a struct that implements [`LayerOptions`]. Each has one line in `registry.rs`, or is registered
//! by another crate ([`register_hop`], [`register_end`]).
//! [`presets`] lists what scenarios may name, [`build`] makes a factory of nodes from a preset and
//! options.

mod check;
mod choice;
mod ends;
mod entry;
mod guests;
mod hops;
mod layer;
mod link;
mod paths;
mod presets;
mod read;
mod registry;
mod round;
mod schema;
mod shown;
mod stack;
mod waiting;

pub use check::{LAYER_KEYS, Misfit, check, redundant};
pub use guests::NameTaken;
pub use layer::{Around, LayerOptions, NoOptions};
pub use presets::{Family, Preset};
pub use read::allowed_values;
pub use registry::{
    build, end_controls, hop_controls, path_choices, presets, register_end, register_hop,
    register_preset,
};
pub use round::BaseRtts;
pub use schema::{CHOOSING_KEYS, all_options, options_of};
