//! Reports: one HTML page and its plots, from result files.

mod chart;
mod error;
mod model;
mod page;
mod scale;
mod style;
mod text;
mod write;

pub use error::Error;
pub use model::{
    Along, Axis, Block, Cell, Chart, Code, Column, Document, Fact, Mark, Point, Reference, Section,
    Series, Table,
};
pub use write::{Written, write};
