//! Which points of the design space a sweep runs, and which not.

use std::path::{Path, PathBuf};

use hopflow_results::Fingerprint;

use super::axes::{Axes, Chosen, Point};
use super::metric::Metric;
use super::stack::{self, Base};
use crate::run::{Campaign, Error, text_with_circuits};
use crate::scenario::{Choice, InputError, Scenario, Seeds};

/// The metrics that span the front when none are named.
pub const FRONT: [Metric; 2] = [Metric::Goodput, Metric::Latency];

/// How a sweep is made.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Values of the axes; by default all.
    pub chosen: Chosen,
    /// Names of the metrics that span the front; by default [`FRONT`].
    pub front: Vec<String>,
    /// Number of networks; by default as the scenario says.
    pub seeds: Option<u32>,
    /// File of circuits in place of the scenario's.
    pub circuits: Option<PathBuf>,
    /// Time between refills of token buckets, for all points; by default each transport's own.
    pub refill: Option<String>,
}

/// A sweep that is about to be made.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The scenario with the points as its transports.
    pub(super) scenario: Scenario,
    /// The scenario's text, with the circuit file of the setting.
    pub(super) text: String,
    /// The scenario's file or built-in name.
    file: String,
    pub(super) axes: Axes,
    pub(super) front: Vec<Metric>,
    pub(super) points: Vec<(Point, Choice)>,
    pub(super) skipped: Vec<(Point, &'static str)>,
}

impl Sweep {
    /// Plans the points of a scenario, given by its file or built-in name.
    ///
    /// # Errors
    /// If the scenario cannot be read, a value or metric is unknown, or no point can be run.
    pub fn plan(scenario: &str, setting: &Setting) -> Result<Self, InputError> {
        let axes = Axes::choose(&setting.chosen)?;
        let front = front_metrics(&setting.front)?;
        let file = scenario.to_owned();
        let (mut scenario, text) = load(&file, setting.circuits.as_deref())?;
        let (mut points, mut skipped) = (Vec::new(), Vec::new());
        let bases = Base::all();
        for point in axes.points() {
            match stack::choice(&point, &bases) {
                Ok(choice) => points.push((point, choice)),
                Err(reason) => skipped.push((point, reason)),
            }
        }
        if points.is_empty() {
            let (point, reason) = skipped.swap_remove(0);
            let label = point.label();
            let problem = format!("none of the chosen points can be run; {label}: {reason}");
            return Err(InputError::new(problem));
        }
        if let Some(refill) = &setting.refill {
            refill_alike(&mut points, refill)?;
            scenario.name = format!("{}-refill-{}", scenario.name, refill.replace(' ', ""));
            let about = scenario.about.trim_end();
            scenario.about = format!("{about} All buckets are refilled every {refill}.");
        }
        let labelled = |(point, choice): &(Point, Choice)| (point.label(), choice.clone());
        scenario.branch = None;
        scenario.transports = points.iter().map(labelled).collect();
        // Results of sweeps are told apart from runs of the scenario's own transports.
        scenario.name = format!("sweep-{}", scenario.name);
        if let Some(seeds) = setting.seeds {
            scenario.seeds = Seeds::Count(seeds);
        }
        Ok(Self {
            scenario,
            text,
            file,
            axes,
            front,
            points,
            skipped,
        })
    }

    /// The points that are run, in order, with their transports.
    pub fn points(&self) -> &[(Point, Choice)] {
        &self.points
    }

    /// The points that are not run, and why.
    pub fn skipped(&self) -> &[(Point, &'static str)] {
        &self.skipped
    }

    /// The names of the values that are swept, by axis.
    pub fn values(&self) -> [Vec<&'static str>; 5] {
        self.axes.names()
    }

    /// What the scenario shows.
    pub fn about(&self) -> &str {
        &self.scenario.about
    }

    /// The folder below `parent` that holds sweeps of this scenario, whichever points and seeds,
    /// and nothing else: a wider sweep makes only what a narrower one left out.
    pub fn default_folder(&self, parent: &Path) -> PathBuf {
        let hash = Fingerprint::of(&[&self.text, self.scenario.loaded.digest()]).to_string();
        parent.join(format!("{}-{}", self.scenario.name, &hash[..8]))
    }

    /// The runs of all points; `build` identifies the program beyond its version.
    ///
    /// # Errors
    /// If the scenario cannot be run.
    pub fn campaign(&self, build: &str) -> Result<Campaign, Error> {
        let mut campaign = Campaign::new(self.scenario.clone(), &self.text, build)?;
        campaign.set_file(&self.file);
        Ok(campaign)
    }
}

/// The scenario of this file or built-in name with circuits from a file, if one is given, and its text.
fn load(file: &str, circuits: Option<&Path>) -> Result<(Scenario, String), InputError> {
    let (scenario, text) = Scenario::load_with(file, circuits)?;
    let text = match circuits {
        Some(_) => text_with_circuits(&text, file, &scenario)?,
        None => text,
    };
    Ok((scenario, text))
}

/// Gives all points the same refills.
fn refill_alike(points: &mut [(Point, Choice)], refill: &str) -> Result<(), InputError> {
    for (point, choice) in points {
        choice.options.insert("refill".to_owned(), refill.into());
        let label = point.label();
        let preset = choice.preset.as_deref().unwrap_or(&label);
        hopflow_simulated_hosts::build(preset, &choice.options)
            .map_err(|error| InputError::at("--refill", error.to_string()))?;
    }
    Ok(())
}

/// The metrics of these names, two or more different ones.
fn front_metrics(names: &[String]) -> Result<Vec<Metric>, InputError> {
    if names.is_empty() {
        return Ok(FRONT.to_vec());
    }
    let mut metrics = Vec::new();
    for name in names {
        let metric = Metric::find(name)?;
        if metrics.contains(&metric) {
            let problem = format!("\"{name}\" is listed twice; allowed is once");
            return Err(InputError::at("--front", problem));
        }
        metrics.push(metric);
    }
    if metrics.len() < 2 {
        let all = Metric::ALL.map(Metric::name).join(", ");
        let problem = format!(
            "only \"{}\"; allowed are two or more of {all}",
            names.join(",")
        );
        return Err(InputError::at("--front", problem));
    }
    Ok(metrics)
}
