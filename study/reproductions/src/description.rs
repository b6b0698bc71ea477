//! The data file of an experiment: what the paper reports.

use std::collections::{BTreeMap, BTreeSet};

use hopflow_lab::scenario::InputError;
use hopflow_results::Value;
use serde::Deserialize;

/// What an experiment shows and what it is compared with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The name for readers.
    pub title: String,
    /// Paper, section and figure.
    pub source: String,
    /// Where the paper says what is judged of each figure.
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
    /// Paragraphs: where the paper's values come from, why the bands are as they are, and where
    /// our set-up differs.
    pub notes: Vec<String>,
    /// What is swept.
    pub x: Swept,
    /// When enough networks were sampled; by default the scenario's seeds are all.
    #[serde(default)]
    pub precision: Option<Precision>,
}

/// How precisely the differences of all claims and trends are to be known. Those that are not in percent
/// do not count.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Precision {
    /// Half the width of the 95 % interval, in percent, that is small enough. What only one network tells
    /// of has no interval, and is not known so precisely.
    pub half_width: f64,
    /// The most networks that are sampled for it.
    pub most: u32,
}

/// A variant of the scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// The name, which the names of quantities end in; empty if there is only one case.
    #[serde(default)]
    pub(super) name: String,
    /// The swept value, where there is one.
    #[serde(default)]
    pub(super) x: Option<f64>,
    /// The transports that meet in this case, by their labels; all by default.
    #[serde(default)]
    pub(super) transports: Vec<String>,
    /// The built-in scenario that this case changes, with the transports of the experiment; by default
    /// the experiment's own scenario.
    #[serde(default)]
    pub(super) scenario: Option<String>,
    /// What differs from the scenario: keys of tables are replaced one by one, anything else as a
    /// whole.
    #[serde(default)]
    pub(super) set: toml::Table,
}

/// That one transport differs from others in one direction, as the paper says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    /// The figure or table.
    pub(super) figure: String,
    /// The quantity in which they differ.
    pub(super) quantity: String,
    /// The swept values at which they do; where none is given, what is not swept.
    #[serde(default)]
    pub(super) x: Vec<f64>,
    /// The transport that differs.
    pub(super) first: String,
    /// From which.
    pub(super) from: Vec<String>,
    /// How.
    pub(super) is: Direction,
}

/// That a curve rises, falls or stays over x, as the paper says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trend {
    /// The figure or table.
    pub(super) figure: String,
    /// The quantity that is the curve.
    pub(super) quantity: String,
    /// The transports whose curves do so.
    pub(super) transports: Vec<String>,
    /// The swept values between which they do, in their order: two or more.
    pub(super) x: Vec<f64>,
    /// How the value at each differs from that before.
    pub(super) is: Direction,
}

/// The direction of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Direction {
    Lower,
    Higher,
    /// By so many percent at most, up or down.
    Within(f64),
    /// Not lower by more than so many percent.
    NotBelow(f64),
}

impl Direction {
    /// The band of a difference, in percent or in the quantity's own unit, in which a percentage has
    /// none.
    pub(super) const fn band(self, in_percent: bool) -> [Option<f64>; 2] {
        match self {
            Self::Lower => [None, Some(0.0)],
            Self::Higher => [Some(0.0), None],
            Self::Within(most) if in_percent => [Some(-most), Some(most)],
            Self::NotBelow(most) if in_percent => [Some(-most), None],
            Self::Within(_) | Self::NotBelow(_) => [None, None],
        }
    }
}

/// What an experiment sweeps.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swept {
    /// What it is.
    pub label: String,
    /// In which unit.
    pub unit: String,
    /// The values, rising.
    pub values: Vec<f64>,
}

/// The whole data file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    experiment: Description,
    #[serde(default)]
    cases: Vec<Case>,
    #[serde(default)]
    curves: Vec<Curve>,
    #[serde(default)]
    claims: Vec<Claim>,
    #[serde(default)]
    trends: Vec<Trend>,
}

