//! Experiments: figures and tables of papers, made again and compared.
//!
//! An [`Experiment`] either sweeps a scenario and measures its runs ([`Sweep`]), or needs no
//! simulation ([`Computation`]). What the paper reports, and the band within which a value counts
//! as reproduced, stand in a data file in `experiments`, which is fixed before the runs are made.

pub mod backtap_fig5;
mod claims;
mod computation;
mod description;
mod experiment;
mod fig3;
mod guidelines;
mod joint;
mod judge;
mod measured;
mod observed;
mod predictor;
mod python;
mod registry;
mod reproduction;
mod study;
mod switching;
mod theorem1;

pub use computation::{Computation, Computed};
pub use description::{Description, Expectations, Precision, Swept};
pub use experiment::{Experiment, Method, Part, Sweep};
pub use judge::judge;
pub use measured::Measured;
pub use observed::Curve;
pub use python::{InPython, in_python};
pub use registry::{experiments, find};
pub use reproduction::{Reproduction, Setting};
