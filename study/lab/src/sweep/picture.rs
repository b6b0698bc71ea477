//! What a sweep found: each point's metrics, and which points are on the front.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use hopflow_results::{Fingerprint, Folder};
use hopflow_stats::Mean;
use serde::{Deserialize, Serialize};

use super::axes::{NAMES, Point};
use super::front::front;
use super::metric::Metric;
use super::plan::Sweep;
use crate::run::Error;
use crate::scenario::Choice;

/// The file of a result folder that holds the [`Picture`], as JSON.
pub const FILE: &str = "sweep.json";
/// The file with the same points as rows.
const TABLE: &str = "sweep.csv";

/// What a sweep found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// What the scenario shows.
    pub about: String,
    /// The scenario, as TOML.
    pub scenario: String,
    /// The seeds, each of which sampled a network.
    pub seeds: Vec<u64>,
    /// The hash of all runs.
    pub results: Fingerprint,
    /// The values of each axis that were asked for.
    pub axes: BTreeMap<String, Vec<String>>,
    /// The metrics that span the front, by name.
    pub front: Vec<String>,
    /// The points that were run.
    pub points: Vec<Shown>,
    /// The points that were not run.
    pub skipped: Vec<Skipped>,
}

/// A point that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// The label of the point's runs.
    pub label: String,
    /// The transport for readers: its preset and the values of its options.
    pub transport: String,
    /// The point's value on each axis.
    pub values: BTreeMap<String, String>,
    /// Whether no other point is at least as good in all metrics of the front and better in one. A point
    /// that lacks one of them on a network on which others have it is not on it, and beats none.
    pub on_front: bool,
    /// The metrics that are known, by name.
    pub metrics: BTreeMap<String, Interval>,
}

/// A metric of a point over the sampled networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean over the networks that have a value.
    pub mean: f64,
    /// The ends of the mean's 95 % interval, over two networks or more.
    pub ci: Option<(f64, f64)>,
    /// Half the width of the 95 % interval of the point's ratio to the mean of all points on the
    /// same network, times the mean: how sure its place among them is. Networks differ far more
    /// than points do.
    pub within: Option<f64>,
    /// Networks that have a value.
    pub n: usize,
    /// The value of each network, in the order of the seeds: points are compared in pairs.
    pub values: Vec<Option<f64>>,
}

/// A point that was not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// The point's value on each axis.
    pub values: BTreeMap<String, String>,
    /// Why it was not run.
    pub reason: String,
}

impl Picture {
    /// The picture of a sweep: for each point and each metric what each network gave.
    pub(super) fn new(
        sweep: &Sweep,
        values: &[Vec<Vec<Option<f64>>>],
        results: Fingerprint,
    ) -> Self {
        let metrics: Vec<BTreeMap<String, Interval>> = intervals(values);
        let on_front = on_front(&sweep.front, &metrics);
        let points = sweep.points.iter().zip(metrics).zip(on_front);
        let axes = NAMES.into_iter().zip(sweep.axes.names());
        Self {
            about: sweep.scenario.about.clone(),
            scenario: sweep.text.clone(),
            seeds: sweep.scenario.seeds.list(),
            results,
            axes: axes
                .map(|(axis, values)| {
                    (
                        axis.to_owned(),
                        values.into_iter().map(str::to_owned).collect(),
                    )
                })
                .collect(),
            front: sweep.front.iter().map(|m| m.name().to_owned()).collect(),
            points: points
                .map(|(((point, choice), metrics), on_front)| Shown {
                    label: point.label(),
                    transport: transport(choice),
                    values: by_axis(point),
                    on_front,
                    metrics,
                })
                .collect(),
            skipped: sweep
                .skipped
                .iter()
                .map(|(point, reason)| Skipped {
                    values: by_axis(point),
                    reason: (*reason).to_owned(),
                })
                .collect(),
        }
    }

