//! Transports in numbers, and how they differ network by network.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use hopflow_results::Folder;
use hopflow_stats::{Mean, PairedDifference, Percent};

use super::load::{self, Measured, Transport};
use super::quantity::{Better, MEASURES, Measure, Quantity};
use crate::error::Error;
use crate::text::{decimals, fixed};

/// Several transports over the same sampled networks.
///
/// A sampled network is one observation, however many downloads and circuits it has: what happens
/// within a network depends on each other, and networks do not. All intervals are 95 % intervals
/// of Student's t distribution over networks.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The labels of the transports; differences are to the first, those of a variant
    /// `TRANSPORT/NAME` to its transport.
    pub transports: Vec<String>,
    /// Number of sampled networks.
    pub networks: usize,
    /// The quantities that any transport has.
    pub quantities: Vec<Compared>,
    /// What became of each transport's downloads.
    pub downloads: Vec<Ends>,
}

/// What became of the downloads of a transport, endless ones and those that began in the warm-up
/// left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// How many were complete.
    pub complete: usize,
    /// How many were open at the end of their run.
    pub open: usize,
    /// How many were broken off; endless ones would never have been complete and are not counted.
    pub broken_off: usize,
}

impl Ends {
    fn of(transport: &Transport) -> Self {
        let mut ends = Self::default();
        for run in &transport.runs {
            ends.complete += run.downloads.len();
            ends.open += run.open.len();
            ends.broken_off += run.failed.iter().filter(|it| !it.endless).count();
        }
        ends
    }

    /// How many did not finish, if some did not.
    fn unfinished(&self) -> Option<String> {
        let all = self.complete + self.open + self.broken_off;
        let counts = [
            (self.open, "still open at the end"),
            (self.broken_off, "broken off"),
        ];
        let parts = counts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, how)| format!("{count} of {all} {how}"))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// One quantity of all transports.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The quantity.
    pub quantity: Quantity,
    /// Number of sampled networks of the comparison, [`Comparison::networks`].
    pub networks: usize,
    /// Each transport, in the order of [`Comparison::transports`].
    pub entries: Vec<Entry>,
}

/// One quantity of one transport, in the quantity's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Mean over the networks that have the quantity.
    pub value: Option<Mean>,
    /// Whether the true value is known only to be as large or larger: on a network too few downloads
    /// were seen to end.
    pub at_least: bool,
    /// What it is more than that of the transport it is compared with; `None` for the first itself.
    pub difference: Option<Difference>,
}

/// A difference over pairs: a transport less the one it is compared with, on the same network with
/// the same users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// In the quantity's unit, over the networks on which both have the quantity.
    pub absolute: Mean,
    /// The ratio on these networks, as a difference in percent of the other transport; `None` if a
    /// value is not above zero.
    pub percent: Option<Percent>,
    /// What can be said.
    pub finding: Finding,
}

/// What can be said about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Nothing: there is no interval, or it covers zero, or the smaller value is on some network known
    /// only to be as large or larger.
    Open,
    /// The transport is better than the first.
    Better,
    /// The transport is worse than the first.
    Worse,
    /// It has more of something that is neither good nor bad.
    More,
    /// It has less of something that is neither good nor bad.
    Less,
}

impl Finding {
    fn of(difference: &Mean, better: Better) -> Self {
        if difference.covers(0.0) != Some(false) {
            return Self::Open;
        }
        match (better, difference.mean > 0.0) {
            (Better::Lower, false) | (Better::Higher, true) => Self::Better,
            (Better::Lower, true) | (Better::Higher, false) => Self::Worse,
            (Better::Neither, true) => Self::More,
            (Better::Neither, false) => Self::Less,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Open => "-",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::More => "more",
            Self::Less => "less",
        })
    }
}

/// Compares the transports of a result folder.
///
/// # Errors
/// If the folder holds no runs, or a file of it is missing or damaged.
pub fn comparison(dir: &Path) -> Result<Comparison, Error> {
    let folder = Folder::open(dir);
    let manifest = folder.read_manifest()?;
    let transports = load::transports(&folder, &manifest, load::brief)?;
    if transports.is_empty() {
        return Err(Error::NoRuns {
            path: dir.to_owned(),
        });
    }
    Ok(Comparison::of(&transports))
}