/// What the paper reports of one quantity and one transport.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Curve {
    /// The figure, such as `backtap-fig5a`.
    pub(super) figure: String,
    /// The quantity that the figure shows.
    pub(super) quantity: String,
    /// Its unit.
    pub(super) unit: String,
    /// The transport's label.
    pub(super) transport: String,
    /// The paper's values, each with its x and the ends of its band.
    #[serde(default)]
    paper: Vec<Paper>,
    /// The paper's value for the curve as a whole, with the ends of its band.
    #[serde(default)]
    whole: Option<Expected>,
    /// The interval that the paper itself states around that value: no band may be narrower.
    #[serde(default)]
    stated: Option<[f64; 2]>,
}

/// A value of the paper at one x.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "[f64; 4]")]
struct Paper {
    x: f64,
    expected: Expected,
}

/// A value of the paper, and the band within which a measured value counts as it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "[f64; 3]")]
pub(super) struct Expected {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl From<[f64; 4]> for Paper {
    fn from([x, value, low, high]: [f64; 4]) -> Self {
        let expected = [value, low, high].into();
        Self { x, expected }
    }
}

impl From<[f64; 3]> for Expected {
    fn from([value, low, high]: [f64; 3]) -> Self {
        Self { value, low, high }
    }
}

impl Curve {
    /// Where the paper has a value of the curve: at which x, or of the curve as a whole.
    pub(super) fn judged(&self) -> Vec<Option<f64>> {
        let at = self.paper.iter().map(|paper| Some(paper.x));
        at.chain(self.whole.map(|_| None)).collect()
    }

    /// The paper's value at `x`, or that of the whole curve, if it reports one.
    pub(super) fn at(&self, x: Option<f64>) -> Option<Expected> {
        let Some(x) = x else { return self.whole };
        let mut paper = self.paper.iter();
        paper.find(|paper| paper.x == x).map(|paper| paper.expected)
    }
}

impl Expectations {
    /// Reads a data file, which messages call `file`.
    ///
    /// # Errors
    /// If it is no valid data file, which is a defect of the experiment.
    pub fn parse(text: &str, file: &str) -> Result<Self, InputError> {
        let expectations: Self = toml::from_str(text)
            .map_err(|error| InputError::new(error.message()).in_text(file, text))?;
        expectations
            .check()
            .map_err(|error| error.in_text(file, text))?;
        Ok(expectations)
    }

    fn check(&self) -> Result<(), InputError> {
        for (n, curve) in self.curves.iter().enumerate() {
            let fail = |problem: String| Err(InputError::at(format!("curves[{n}].paper"), problem));
            let papers = curve.paper.iter().map(|paper| paper.expected);
            for Expected { value, low, high } in papers.chain(curve.whole) {
                if !(low <= value && value <= high) {
                    return fail(format!("{value} lies outside of its own band"));
                }
            }
            if let Some(([from, to], band)) = curve.stated.zip(curve.whole)
                && !(band.low <= from && to <= band.high)
            {
                return fail(format!("the paper's own {from} to {to} leaves the band"));
            }
            let swept = &self.experiment.x.values;
            if let Some(paper) = curve.paper.iter().find(|paper| !swept.contains(&paper.x)) {
                return fail(format!("{} is not among the swept values", paper.x));
            }
        }
        self.check_sources()?;
        self.check_claims()?;
        self.check_trends()
    }

    /// No claim is made twice: it would count twice, and make the rule of its family stricter.
    fn check_claims(&self) -> Result<(), InputError> {
        let mut seen = BTreeSet::new();
        for (n, claim) in self.claims.iter().enumerate() {
            let at = match claim.x.as_slice() {
                [] => vec![String::new()],
                xs => xs.iter().map(|x| format!(" at {x}")).collect(),
            };
            let pairs = at
                .iter()
                .flat_map(|at| claim.from.iter().map(move |other| (at, other)));
            for (at, other) in pairs {
                let (quantity, first) = (&claim.quantity, &claim.first);
                if !seen.insert((quantity.clone(), at.clone(), first.clone(), other.clone())) {
                    let problem = format!("{quantity}{at} of {first} and {other} is claimed twice");
                    return Err(InputError::at(format!("claims[{n}]"), problem));
                }
            }
        }
        Ok(())
    }

