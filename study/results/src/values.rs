//! Values of reproduced figures and tables, beside the papers' values.

use std::path::Path;

use crate::Error;
use crate::field::text_enum;

text_enum! {
    /// How a value compares with the paper's.
    pub enum Verdict {
        /// The whole interval lies in the band.
        Reproduced = "reproduced",
        /// The whole interval lies outside of the band.
        NotReproduced = "not reproduced",
        /// The interval lies across an end of the band, or there is none.
        Undecided = "undecided",
        /// The paper gives nothing to compare with.
        NotJudged = "not judged",
    }
}

/// One value of a figure or table.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The figure or table, such as `backtap-fig5`.
    pub figure: String,
    /// What was measured, such as `goodput`.
    pub quantity: String,
    /// The unit of all numbers but `x`; empty for a plain number.
    pub unit: String,
    /// The label of the transport; empty where the value belongs to none.
    pub transport: String,
    /// The swept value, where there is one.
    pub x: Option<f64>,
    /// Runs that the mean was taken over.
    pub n: u64,
    /// The mean over the runs.
    pub mean: f64,
    /// Lower end of the mean's 95 % confidence interval.
    pub ci_low: Option<f64>,
    /// Upper end of the mean's 95 % confidence interval.
    pub ci_high: Option<f64>,
    /// The paper's value.
    pub paper: Option<f64>,
    /// Lower end of the band within which the value counts as reproduced.
    pub band_low: Option<f64>,
    /// Upper end of that band.
    pub band_high: Option<f64>,
    /// How the value compares with the paper's.
    pub verdict: Verdict,
    /// About how many runs would decide an undecided value, if a reasonable number does.
    pub wanted: Option<u64>,
}

/// The columns of `values.csv`, in order.
pub const VALUE_COLUMNS: [&str; 14] = [
    "figure",
    "quantity",
    "unit",
    "transport",
    "x",
    "n",
    "mean",
    "ci_low",
    "ci_high",
    "paper",
    "band_low",
    "band_high",
    "verdict",
    "wanted",
];

impl Value {
    /// What the name of a quantity ends in that compares two transports on the same networks.
    pub const DIFFERENCE: &'static str = ": difference";
    /// What stands in the name of a quantity that compares two points of a curve, before the x of the
    /// first.
    pub const CHANGE: &'static str = ": change from ";

    /// Whether the value says how two things differ on the same networks.
    pub fn is_claim(&self) -> bool {
        self.quantity.ends_with(Self::DIFFERENCE) || self.quantity.contains(Self::CHANGE)
    }

    /// Whether it is a claim about two things that no network has both of: there is no difference, and
    /// the mean says nothing.
    pub fn is_unmeasured_claim(&self) -> bool {
        self.n == 0 && self.is_claim()
    }

    fn record(&self) -> Result<[String; 14], String> {
        let number = |name: &str, value: f64| {
            let text = value.is_finite().then(|| value.to_string());
            text.ok_or_else(|| {
                format!(
                    "`{name}` of {} is {value}; it must be finite",
                    self.quantity
                )
            })
        };
        let optional = |name, value: Option<f64>| {
            value.map_or_else(|| Ok(String::new()), |value| number(name, value))
        };
        Ok([
            self.figure.clone(),
            self.quantity.clone(),
            self.unit.clone(),
            self.transport.clone(),
            optional("x", self.x)?,
            self.n.to_string(),
            number("mean", self.mean)?,
            optional("ci_low", self.ci_low)?,
            optional("ci_high", self.ci_high)?,
            optional("paper", self.paper)?,
            optional("band_low", self.band_low)?,
            optional("band_high", self.band_high)?,
            self.verdict.to_string(),
            self.wanted
                .map_or_else(String::new, |wanted| wanted.to_string()),
        ])
    }

    fn from_record(record: &csv::StringRecord) -> Result<Self, String> {
        let cell = |column: usize| record.get(column).unwrap_or_default();
        let text = |column: usize| cell(column).to_owned();
        let number = |column: usize| parse_number(VALUE_COLUMNS[column], cell(column));
        let optional = |column: usize| match cell(column) {
            "" => Ok(None),
            _ => number(column).map(Some),
        };
        let count = |column: usize| {
            cell(column).parse().map_err(|_| {
                let name = VALUE_COLUMNS[column];
                format!("`{name}` is `{}`; it must be a whole number", cell(column))
            })
        };
        Ok(Self {
            figure: text(0),
            quantity: text(1),
            unit: text(2),
            transport: text(3),
            x: optional(4)?,
            n: count(5)?,
            mean: number(6)?,
            ci_low: optional(7)?,
            ci_high: optional(8)?,
            paper: optional(9)?,
            band_low: optional(10)?,
            band_high: optional(11)?,
            verdict: cell(12)
                .parse()
                .map_err(|reason| format!("`verdict`: {reason}"))?,
            wanted: match cell(13) {
                "" => None,
                _ => Some(count(13)?),
            },
        })
    }
}

fn parse_number(column: &str, cell: &str) -> Result<f64, String> {
    let number = cell.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("`{column}` is `{cell}`; it must be a finite number"))
}

/// The values as the text of a `values.csv`.
pub(crate) fn encode(path: &Path, values: &[Value]) -> Result<Vec<u8>, Error> {
    let refused = |reason| Error::Value {
        path: path.to_owned(),
        reason,
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record(VALUE_COLUMNS)
        .expect("memory takes every byte");
    for value in values {
        let record = value.record().map_err(refused)?;
        writer
            .write_record(record)
            .expect("memory takes every byte");
    }
    Ok(writer.into_inner().expect("memory takes every byte"))
}

/// The values in the text of a `values.csv`.
pub(crate) fn decode(path: &Path, text: &[u8]) -> Result<Vec<Value>, Error> {
    let damaged = |reason: String| Error::damaged(path, reason);
    let mut reader = csv::Reader::from_reader(text);
    let header = reader.headers().map_err(|e| damaged(e.to_string()))?;
    if header != VALUE_COLUMNS.as_slice() {
        let expected = VALUE_COLUMNS.join(",");
        return Err(damaged(format!("its first line must be `{expected}`")));
    }
    let mut values = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| damaged(e.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        let value = Value::from_record(&record);
        values.push(value.map_err(|reason| damaged(format!("line {line}: {reason}")))?);
    }
    Ok(values)
}
