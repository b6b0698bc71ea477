//! The design space of transports, swept over one scenario.
//!
//! "How (not) to Build a Transport Layer for Anonymity Overlays" (ACM SIGMETRICS Performance
//! Evaluation Review 40(4), 2013, section 3) describes transports of overlays as points in a space
//! with few axes. The values of the [`Axes`] are the layers that are registered; a [`Sweep`] runs
//! the points of their cross product whose layers fit together by what they declare, and a
//! [`Picture`] shows what each trades for what. For points that are not run it says why.

mod axes;
mod front;
mod measure;
mod metric;
mod picture;
mod plan;
mod stack;

use std::collections::BTreeMap;

use hopflow_results::Folder;
use hopflow_sim::spec::WorldSpec;

pub use axes::{Axes, Chosen, NAMES, Point, TITLES};
pub use metric::{Better, Metric};
pub use picture::{FILE, Interval, Picture, Shown, Skipped};
pub use plan::{FRONT, Setting, Sweep};

use crate::run::{Error, Finished};
use measure::Run;

/// The built-in scenario that is swept when none is named.
pub const SCENARIO: &str = "design-space";

impl Sweep {
    /// Measures finished runs, and writes the picture into their folder.
    ///
    /// # Errors
    /// If the runs cannot be read or the picture not be written.
    pub fn evaluate(&self, finished: &Finished) -> Result<Picture, Error> {
        let folder = Folder::open(&finished.folder);
        let mut worlds: BTreeMap<u64, WorldSpec> = BTreeMap::new();
        // By label: for each metric what each network gave.
        let mut measured: BTreeMap<&str, Vec<Vec<Option<f64>>>> = BTreeMap::new();
        for entry in &finished.runs {
            let seed = entry.key.seed;
            let world = worlds
                .entry(seed)
                .or_insert_with(|| self.scenario.sample(seed));
            let run = Run::read(&folder, entry)?;
            let of_point = measured.entry(&entry.key.transport);
            let of_point = of_point.or_insert_with(|| vec![Vec::new(); Metric::ALL.len()]);
            for (values, metric) in of_point.iter_mut().zip(Metric::ALL) {
                values.push(run.measure(metric, world));
            }
        }
        let values: Vec<_> = self
            .points
            .iter()
            .map(|(point, _)| measured.remove(point.label().as_str()).unwrap_or_default())
            .collect();
        let picture = Picture::new(self, &values, finished.results);
        picture.write(&folder)?;
        Ok(picture)
    }
}

#[cfg(test)]
mod tests;