    /// All that is judged says where the paper says so.
    fn check_sources(&self) -> Result<(), InputError> {
        let judged = |curve: &&Curve| curve.whole.is_some() || !curve.paper.is_empty();
        let curves = self.curves.iter().filter(judged).map(|curve| &curve.figure);
        let claims = self.claims.iter().map(|claim| &claim.figure);
        let trends = self.trends.iter().map(|trend| &trend.figure);
        let sources = &self.experiment.sources;
        let mut figures = curves.chain(claims).chain(trends);
        match figures.find(|figure| !sources.contains_key(*figure)) {
            None => Ok(()),
            Some(figure) => {
                let problem = format!("{figure} is judged, so it must say where the paper says so");
                Err(InputError::at("experiment.sources", problem))
            }
        }
    }

    fn check_trends(&self) -> Result<(), InputError> {
        let swept = &self.experiment.x.values;
        for (n, trend) in self.trends.iter().enumerate() {
            let fail = |problem: String| Err(InputError::at(format!("trends[{n}].x"), problem));
            if trend.x.len() < 2 {
                return fail("a trend needs two swept values or more".to_owned());
            }
            if let Some(x) = trend.x.iter().find(|x| !swept.contains(x)) {
                return fail(format!("{x} is not among the swept values"));
            }
        }
        Ok(())
    }

    /// What the experiment shows and what it is compared with.
    pub fn description(&self) -> &Description {
        &self.experiment
    }

    pub(super) fn curves(&self) -> &[Curve] {
        &self.curves
    }

    pub(super) fn cases(&self) -> &[Case] {
        &self.cases
    }

    pub(super) fn claims(&self) -> &[Claim] {
        &self.claims
    }

    pub(super) fn trends(&self) -> &[Trend] {
        &self.trends
    }

    /// Orders values by curve, as the data file does and then as they come, and each by x.
    pub(super) fn sort(&self, values: &mut [Value]) {
        type Key = (String, String, String);
        let key = |value: &Value| -> Key {
            let Value {
                figure,
                quantity,
                transport,
                ..
            } = value;
            (figure.clone(), quantity.clone(), transport.clone())
        };
        let curves = self.curves.iter().map(|curve| {
            let Curve {
                figure,
                quantity,
                transport,
                ..
            } = curve;
            (figure.clone(), quantity.clone(), transport.clone())
        });
        let mut places = BTreeMap::new();
        for key in curves.chain(values.iter().map(key)) {
            let next = places.len();
            places.entry(key).or_insert(next);
        }
        values.sort_by(|a, b| {
            let by_x = || a.x.unwrap_or(0.0).total_cmp(&b.x.unwrap_or(0.0));
            places[&key(a)].cmp(&places[&key(b)]).then_with(by_x)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a data file that has these curves and trends.
    fn problem(text: &str) -> String {
        let head = "[experiment]\ntitle = ''\nsource = ''\nnotes = []\n\
                    sources = { f = '' }\nx = { label = '', unit = '', values = [1, 2] }\n";
        let error = Expectations::parse(&format!("{head}{text}"), "it.toml").unwrap_err();
        error.to_string()
    }

    #[test]
    fn bands_that_cannot_be_right_are_refused() {
        let curve = "[[curves]]\nfigure = 'f'\nquantity = 'q'\nunit = ''\ntransport = 'a'\n";
        for (rest, expected) in [
            ("whole = [3, 1, 2]", "3 lies outside of its own band"),
            ("paper = [[5, 1, 0, 2]]", "5 is not among the swept values"),
            (
                "whole = [3, 2, 4]\nstated = [1, 5]",
                "the paper's own 1 to 5 leaves the band",
            ),
        ] {
            let found = problem(&format!("{curve}{rest}"));
            assert!(found.contains(expected), "{found}");
        }
        let elsewhere = format!("{}whole = [1, 0, 2]", curve.replace("'f'", "'g'"));
        let found = problem(&elsewhere);
        assert!(
            found.contains("g is judged, so it must say where"),
            "{found}"
        );
        let claim = |x| {
            format!(
                "[[claims]]\nfigure = 'f'\nquantity = 'q'\nx = {x}\nfirst = 'a'\nfrom = ['b', 'c']\n\
                 is = 'lower'\n"
            )
        };
        let found = problem(&(claim("[1, 2]") + &claim("[2]")));
        assert!(
            found.contains("q at 2 of a and b is claimed twice"),
            "{found}"
        );
        let trend = "[[trends]]\nfigure = 'f'\nquantity = 'q'\ntransports = ['a']\nx = [1]\n\
                     is = 'higher'";
        let found = problem(trend);
        assert!(found.contains("two swept values or more"), "{found}");
    }
}