impl Comparison {
    pub(super) fn of(transports: &[Transport]) -> Self {
        let networks = load::networks(transports).len();
        let compared = MEASURES.iter().map(|measure| Compared {
            quantity: measure.quantity,
            networks,
            entries: entries(measure, transports),
        });
        Self {
            transports: transports.iter().map(|t| t.label.clone()).collect(),
            networks,
            quantities: compared
                .filter(|compared| compared.entries.iter().any(|entry| entry.value.is_some()))
                .collect(),
            downloads: transports.iter().map(Ends::of).collect(),
        }
    }

    /// Whether there are enough networks for intervals.
    pub const fn has_intervals(&self) -> bool {
        self.networks > 1
    }

    /// What a reader must know to read the numbers, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.has_intervals() {
            notes.push(format!(
                "Means over {0} sampled networks, or over fewer where (n of {0}) says so, in \
                 brackets their 95 % confidence intervals.",
                self.networks
            ));
        } else {
            notes.push(
                "One sampled network: there are no intervals and no winners, chance may explain \
                 any difference. More seeds tell more."
                    .to_owned(),
            );
        }
        if let [first, _, ..] = self.transports.as_slice() {
            let rule = if self.has_intervals() {
                "; a transport is called better or worse only where the interval excludes zero"
            } else {
                ""
            };
            let of_variants = self.of_variants();
            let added = if of_variants.is_empty() {
                ""
            } else {
                " but for those that a variant adds"
            };
            notes.push(format!(
                "Differences are to {first}{of_variants}, on the same networks with the same \
                 users{added}{rule}."
            ));
        }
        notes.push(
            "Downloads that began in the warm-up count nowhere but in the goodput, the backlog and \
             the latency of cells, which is that of the whole run, the warm-up included. \
             Those that did not finish took at least as long as they waited: times are estimates \
             of Kaplan and Meier, and where too few finished, at least what is said (≥)."
                .to_owned(),
        );
        notes.extend(self.unfinished());
        notes
    }

    /// How many downloads did not finish, of each transport that has some.
    fn unfinished(&self) -> Option<String> {
        let of = self.transports.iter().zip(&self.downloads);
        let parts: Vec<String> = of
            .filter_map(|(label, ends)| Some(format!("{label}: {}", ends.unfinished()?)))
            .collect();
        (!parts.is_empty()).then(|| format!("Downloads that did not finish. {}.", parts.join("; ")))
    }
}

impl Comparison {
    /// What to say besides of what variants are compared with, if there are some.
    pub(super) fn of_variants(&self) -> &'static str {
        if self.transports.iter().any(|label| label.contains('/')) {
            ", and of variants to the transport before the slash"
        } else {
            ""
        }
    }
}

/// What a transport is compared with: a variant with its transport, others with the first.
fn reference(number: usize, transports: &[Transport]) -> usize {
    let variant = transports[number].label.split_once('/');
    let plain = variant.and_then(|(label, _)| transports.iter().position(|t| t.label == label));
    plain.unwrap_or(0)
}

/// A quantity of each transport, and its difference to that of the one it is compared with.
fn entries(measure: &Measure, transports: &[Transport]) -> Vec<Entry> {
    let values: Vec<BTreeMap<u32, Measured>> = transports
        .iter()
        .map(|t| t.over_networks(measure.of))
        .collect();
    let entry = |(number, of_networks): (usize, &BTreeMap<u32, Measured>)| Entry {
        value: Mean::of(&plain(of_networks.values())),
        at_least: of_networks.values().any(|number| number.at_least),
        difference: (number > 0)
            .then(|| {
                let with = &values[reference(number, transports)];
                difference(with, of_networks, measure.quantity.better)
            })
            .flatten(),
    };
    values.iter().enumerate().map(entry).collect()
}

