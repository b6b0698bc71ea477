//! Control on hops: how fast a node may forward each circuit to its successor.
//!
//! A control is one file here and one line in `registry.rs`.

mod credit;
mod delay_window;
mod load_report;
mod mark_report;
mod none;
mod rates;
mod readings;
mod wait_report;

use hopflow_overlay::{Condition, Features, HopSignal, Violation};

pub(crate) use credit::Credit;
pub(crate) use delay_window::DelayWindow;
pub(crate) use load_report::LoadReport;
pub(crate) use mark_report::MarkReport;
pub(crate) use none::NoHopControl;
pub(crate) use rates::PredictedRates;
pub(crate) use wait_report::WaitReport;

/// What controls need that report the state of hops to the source.
const REPORTS_NEED: &[Condition] = &[
    (
        Features::HOP_REPAIR,
        "Marut's loads travel with the forward feedback of datagrams, which hops repair.",
    ),
    (
        Features::LOAD_READER,
        "Hops report to the source, which must have a control that reads this.",
    ),
];

/// Answers a signal that a control has no use for: one that sends no messages gets none.
#[inline]
fn ignore(signal: HopSignal<'_>) -> Result<(), Violation> {
    match signal {
        HopSignal::Message(..) => Err(Violation::Unexpected),
        _ => Ok(()),
    }
}
