//! Reports: one HTML page and its plots, from result files.
//!
//! A [`Document`] is what a report says; [`write()`] turns it into a page that opens without a
//! network and into SVG files for papers. [`from_results`] reads a result folder and compares the
//! transports in it; [`figure_page`] sets reproduced values beside a paper's; anything else is
//! built from the model's plain types.
//!
//! ```no_run
//! # fn main() -> Result<(), hopflow_report::Error> {
//! let dir = std::path::Path::new("results/star");
//! let report = hopflow_report::write(&hopflow_report::from_results(dir)?, dir)?;
//! println!("{}", report.page.display());
//! # Ok(())
//! # }
//! ```
//! Files `DIR/sections/*.json` hold sections that other programs add to the page of a folder, in
//! the form of [`Document::from_json`]: [`write()`] puts them before the section about the origin,
//! in the order of the files' names.
//!
//! The crate reads and writes files and knows nothing of simulation.

mod atlas;
mod chart;
mod compare;
mod error;
mod figures;
mod image;
mod json;
mod model;
mod page;
mod scale;
mod scatter;
mod sections;
mod style;
mod text;
mod write;

pub use atlas::{Atlas, AtlasEntry, AtlasFound, VerdictCounts};
pub use compare::{
    Better, Compared, Comparison, Difference, Dimension, Ends, Entry, Finding, Kind, Quantity,
    Shown, comparison, from_results, measures, quantities,
};
pub use error::Error;
pub use figures::{FigurePage, curves, page as figure_page, value_table};
pub use hopflow_stats::{Mean, Percent};
pub use image::Image;
pub use model::{
    Along, Axis, Bar, Bars, Block, Cell, Chart, Choice, Choices, Code, Column, Document, Fact, Map,
    MapColumn, Mark, Point, Reference, Route, RouteStyle, Section, Series, Stop, Table,
};
pub use scatter::{Filter, Measure, Scatter, Spot};
pub use text::significant;
pub use write::{Written, write};
