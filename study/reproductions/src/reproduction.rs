//! Making an experiment again: what is planned, and how its values are judged.

use std::path::PathBuf;

use hopflow_lab::run::{Campaign, Error, Finished, text_with_circuits};
use hopflow_lab::scenario::{InputError, Scenario, Seeds};
use hopflow_report::{Document, FigurePage};
use hopflow_results::{Fingerprint, Folder, Manifest, Value, Verdict};
use hopflow_stats::Mean;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::claims;
use crate::description::{Curve as Expected, Precision};
use crate::judge::judge;
use crate::observed::{Curve, Observed, Series};
use crate::{Computation, Description, Expectations, Experiment, Measured, Method, Part, Sweep};

/// What the names of quantities end in that count the runs which have a value.
const MISSING: &str = ": runs with a value";
/// The least that networks are increased by if there are too few.
const STEP: u32 = 5;

/// How an experiment is made, where that is not its own choice.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The networks that are sampled; by default as many as the experiment says.
    pub seeds: Option<u32>,
    /// The circuit file; by default that which the experiment names.
    pub circuits: Option<PathBuf>,
}

impl Setting {
    /// What of it means something to an experiment: one that is computed, or whose scenario names no
    /// circuit file, takes none, and one of which no seed changes the values takes one seed.
    #[must_use]
    pub fn fitting(mut self, experiment: &dyn Experiment) -> Self {
        let computed = match experiment.method() {
            Method::Simulated(_) => None,
            Method::Computed(computation) => Some(computation.seeds()),
        };
        if computed.is_some() || circuits_of(experiment.scenario()).is_none() {
            self.circuits = None;
        }
        if computed == Some(1) {
            self.seeds = self.seeds.map(|seeds| seeds.min(1));
        }
        self
    }

    /// How results of an experiment were made, by their manifest; `None` if it records another text than
    /// the experiment has.
    pub fn recorded(experiment: &dyn Experiment, manifest: &Manifest) -> Option<Self> {
        let text = manifest.scenario_toml.as_str();
        let circuits = if text == experiment.scenario() {
            None
        } else {
            Some(other_circuits(experiment, text)?)
        };
        // Variants of which a number was asked for have the same seeds. If none was asked for, no variant
        // has more seeds than all together.
        let setting = Self {
            seeds: u32::try_from(manifest.seeds_of_runs().len()).ok(),
            circuits,
        };
        Some(setting.fitting(experiment))
    }

    /// Refuses what means nothing to an experiment that is computed, of itself from so many seeds.
    fn check_computed(&self, id: &str, own: u32) -> Result<(), InputError> {
        if let Some(circuits) = &self.circuits {
            let problem = format!(
                "\"{}\" has no effect: {id} is computed without circuits; allowed is to leave it out",
                circuits.display()
            );
            return Err(InputError::at("--circuits", problem));
        }
        match self.seeds {
            Some(seeds) if own == 1 && seeds > 1 => {
                let problem = format!("{seeds} have no effect: no seed changes {id}; allowed is 1");
                Err(InputError::at("--seeds", problem))
            }
            _ => Ok(()),
        }
    }
}

/// The circuit file that a scenario's text names.
fn circuits_of(text: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let source = table.get("network")?.get("source")?;
    Some(source.get("circuits")?.as_str()?.to_owned())
}

/// The circuit file that `text` names, if that is all in which it differs from the experiment's.
fn other_circuits(experiment: &dyn Experiment, text: &str) -> Option<PathBuf> {
    let file = circuits_of(text)?;
    let change = ("network.source.circuits".to_owned(), file.clone());
    let same = Scenario::with_values(experiment.scenario(), experiment.id(), &[change]).ok()?;
    (same == text).then(|| PathBuf::from(file))
}

/// An experiment that is about to be made again.
#[derive(Debug)]
pub struct Reproduction {
    experiment: &'static dyn Experiment,
    expectations: Expectations,
    plan: Plan,
    /// The networks that the user asked for, and those of the variant that has the most, if these are
    /// more.
    provisional: Option<(u32, u32)>,
}

/// Where the values of an experiment come from.
#[derive(Debug)]
enum Plan {
    Simulated {
        sweep: &'static dyn Sweep,
        /// The variants that are run, each with the number of its runs.
        parts: Vec<(Part, usize)>,
    },
    Computed {
        computation: &'static dyn Computation,
        seeds: Vec<u64>,
    },
}

