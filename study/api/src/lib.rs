//! What hopflow does, as a library.
//!
//! A [`Runner`] makes runs: those of a scenario ([`run`]), of the design space ([`sweep`]) and of a
//! paper's figure or table ([`reproduce`], or [`reproduce_all`] with an [`atlas()`] of them). Each writes its report, and none prints: how far the
//! work is goes to a [`Monitor`](hopflow_lab::run::Monitor). [`write_report`] writes the report of
//! any result folder anew.

mod atlas;
mod caller;
mod describe;
mod divide;
mod explain;
mod failure;
mod list;
mod options;
mod order;
mod report;
mod reproduce;
mod reproduce_all;
mod run;
mod runner;
mod single;
mod summary;
mod sweep;
#[cfg(feature = "testbed")]
pub mod testbed;
#[cfg(not(feature = "testbed"))]
#[path = "without_testbed.rs"]
mod testbed;

pub use atlas::atlas;
pub use caller::Caller;
pub use describe::{describe, dictionary_json};
pub use divide::{Lacking, MadeRun, lacking, make_lacking, simulated};
pub use explain::{
    Choice, Explained, ExplainedDownload, ExplainedPart, ExplainedTransport, explain,
    needs_scenario,
};
pub use failure::{Failure, Kind};
pub use hopflow_reproductions::judge;
pub use list::{Entries, experiments, scenarios, transports, validate};
pub use options::{options_json, options_toml};
pub use order::{Order, Source};
pub use report::write_report;
pub use reproduce::{Reproduced, reproduce};
pub use reproduce_all::{AllReproduced, reproduce_all};
pub use run::{Evaluated, check_presets, load_to_compare, run};
pub use runner::{RESULTS, Runner};
pub use single::{Made, Runs, Single, keys, run_each};
pub use summary::{comparison_json, summary};
pub use sweep::{Swept, plan, sweep};
