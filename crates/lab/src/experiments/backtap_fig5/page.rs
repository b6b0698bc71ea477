//! The page.
use super::plan::Plan;
use hopflow_report::Document;
use hopflow_results::Value;
pub(super) fn document(_: &Plan, _: &[Value]) -> Document {
    Document::default()
}