    /// The picture of a folder, if it holds one.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn read(folder: &Folder) -> Result<Option<Self>, Error> {
        let Some(text) = folder.read_extra(FILE)? else {
            return Ok(None);
        };
        let picture = serde_json::from_str(&text);
        let damaged = |error: serde_json::Error| folder.damaged(FILE, error);
        Ok(Some(picture.map_err(damaged)?))
    }

    /// Writes the picture and its table.
    pub(super) fn write(&self, folder: &Folder) -> Result<(), Error> {
        let json = serde_json::to_string_pretty(self).expect("plain data has a JSON form");
        folder.write_extra(FILE, &(json + "\n"))?;
        folder.write_extra(TABLE, &self.to_csv())?;
        Ok(())
    }

    /// All points as rows, those that were not run with the reason.
    pub fn to_csv(&self) -> String {
        let mut csv = NAMES.join(",") + ",transport,on_front";
        for metric in Metric::ALL {
            let name = metric.name();
            let columns = ["", "_low", "_high", "_within", "_n"];
            for column in columns {
                write!(csv, ",{name}{column}").expect("text grows");
            }
        }
        csv.push_str(",reason\n");
        for shown in &self.points {
            let mut cells = columns(&shown.values);
            cells.extend([shown.transport.clone(), shown.on_front.to_string()]);
            for metric in Metric::ALL {
                let found = shown.metrics.get(metric.name());
                let number = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
                let ci = found.and_then(|found| found.ci);
                cells.extend([
                    number(found.map(|found| found.mean)),
                    number(ci.map(|ci| ci.0)),
                    number(ci.map(|ci| ci.1)),
                    number(found.and_then(|found| found.within)),
                    found.map_or(0, |found| found.n).to_string(),
                ]);
            }
            cells.push(String::new());
            push_row(&mut csv, &cells);
        }
        for skipped in &self.skipped {
            let mut cells = columns(&skipped.values);
            cells.resize(NAMES.len() + 2 + 5 * Metric::ALL.len(), String::new());
            cells.push(skipped.reason.clone());
            push_row(&mut csv, &cells);
        }
        csv
    }

    /// The metrics that span the front.
    pub fn front_metrics(&self) -> Vec<Metric> {
        let on_front = |metric: &Metric| self.front.iter().any(|name| name == metric.name());
        Metric::ALL.into_iter().filter(on_front).collect()
    }

    /// The means of a metric, point by point, that can be compared: those over all networks on which
    /// any point has the metric.
    pub fn comparable(&self, metric: Metric) -> Vec<Option<&Interval>> {
        let points: Vec<_> = self.points.iter().map(|shown| &shown.metrics).collect();
        comparable(&points, metric)
    }
}

impl Interval {
    /// Of how many of the networks the mean is, as "n of N"; `None` if it is of all.
    pub fn part(&self) -> Option<String> {
        let networks = self.values.len();
        (self.n < networks).then(|| format!("{} of {networks}", self.n))
    }
}

impl From<&Interval> for Mean {
    /// The mean with the interval within networks.
    fn from(found: &Interval) -> Self {
        Self {
            mean: found.mean,
            n: found.n,
            half_width: found.within,
        }
    }
}

/// Whether each point is on the front of some metrics.
fn on_front(metrics: &[Metric], points: &[BTreeMap<String, Interval>]) -> Vec<bool> {
    let points: Vec<_> = points.iter().collect();
    let mut values = vec![Vec::new(); points.len()];
    for metric in metrics {
        for (values, found) in values.iter_mut().zip(comparable(&points, *metric)) {
            values.push(found.map(|found| found.mean));
        }
    }
    front(metrics, &values)
}

/// A metric of each of the points that have it on all networks on which any of them has it.
fn comparable<'p>(
    points: &[&'p BTreeMap<String, Interval>],
    metric: Metric,
) -> Vec<Option<&'p Interval>> {
    let found: Vec<Option<&'p Interval>> = points
        .iter()
        .map(|of_point| of_point.get(metric.name()))
        .collect();
    let mut networks: BTreeSet<usize> = BTreeSet::new();
    for found in found.iter().flatten() {
        let values = found.values.iter().enumerate();
        networks.extend(values.filter_map(|(network, value)| value.map(|_| network)));
    }
    let whole = |found: Option<&'p Interval>| found.filter(|found| found.n == networks.len());
    found.into_iter().map(whole).collect()
}

/// The metrics of each point, by name.
fn intervals(values: &[Vec<Vec<Option<f64>>>]) -> Vec<BTreeMap<String, Interval>> {
    let mut points = vec![BTreeMap::new(); values.len()];
    for (number, metric) in Metric::ALL.into_iter().enumerate() {
        let of_metric: Vec<&[Option<f64>]> = values
            .iter()
            .map(|point| point.get(number).map_or(&[][..], Vec::as_slice))
            .collect();
        let centres = centres(&of_metric);
        for (point, values) in points.iter_mut().zip(&of_metric) {
            if let Some(found) = interval(values, &centres) {
                point.insert(metric.name().to_owned(), found);
            }
        }
    }
    points
}

