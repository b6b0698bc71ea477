//! Control on hops: how fast a node may forward each circuit to its successor.
//!
//! A control is one file here, and a line each in this file, `registry.rs` and `presets.rs`.

mod credit;
mod delay_window;
mod joint;
mod load_report;
mod mark_report;
mod none;
mod rates;
mod readings;
mod shared;
mod wait_report;

pub(crate) use credit::Credit;
pub(crate) use delay_window::DelayWindow;
pub(crate) use joint::Joint;
pub(crate) use load_report::LoadReport;
pub(crate) use mark_report::MarkReport;
pub(crate) use none::NoHopControl;
pub(crate) use rates::PredictedRates;
pub(crate) use wait_report::WaitReport;