fn difference(
    first: &BTreeMap<u32, Measured>,
    other: &BTreeMap<u32, Measured>,
    better: Better,
) -> Option<Difference> {
    let pairs = first
        .iter()
        .filter_map(|(network, before)| Some((*before, *other.get(network)?)));
    let (before, after): (Vec<Measured>, Vec<Measured>) = pairs.unzip();
    let PairedDifference { absolute, percent } =
        PairedDifference::of(&plain(&before), &plain(&after))?;
    // What may be larger than it is known to be need not be the smaller one.
    let smaller = if absolute.mean > 0.0 { before } else { after };
    let finding = if smaller.iter().any(|number| number.at_least) {
        Finding::Open
    } else {
        Finding::of(&absolute, better)
    };
    Some(Difference {
        absolute,
        percent,
        finding,
    })
}

fn plain<'m>(numbers: impl IntoIterator<Item = &'m Measured>) -> Vec<f64> {
    numbers.into_iter().map(|number| number.value).collect()
}

/// An [`Entry`] as text, in the unit of [`Compared::heading`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The value with its interval, "≥" before it if it is at least that, and "(n of N)" after it if
    /// only n of the N networks have it; a dash if there is none.
    pub value: String,
    /// The difference with its interval, and "(n of N)" if the two share only n of the N networks;
    /// empty if there is none.
    pub difference: String,
    /// The difference in percent with its interval; empty if there is none.
    pub percent: String,
    /// What can be said about the difference; empty if there is none.
    pub finding: String,
}

impl Compared {
    /// The title with the unit in which [`shown`](Self::shown) gives numbers.
    pub fn heading(&self) -> String {
        match self.unit() {
            "" => self.quantity.title.to_owned(),
            unit => format!("{} ({unit})", self.quantity.title),
        }
    }

    /// The transports as text, with as many decimals as tell them apart.
    pub fn shown(&self) -> Vec<Shown> {
        let mut lines = self.figures();
        for (line, entry) in lines.iter_mut().zip(&self.entries) {
            let parts = [entry.value, entry.difference.map(|of| of.absolute)];
            for (cell, mean) in [&mut line.value, &mut line.difference]
                .into_iter()
                .zip(parts)
            {
                if let Some(part) = self.part(mean) {
                    *cell = format!("{cell} ({part})");
                }
            }
        }
        lines
    }

    /// Of how many of the networks a mean is, unless it is of all.
    pub(super) fn part(&self, mean: Option<Mean>) -> Option<String> {
        let n = mean?.n;
        (n < self.networks).then(|| format!("{n} of {}", self.networks))
    }

    /// The same as [`shown`](Self::shown), without of how many networks the numbers are.
    pub(super) fn figures(&self) -> Vec<Shown> {
        let (_, scale) = self.scale();
        let places = decimals(self.largest() * scale);
        let differences = || self.entries.iter().filter_map(|entry| entry.difference);
        let widest = differences()
            .map(|d| reach(&d.absolute))
            .fold(0.0, f64::max);
        let finer = decimals(widest * scale).clamp(places, places + 2);
        let widest = differences().filter_map(|d| Some(percent_reach(&d.percent?)));
        let of_percent = usize::from(widest.fold(0.0, f64::max) < 10.0);
        let shown = |entry: &Entry| {
            let value = entry.value.map_or_else(
                || "-".to_owned(),
                |value| {
                    let text = scaled(&value, scale, |number| fixed(number, places));
                    let bound = if entry.at_least { "≥ " } else { "" };
                    format!("{bound}{text}")
                },
            );
            let Some(difference) = entry.difference else {
                return Shown {
                    value,
                    ..Shown::default()
                };
            };
            let percent = difference
                .percent
                .map(|p| interval(p.mean, p.ends, |number| signed(number, of_percent)));
            Shown {
                value,
                difference: scaled(&difference.absolute, scale, |n| signed(n, finer)),
                percent: percent.unwrap_or_default(),
                finding: difference.finding.to_string(),
            }
        };
        self.entries.iter().map(shown).collect()
    }