/// The mean of all points on each network, over those points that have a value on all networks.
fn centres(points: &[&[Option<f64>]]) -> Vec<f64> {
    let whole: Vec<Vec<f64>> = points
        .iter()
        .filter_map(|values| values.iter().copied().collect())
        .collect();
    let networks = whole.first().map_or(0, Vec::len);
    let centre = |network: usize| {
        let values: Vec<f64> = whole.iter().map(|values| values[network]).collect();
        Mean::of(&values).map_or(0.0, |mean| mean.mean)
    };
    (0..networks).map(centre).collect()
}

fn interval(values: &[Option<f64>], centres: &[f64]) -> Option<Interval> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let mean = Mean::of(&known)?;
    Some(Interval {
        mean: mean.mean,
        ci: mean.low().zip(mean.high()),
        within: within(values, centres, mean.mean),
        n: mean.n,
        values: values.to_vec(),
    })
}

fn within(values: &[Option<f64>], centres: &[f64], mean: f64) -> Option<f64> {
    let ratio = |(value, centre): (&Option<f64>, &f64)| Some((*value)? / centre);
    let ratios: Option<Vec<f64>> = values.iter().zip(centres).map(ratio).collect();
    let ratio = Mean::of(&ratios?)?;
    let half_width = ratio.half_width? / ratio.mean * mean;
    half_width.is_finite().then_some(half_width.abs())
}

/// "vanilla", "backtap, vegas, ewma".
fn transport(choice: &Choice) -> String {
    let preset = choice.preset.clone().unwrap_or_default();
    let options = choice.options.values().filter_map(toml::Value::as_str);
    options.fold(preset, |name, value| format!("{name}, {value}"))
}

fn by_axis(point: &Point) -> BTreeMap<String, String> {
    let values = NAMES.into_iter().zip(point.values());
    values
        .map(|(axis, value)| (axis.to_owned(), value.to_owned()))
        .collect()
}

/// The values in the order of the axes.
fn columns(values: &BTreeMap<String, String>) -> Vec<String> {
    let value = |axis| values.get(axis).cloned().unwrap_or_default();
    NAMES.into_iter().map(value).collect()
}

fn push_row(csv: &mut String, cells: &[String]) {
    let quoted = |cell: &String| {
        if cell.contains([',', '"', '\n']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.clone()
        }
    };
    let row: Vec<String> = cells.iter().map(quoted).collect();
    csv.push_str(&row.join(","));
    csv.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_that_differ_do_not_blur_how_points_differ() {
        // Goodput of two points on three networks: far apart networks, a constant ratio.
        let point = |values: [f64; 3]| vec![values.map(Some).to_vec()];
        let found = intervals(&[point([1.0, 10.0, 100.0]), point([2.0, 20.0, 200.0])]);
        let goodput = &found[1]["goodput"];
        assert!((goodput.mean - 74.0).abs() < 1e-9);
        let (low, high) = goodput.ci.unwrap();
        assert!(high - low > 100.0);
        assert!(goodput.within.unwrap() < 1e-9);
        assert!(!found[0].contains_key("latency"));
    }

    #[test]
    fn a_mean_over_fewer_networks_than_others_have_is_not_compared() {
        let point = |goodput: f64, latencies: [Option<f64>; 3]| {
            let mut values = vec![vec![None; 3]; Metric::ALL.len()];
            let place = |metric: Metric| Metric::ALL.iter().position(|other| *other == metric);
            values[place(Metric::Goodput).unwrap()] = vec![Some(goodput); 3];
            values[place(Metric::Latency).unwrap()] = latencies.to_vec();
            values
        };
        let metrics = [Metric::Goodput, Metric::Latency];
        let whole = [Some(5.0), Some(6.0), None];
        let found = intervals(&[
            point(1.0, whole),
            point(9.0, [Some(1.0), None, None]),
            point(0.5, whole),
        ]);
        // The third network has a value for nobody.
        assert_eq!(on_front(&metrics, &found), [true, false, false]);
        let part = |point: usize| found[point]["latency"].part();
        assert_eq!(part(0).unwrap(), "2 of 3");
        assert_eq!(part(1).unwrap(), "1 of 3");
        assert_eq!(found[1]["goodput"].part(), None);
    }

    #[test]
    fn one_network_has_no_interval() {
        let found = intervals(&[vec![vec![Some(1.0)]], vec![vec![None]]]);
        let goodput = &found[0]["goodput"];
        assert_eq!((goodput.ci, goodput.within, goodput.n), (None, None, 1));
        assert!(found[1].is_empty());
    }
}