impl Plan {
    /// The plan of a sweep with so many networks, and the scenarios of its variants.
    fn of_runs(
        sweep: &'static dyn Sweep,
        mut parts: Vec<Part>,
        networks: Option<u32>,
    ) -> (Self, Vec<Scenario>) {
        for part in &mut parts {
            if let Some(networks) = networks {
                part.scenario.seeds = part.scenario.seeds.resized(networks);
            }
        }
        let scenarios = parts.iter().map(|part| part.scenario.clone()).collect();
        let counted = |part: Part| {
            let Scenario {
                transports, seeds, ..
            } = &part.scenario;
            let runs = transports.len() * seeds.list().len();
            (part, runs)
        };
        let parts = parts.into_iter().map(counted).collect();
        (Self::Simulated { sweep, parts }, scenarios)
    }

    /// The networks of the variant that has the most of them.
    fn networks(&self) -> u32 {
        match self {
            Self::Simulated { parts, .. } => most_networks(parts.iter().map(|(part, _)| part)),
            Self::Computed { seeds, .. } => seeds.len() as u32,
        }
    }
}

/// The networks of the variant that has the most of them: each may have seeds of its own.
fn most_networks<'a>(parts: impl Iterator<Item = &'a Part>) -> u32 {
    let networks = parts.map(|part| part.scenario.seeds.list().len());
    networks.max().unwrap_or(0) as u32
}

impl Reproduction {
    /// Plans the runs of an experiment.
    ///
    /// # Errors
    /// If a file that the experiment needs is not there, the setting [does not fit](Setting::fitting),
    /// or a scenario cannot be run, which is a defect of the experiment.
    pub fn plan(
        experiment: &'static dyn Experiment,
        setting: &Setting,
        build: &str,
    ) -> Result<(Self, Campaign), Error> {
        let file = format!("{}.toml", experiment.id());
        let expectations = Expectations::parse(experiment.data(), &file)?;
        let (plan, campaign, own) = match experiment.method() {
            Method::Simulated(sweep) => {
                let circuits = setting.circuits.as_deref();
                let scenario = Scenario::parse_with(experiment.scenario(), &file, circuits)?;
                let text = match circuits {
                    Some(_) => text_with_circuits(experiment.scenario(), &file, &scenario)?,
                    None => experiment.scenario().to_owned(),
                };
                let parts = sweep.parts(&scenario, &expectations)?;
                let own = most_networks(parts.iter());
                let (plan, scenarios) = Plan::of_runs(sweep, parts, setting.seeds);
                let campaign = Campaign::sweep(experiment.id(), &text, scenarios, build)?;
                (plan, campaign, own)
            }
            Method::Computed(computation) => {
                let own = computation.seeds();
                setting.check_computed(experiment.id(), own)?;
                let seeds = Seeds::Count(setting.seeds.unwrap_or(own)).list();
                let text = experiment.scenario();
                let campaign = Campaign::without_runs(experiment.id(), text, &seeds);
                (Plan::Computed { computation, seeds }, campaign, own)
            }
        };
        let fewer = setting.seeds.filter(|seeds| *seeds < own);
        let reproduction = Self {
            experiment,
            expectations,
            plan,
            provisional: fewer.map(|seeds| (seeds, own)),
        };
        Ok((reproduction, campaign))
    }

    /// What the experiment shows and what it is compared with.
    pub fn description(&self) -> &Description {
        self.expectations.description()
    }

    /// What readers must know if a variant has fewer networks than the experiment says.
    pub fn provisional(&self) -> Option<String> {
        let (networks, own) = self.provisional?;
        Some(format!(
            "Provisional: {networks} of the {own} networks or seeds of this experiment were run."
        ))
    }

    /// The page of the values.
    pub fn page(&self, page: &FigurePage, values: &[Value]) -> Document {
        self.experiment.page(page, values)
    }

    /// Measures the finished runs, judges the values, and writes them to `values.csv`.
    ///
    /// # Errors
    /// If the runs cannot be read or the values not be written.
    pub fn evaluate(&self, finished: &Finished) -> Result<Vec<Value>, Error> {
        let folder = Folder::open(&finished.folder);
        let mut observed = self.observe(finished, &folder)?;
        self.summarise(&mut observed);
        let series = observed.series().iter();
        let mut values: Vec<Value> = series.filter_map(|series| self.value(series)).collect();
        values.extend(missing(&self.expectations, &observed));
        values.extend(claims::measure(&self.expectations, &observed));
        judge(&mut values);
        self.expectations.sort(&mut values);
        folder.write_values(&values)?;
        Ok(values)
    }

    /// How many networks would make the differences of claims and trends as precise as the
    /// experiment wants them, if more than there are. Only differences in percent count.
    pub fn networks_wanted(&self, values: &[Value]) -> Option<u32> {
        networks_for(self.description().precision?, self.plan.networks(), values)
    }