    /// The unit in which [`shown`](Self::shown) gives numbers; empty for plain numbers.
    pub(super) fn unit(&self) -> &'static str {
        self.scale().0
    }

    fn scale(&self) -> (&'static str, f64) {
        self.quantity.dimension.readable(self.largest())
    }

    fn largest(&self) -> f64 {
        let means = self.entries.iter().filter_map(|entry| entry.value);
        means.map(|mean| mean.mean.abs()).fold(0.0, f64::max)
    }
}

/// The end of an interval that is farther from zero.
fn reach(mean: &Mean) -> f64 {
    mean.mean.abs() + mean.half_width.unwrap_or(0.0)
}

fn percent_reach(percent: &Percent) -> f64 {
    let (low, high) = percent.ends.unwrap_or((percent.mean, percent.mean));
    low.abs().max(high.abs())
}

fn scaled(mean: &Mean, scale: f64, text: impl Fn(f64) -> String) -> String {
    let ends = mean.low().zip(mean.high());
    let ends = ends.map(|(low, high)| (low * scale, high * scale));
    interval(mean.mean * scale, ends, text)
}

fn interval(mean: f64, ends: Option<(f64, f64)>, text: impl Fn(f64) -> String) -> String {
    let middle = text(mean);
    match ends {
        Some((low, high)) => format!("{middle} [{}, {}]", text(low), text(high)),
        None => middle,
    }
}

