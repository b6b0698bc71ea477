//! Models of users that were learned from published traffic, for the simulator.
//!
//! [`LiveCircuits`] are circuits of the live Tor network by published counts. All others are learned:
//!
//! A [`Model`] draws [`Step`]s: page loads, or groups of files, each with the pause behind it.
//! [`Users`] play them in a simulation. Everything is a function of the random stream that a draw
//! is given, and the same bits on every machine.
//!
//! Models are fitted by the Python package `hopflow.traffic`, which writes them as files in the
//! format [safetensors]. Some are part of the program ([`Model::builtin`]):
//!
//! | kind | draws | built in |
//! | --- | --- | --- |
//! | `parametric` | independent lognormal sizes with a Pareto tail | yes |
//! | `copula` | features with their fitted marginals and rank correlations | yes |
//! | `generator` | features whose dependence comes from a neural net | yes |
//! | `empirical` | the published sessions themselves, with replacement | no: it is others' data |
//! | `markov` | circuits of the live Tor network as hidden Markov models describe them | no |
//!
//! # The file
//!
//! The metadata key `hopflow-traffic` holds JSON: `version` (1), `kind`, and `classes`, a table of
//! what is said about `web` and `bulk` users: `play`, `"page"` (a step is one download) or
//! `"files"` (each object is one), and `think`, the pauses in seconds of which each is as likely.
//! What else there is depends on the kind; the modules of the kinds say so. Floating-point tensors
//! are `F64`, but the weights of a generator are `F32`; whole numbers are `U64`.
//!
//! [safetensors]: https://github.com/huggingface/safetensors

mod error;
mod live;
mod model;
mod step;
mod tensors;
mod users;

pub use error::ModelError;
pub use live::LiveCircuits;
pub use model::Model;
pub use step::{Object, Step};
pub use users::{Server, Users};
