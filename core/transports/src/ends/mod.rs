//! Control from end to end: how much data a circuit's source may have under way.
//!
//! The sink returns SENDME cells; the source's gate before its queue opens with them. A control is
//! one file here, and a line each in this file, `registry.rs` and `presets.rs`.

mod circuit_ack;
mod gradient;
mod marked_share;
mod shared;
mod source;
mod tcp;
mod vegas;
mod window;
mod worst_hop;

pub(crate) use gradient::GradientWindow;
pub(crate) use marked_share::MarkedShareWindow;
pub(crate) use tcp::EndTcp;
pub(crate) use vegas::VegasControl;
pub(crate) use window::FixedWindows;
pub(crate) use worst_hop::WorstHopWindow;