/// A number with its sign, unless it is shown as zero.
fn signed(value: f64, decimals: usize) -> String {
    let shown = fixed(value, decimals);
    let nonzero = shown.contains(|digit| matches!(digit, '1'..='9'));
    if value > 0.0 && nonzero {
        format!("+{shown}")
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use hopflow_results::{Class, FailCause, Failure};

    use super::super::load::Run;
    use super::*;

    fn networks(values: &[f64]) -> BTreeMap<u32, Measured> {
        let values = values.iter().copied().map(Measured::exactly);
        (1..).zip(values).collect()
    }

    /// The same, known to be at least that.
    fn bounds(values: &[f64]) -> BTreeMap<u32, Measured> {
        let mut networks = networks(values);
        for number in networks.values_mut() {
            number.at_least = true;
        }
        networks
    }

    #[test]
    fn what_is_at_least_so_much_may_be_the_larger_one_and_never_the_smaller_one() {
        let (low, high) = ([1.0, 2.0, 3.0], [5.0, 6.1, 7.2]);
        let finding = |first: &BTreeMap<u32, Measured>, other: &BTreeMap<u32, Measured>| {
            difference(first, other, Better::Lower).unwrap().finding
        };
        assert_eq!(finding(&networks(&low), &bounds(&high)), Finding::Worse);
        assert_eq!(finding(&bounds(&high), &networks(&low)), Finding::Better);
        for (first, other) in [
            (bounds(&low), networks(&high)),
            (networks(&high), bounds(&low)),
            (bounds(&low), bounds(&high)),
            (bounds(&high), bounds(&low)),
        ] {
            assert_eq!(
                finding(&first, &other),
                Finding::Open,
                "{first:?} {other:?}"
            );
        }
    }

    #[test]
    fn a_difference_is_taken_network_by_network() {
        let first = networks(&[10.0, 50.0, 90.0]);
        let other = networks(&[9.0, 48.5, 89.5]);
        let found = difference(&first, &other, Better::Lower).unwrap();
        assert_eq!(found.absolute.mean, -1.0);
        // The ratios 0.9, 0.97 and 0.994: their geometric mean is 0.9540.
        assert!((found.percent.unwrap().mean + 4.604).abs() < 1e-3);
        // s = 0.5, t(0.975, 2) = 4.302653: the half width is 1.2421, so zero is covered.
        assert!((found.absolute.half_width.unwrap() - 1.242_07).abs() < 1e-5);
        assert_eq!(found.finding, Finding::Open);
    }

    #[test]
    fn a_winner_is_named_only_where_the_interval_excludes_zero() {
        let first = networks(&[10.0, 50.0, 90.0]);
        let lower = networks(&[9.0, 49.1, 88.9]);
        let finding = |better| difference(&first, &lower, better).unwrap().finding;
        assert_eq!(finding(Better::Lower), Finding::Better);
        assert_eq!(finding(Better::Higher), Finding::Worse);
        assert_eq!(finding(Better::Neither), Finding::Less);
    }

    #[test]
    fn one_network_has_no_interval_and_no_winner() {
        let found = difference(&networks(&[10.0]), &networks(&[1.0]), Better::Lower).unwrap();
        assert_eq!(found.absolute.half_width, None);
        assert_eq!(found.finding, Finding::Open);
    }

    #[test]
    fn networks_that_one_transport_lacks_form_no_pair() {
        let first = networks(&[10.0, 20.0, 30.0]);
        let mut other = networks(&[0.0, 21.0, 32.0, 1e9]);
        other.remove(&1);
        let found = difference(&first, &other, Better::Lower).unwrap();
        assert_eq!((found.absolute.n, found.absolute.mean), (2, 1.5));
        // The ratios 1.05 and 1.0667.
        assert!((found.percent.unwrap().mean - 5.830).abs() < 1e-3);
    }

    #[test]
    fn a_zero_to_compare_with_has_no_percent() {
        let found = difference(&networks(&[0.0; 2]), &networks(&[1.0, 3.0]), Better::Lower);
        assert_eq!(found.unwrap().percent, None);
    }

    #[test]
    fn numbers_of_some_of_the_networks_say_of_how_many() {
        let first = networks(&[1.0, 2.0, 3.0, 4.0]);
        let other = networks(&[2.0, 3.0, 4.0]);
        let mean = |values: &BTreeMap<u32, Measured>| Mean::of(&plain(values.values()));
        let entry = |value, difference| Entry {
            value,
            at_least: false,
            difference,
        };
        let mut compared = Compared {
            quantity: MEASURES[0].quantity,
            networks: 4,
            entries: vec![
                entry(mean(&first), None),
                entry(mean(&other), difference(&first, &other, Better::Lower)),
                entry(None, None),
            ],
        };
        let [all, some, none] = &compared.shown()[..] else {
            panic!("three transports")
        };
        assert_eq!(all.value, "2.50 [0.45, 4.55]");
        assert_eq!(some.value, "3.00 [0.52, 5.48] (3 of 4)");
        assert_eq!(some.difference, "+1.00 [+1.00, +1.00] (3 of 4)");
        assert_eq!((&*none.value, &*none.difference), ("-", ""));
        assert_eq!(compared.figures()[1].value, "3.00 [0.52, 5.48]");
        compared.entries[1].at_least = true;
        assert_eq!(compared.shown()[1].value, "≥ 3.00 [0.52, 5.48] (3 of 4)");
    }

    #[test]
    fn endless_downloads_that_were_broken_off_are_not_counted() {
        let failure = |endless| Failure {
            circuit: 0,
            class: Class::Bulk,
            request: 0,
            start_s: 0.0,
            end_s: 1.0,
            ttfb_s: None,
            bytes: 0,
            endless,
            cause: FailCause::Closed,
        };
        let transport = Transport {
            label: "vanilla".to_owned(),
            colour: 0,
            runs: vec![Run {
                failed: [true, false, true].map(failure).to_vec(),
                ..Run::default()
            }],
        };
        let expected = Ends {
            broken_off: 1,
            ..Ends::default()
        };
        assert_eq!(Ends::of(&transport), expected);
    }

    #[test]
    fn notes_say_what_did_not_finish() {
        let ends = |open, broken_off| Ends {
            complete: 8,
            open,
            broken_off,
        };
        let mut comparison = Comparison {
            transports: vec!["vanilla".to_owned(), "backtap".to_owned()],
            networks: 2,
            quantities: Vec::new(),
            downloads: vec![ends(0, 0), ends(1, 2)],
        };
        assert_eq!(
            comparison.notes().pop().unwrap(),
            "Downloads that did not finish. backtap: 1 of 11 still open at the end, 2 of 11 broken off."
        );
        comparison.downloads[1] = ends(0, 0);
        assert_eq!(comparison.unfinished(), None);
    }
}