    /// The hash of the results, the same on every machine: of the runs, or of the computed values.
    pub fn fingerprint(&self, finished: &Finished, values: &[Value]) -> Fingerprint {
        if matches!(self.plan, Plan::Simulated { .. }) {
            return finished.results;
        }
        let measured = values.iter().filter(|value| !value.is_unmeasured_claim());
        let line = |value: &Value| {
            let bits = |number: f64| format!("{:016x}", number.to_bits());
            let (x, mean) = (value.x.map_or(String::new(), bits), bits(value.mean));
            [value.quantity.clone(), value.transport.clone(), x, mean]
        };
        let texts: Vec<String> = measured.flat_map(line).collect();
        Fingerprint::of(&texts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// All measured or computed values.
    fn observe(&self, finished: &Finished, folder: &Folder) -> Result<Observed, Error> {
        match &self.plan {
            Plan::Simulated { sweep, parts } => measure(*sweep, parts, finished, folder),
            Plan::Computed { computation, seeds } => {
                let mut observed = Observed::default();
                for value in computation.compute(&self.expectations, seeds) {
                    observed.add(&value.curve, value.seed, None, value.measured);
                }
                Ok(observed)
            }
        }
    }

    /// Adds what each curve of a network tells as a whole.
    fn summarise(&self, observed: &mut Observed) {
        let summary = |curve: &Curve<'_>| {
            let measured = self.experiment.summarise(curve)?;
            Some((curve.transport.to_owned(), curve.network, measured))
        };
        let curves = observed.curves();
        let summaries: Vec<_> = curves.iter().filter_map(summary).collect();
        for (transport, network, measured) in summaries {
            observed.add(&transport, network, None, measured);
        }
    }

    /// Whether values are computed and the same for every seed: an interval around them has no width.
    fn is_without_chance(&self) -> bool {
        match self.plan {
            Plan::Simulated { .. } => false,
            Plan::Computed { computation, .. } => computation.seeds() == 1,
        }
    }

    /// The mean over networks, beside the paper's value.
    fn value(&self, series: &Series) -> Option<Value> {
        let mean = Mean::of(&series.values())?;
        let mut curves = self.expectations.curves().iter();
        let expected = curves
            .find(|curve| curve.transport == series.transport && curve.quantity == series.quantity);
        let paper = expected.and_then(|curve| curve.at(series.x));
        let figure = expected.map_or(self.experiment.id(), |curve| curve.figure.as_str());
        let exact = (self.is_without_chance() && mean.n == 1).then_some(mean.mean);
        Some(Value {
            figure: figure.to_owned(),
            quantity: series.quantity.clone(),
            unit: series.unit.to_owned(),
            transport: series.transport.clone(),
            x: series.x,
            n: mean.n as u64,
            mean: mean.mean,
            ci_low: mean.low().or(exact),
            ci_high: mean.high().or(exact),
            paper: paper.map(|paper| paper.value),
            band_low: paper.map(|paper| paper.low),
            band_high: paper.map(|paper| paper.high),
            verdict: Verdict::NotJudged,
            wanted: None,
        })
    }
}

/// How many networks would make all differences in percent so precise, if more than there are.
///
/// A difference of which some networks tell nothing needs more than one that all tell of. One that a
/// single network tells of has no interval, and asks for some more.
fn networks_for(precision: Precision, networks: u32, values: &[Value]) -> Option<u32> {
    if networks >= precision.most {
        return None;
    }
    let needed = |value: &Value| match value.ci_low.zip(value.ci_high) {
        Some((low, high)) => {
            // The width falls with the square root of the number, of the same part of all networks.
            let ratio = (high - low) / 2.0 / precision.half_width;
            (ratio > 1.0).then(|| (f64::from(networks) * ratio.powi(2)).ceil() as u32)
        }
        None => (value.n == 1).then_some(networks + STEP),
    };
    let in_percent = values.iter().filter(|it| it.is_claim() && it.unit == "%");
    let most = in_percent.filter_map(needed).max()?;
    Some(most.max(networks + STEP).min(precision.most))
}

/// Whether a value counts the runs that have a value where the paper has one: it is none itself.
pub(crate) fn is_missing(value: &Value) -> bool {
    value.quantity.ends_with(MISSING)
}

/// What the paper has a value of, and no run: it must not pass because there is nothing to judge.
fn missing(expectations: &Expectations, observed: &Observed) -> Vec<Value> {
    let curves = expectations.curves().iter();
    let judged = curves.flat_map(|curve| curve.judged().into_iter().map(move |x| (curve, x)));
    let missed = judged.filter(|(curve, x)| !observed.has(&curve.transport, &curve.quantity, *x));
    let value = |(curve, x): (&Expected, Option<f64>)| Value {
        figure: curve.figure.clone(),
        quantity: format!("{}{MISSING}", curve.quantity),
        unit: String::new(),
        transport: curve.transport.clone(),
        x,
        n: observed.runs_of(&curve.transport),
        mean: 0.0,
        ci_low: Some(0.0),
        ci_high: Some(0.0),
        paper: None,
        band_low: Some(1.0),
        band_high: None,
        verdict: Verdict::NotJudged,
        wanted: None,
    };
    missed.map(value).collect()
}

/// Measures all runs, on all cores.
fn measure(
    sweep: &dyn Sweep,
    parts: &[(Part, usize)],
    finished: &Finished,
    folder: &Folder,
) -> Result<Observed, Error> {
    let counts = parts
        .iter()
        .map(|(part, count)| std::iter::repeat_n(part, *count));
    let runs: Vec<_> = counts.flatten().zip(&finished.runs).collect();
    let measured: Result<Vec<Vec<Measured>>, Error> = runs
        .par_iter()
        .map(|(part, run)| Ok(sweep.measure_network(part, run.key.seed, &folder.read_run(run)?)))
        .collect();
    let mut observed = Observed::default();
    for ((part, run), measured) in runs.into_iter().zip(measured?) {
        for measured in measured {
            observed.add(&run.key.transport, run.key.seed, part.x, measured);
        }
    }
    Ok(observed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_one_random_network_is_not_exact() {
        let interval = |experiment: &'static dyn Experiment| {
            let setting = Setting {
                seeds: Some(1),
                ..Setting::default()
            };
            let (reproduction, _) = Reproduction::plan(experiment, &setting, "").unwrap();
            let mut observed = Observed::default();
            observed.add("a", 1, None, Measured::new("rate", "", 5.0));
            let value = reproduction.value(&observed.series()[0]).unwrap();
            value.ci_low.zip(value.ci_high)
        };
        assert_eq!(interval(&crate::fig3::Fig3), Some((5.0, 5.0)));
        assert_eq!(interval(&crate::theorem1::Theorem1), None);
    }

    #[test]
    fn what_an_experiment_does_not_use_is_refused_or_left_out() {
        let plan = |seeds, circuits: Option<&str>| {
            let setting = Setting {
                seeds,
                circuits: circuits.map(PathBuf::from),
            };
            let fitting = setting.clone().fitting(&crate::fig3::Fig3);
            Reproduction::plan(&crate::fig3::Fig3, &fitting, "").unwrap();
            Reproduction::plan(&crate::fig3::Fig3, &setting, "").map(|(plan, _)| plan)
        };
        plan(Some(1), None).unwrap();
        let message = plan(Some(5), None).unwrap_err().to_string();
        assert!(
            message.starts_with("--seeds: 5 have no effect"),
            "{message}"
        );
        let message = plan(None, Some("some.dat")).unwrap_err().to_string();
        assert!(
            message.starts_with("--circuits: \"some.dat\" has no"),
            "{message}"
        );
    }

    #[test]
    fn values_are_provisional_if_a_variant_has_fewer_networks_than_its_own() {
        let said = |id: &str, seeds: u32| {
            let setting = Setting {
                seeds: Some(seeds),
                ..Setting::default()
            };
            let found = crate::find(id).unwrap();
            let (reproduction, _) = Reproduction::plan(found, &setting, "").unwrap();
            reproduction.provisional()
        };
        // The variants have 5, 10 or 20 networks, and the scenario that they change has one.
        let one = said("joint", 1).unwrap();
        assert!(one.contains("1 of the 20 networks"), "{one}");
        let some = said("joint", 10).unwrap();
        assert!(some.contains("10 of the 20 networks"), "{some}");
        assert_eq!(said("joint", 20), None);
        // All variants have 20, and the scenario has 60.
        assert_eq!(said("switching-table3", 20), None);
    }

    #[test]
    fn variants_with_as_many_networks_have_the_same() {
        // Results tell the number that was asked for by the different seeds of their runs.
        for experiment in crate::experiments() {
            let Method::Simulated(sweep) = experiment.method() else {
                continue;
            };
            let data = Expectations::parse(experiment.data(), experiment.id()).unwrap();
            let scenario = Scenario::parse(experiment.scenario(), experiment.id());
            let parts = match scenario.and_then(|scenario| sweep.parts(&scenario, &data)) {
                Ok(parts) => parts,
                Err(error) => {
                    assert!(error.is_of_missing_file(), "{error}");
                    continue;
                }
            };
            let seeds = parts
                .iter()
                .flat_map(|part| part.scenario.seeds.resized(2).list());
            let seeds: std::collections::BTreeSet<u64> = seeds.collect();
            assert_eq!(seeds.len(), 2, "{}: {seeds:?}", experiment.id());
        }
    }

    #[test]
    fn results_say_from_which_circuits_they_are() {
        let experiments = crate::experiments().iter();
        let mut takers = experiments.filter(|it| it.scenario().contains("source = { circuits = "));
        let experiment = *takers.next().unwrap();
        let recorded = |text: &str| {
            let manifest = Manifest::new("0", experiment.id(), text);
            Setting::recorded(experiment, &manifest).map(|setting| setting.circuits)
        };
        let text = experiment.scenario();
        assert_eq!(recorded(text), Some(None));
        let change = (
            "network.source.circuits".to_owned(),
            "/of/mine.dat".to_owned(),
        );
        let mine = Scenario::with_values(text, "", &[change]).unwrap();
        assert_eq!(recorded(&mine), Some(Some(PathBuf::from("/of/mine.dat"))));
        assert_eq!(recorded(&mine.replace("duration", "span")), None);
    }

    /// A claim's difference over 20 networks, with half the width of its interval.
    fn difference(unit: &str, half: f64) -> Value {
        Value {
            figure: "f".to_owned(),
            quantity: "rate: difference".to_owned(),
            unit: unit.to_owned(),
            transport: "a vs b".to_owned(),
            x: None,
            n: 20,
            mean: 0.0,
            ci_low: Some(-half),
            ci_high: Some(half),
            paper: None,
            band_low: None,
            band_high: Some(0.0),
            verdict: Verdict::NotJudged,
            wanted: None,
        }
    }

    #[test]
    fn a_precision_in_percent_asks_nothing_of_other_units() {
        let precision = Precision {
            half_width: 3.0,
            most: 100,
        };
        let wanted = |values: &[Value]| networks_for(precision, 20, values);
        let wide = difference("kB/s", 900.0);
        assert_eq!(wanted(&[]), None);
        assert_eq!(wanted(&[wide.clone(), difference("%", 2.0)]), None);
        assert_eq!(wanted(&[wide, difference("%", 6.0)]), Some(80));
    }

    #[test]
    fn a_precision_is_of_all_networks_and_of_trends_too() {
        let precision = Precision {
            half_width: 3.0,
            most: 100,
        };
        let wanted = |networks, value: &Value| {
            networks_for(precision, networks, std::slice::from_ref(value))
        };
        // Twelve of twenty networks tell of it, and so will twelve twentieths of more.
        let some = Value {
            n: 12,
            ..difference("%", 6.0)
        };
        assert_eq!(wanted(20, &some), Some(80));
        assert_eq!(wanted(90, &some), Some(100));
        assert_eq!(wanted(100, &some), None);
        let one = Value {
            n: 1,
            ci_low: None,
            ci_high: None,
            ..some
        };
        assert_eq!(wanted(20, &one), Some(25));
        assert_eq!(wanted(98, &one), Some(100));
        let none = Value { n: 0, ..one };
        assert_eq!(wanted(20, &none), None);
        let trend = Value {
            quantity: "rate: change from 1".to_owned(),
            transport: "a".to_owned(),
            ..difference("%", 6.0)
        };
        assert_eq!(wanted(20, &trend), Some(80));
        let no_claim = Value {
            quantity: "share".to_owned(),
            ..trend
        };
        assert_eq!(wanted(20, &no_claim), None);
    }

    #[test]
    fn what_no_run_has_is_not_reproduced() {
        let expectations = "[experiment]\ntitle = ''\nsource = ''\nnotes = []\n\
             sources = { f = '' }\nx = { label = '', unit = '', values = [1, 2] }\n\
             [[curves]]\nfigure = 'f'\nquantity = 'time'\nunit = 's'\ntransport = 'a'\n\
             paper = [[1, 5, 4, 6], [2, 5, 4, 6]]";
        let expectations = Expectations::parse(expectations, "").unwrap();
        let mut observed = Observed::default();
        for seed in 0..3 {
            observed.add("a", seed, Some(1.0), Measured::new("time", "s", 5.0));
        }
        let mut values = missing(&expectations, &observed);
        judge(&mut values);
        let [value] = &values[..] else {
            panic!("{values:?}");
        };
        assert_eq!(value.quantity, "time: runs with a value");
        assert_eq!((value.x, value.n, value.mean), (Some(2.0), 3, 0.0));
        assert_eq!(value.verdict, Verdict::NotReproduced);
    }
}
