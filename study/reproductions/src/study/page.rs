//! The page of a study: claims first, then distributions, then everything else in tables.

use hopflow_report::{
    Along, Axis, Block, Cell, Chart, Column, Document, Fact, FigurePage, Mark, Point, Section,
    Series, Table, curves, significant,
};
use hopflow_results::{Value, Verdict};

use crate::claims;
use crate::reproduction::is_missing;

/// The page of the values; the x of some quantities are percentiles, of others what is swept.
pub(crate) fn document(
    page: &FigurePage,
    values: &[Value],
    is_distribution: impl Fn(&str) -> bool,
) -> Document {
    let labels = labels(values);
    let mut sections = Vec::new();
    if values.iter().any(Value::is_claim) {
        let table = Block::Table(claimed(values));
        sections.push(Section::new("Claims", vec![table]));
    }
    if measured(values).any(is_judged) {
        sections.push(Section::new("Paper and ours", vec![judged(values)]));
    }
    let swept = sections_of_curves(page, values, &labels, is_distribution);
    sections.extend(swept);
    sections.push(Section::new(
        "Means over networks",
        vec![scalars(values, &labels)],
    ));
    if let Some(first) = sections.first_mut() {
        first.prose.clone_from(&page.prose);
    }
    let origin = page.origin.iter().cloned().map(Block::Code).collect();
    sections.push(Section::new("Origin", origin));
    Document {
        title: page.title.clone(),
        subtitle: page.subtitle.clone(),
        facts: facts(values),
        sections,
    }
}

fn measured(values: &[Value]) -> impl Iterator<Item = &Value> {
    values.iter().filter(|value| !value.is_claim())
}

/// Whether a value stands beside one of the paper, or in its place because no run has it.
fn is_judged(value: &Value) -> bool {
    value.paper.is_some() || value.verdict != Verdict::NotJudged
}

/// The transports in the order in which they first appear.
pub(crate) fn labels(values: &[Value]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for value in measured(values) {
        if !labels.contains(&value.transport) {
            labels.push(value.transport.clone());
        }
    }
    labels
}

fn facts(values: &[Value]) -> Vec<Fact> {
    let networks = values.iter().map(|value| value.n).max().unwrap_or(0);
    let mut facts = vec![Fact::new("Networks", networks)];
    for (what, of_claims) in [("Claims", true), ("Values", false)] {
        let counts = Verdict::ALL.iter().filter_map(|verdict| {
            let of_kind = values.iter().filter(|value| value.verdict == *verdict);
            let count = of_kind
                .filter(|value| value.is_claim() == of_claims)
                .count();
            (*verdict != Verdict::NotJudged).then(|| Fact::new(format!("{what} {verdict}"), count))
        });
        if values.iter().any(|value| value.is_claim() == of_claims) {
            facts.extend(counts);
        }
    }
    facts
}

fn interval(value: &Value) -> Cell {
    if value.is_unmeasured_claim() {
        return Cell::Empty;
    }
    let end = |end: Option<f64>| end.map_or("?".to_owned(), |end| format!("{end:+.1}"));
    let unit = match value.unit.as_str() {
        "%" => String::new(),
        unit => format!(" {unit}"),
    };
    Cell::Text(format!(
        "{:+.1} [{}, {}]{unit}",
        value.mean,
        end(value.ci_low),
        end(value.ci_high)
    ))
}

/// Differences on the same networks, between two transports or two points of a curve.
fn claimed(values: &[Value]) -> Table {
    let rows = values.iter().filter(|value| value.is_claim());
    let rows = rows.map(|value| {
        let at = value.x.map_or(String::new(), |x| format!(" at {x}"));
        let (first, second) = match claims::pair(value) {
            Some((first, other)) => (format!("{first}{at}"), other.to_owned()),
            None => {
                let from = claims::before(value).unwrap_or_default();
                (format!("{}{at}", value.transport), format!("at {from}"))
            }
        };
        vec![
            Cell::Text(value.figure.clone()),
            Cell::Text(claims::subject(value).to_owned()),
            Cell::Text(first),
            Cell::Text(second),
            interval(value),
            Cell::Text(claimed_band(value)),
            Cell::Count(value.n),
            Cell::Verdict(value.verdict),
            wanted(value),
        ]
    });
    Table {
        caption: "What the paper claims of the first against the second: the difference on the \
                  same networks with its 95 % interval, in percent of the second unless a unit is \
                  named. A claim is decided if its family, all claims of this page, decides it \
                  with a probability of error of 5 % for all of them together. Without a \
                  difference no network has both."
            .to_owned(),
        columns: vec![
            Column::new("Figure"),
            Column::new("Quantity"),
            Column::new("First"),
            Column::new("Second"),
            Column::new("Difference"),
            Column::new("Claimed"),
            Column::figures("Networks"),
            Column::new("Verdict"),
            Column::figures("Wanted"),
        ],
        rows: rows.collect(),
    }
}

/// What the paper says of a difference.
fn claimed_band(value: &Value) -> String {
    match (value.band_low, value.band_high) {
        (Some(low), Some(high)) => format!("{low:+} to {high:+} %"),
        (Some(low), None) if low < 0.0 => format!("{low:+} % or more"),
        (Some(_), None) => "higher".to_owned(),
        (None, Some(_)) => "lower".to_owned(),
        (None, None) => "a percentage; zero has none".to_owned(),
    }
}

/// Networks that would decide an undecided value.
fn wanted(value: &Value) -> Cell {
    value.wanted.map_or(Cell::Empty, Cell::Count)
}

/// The values that the paper states, beside ours, and how many runs have those that none has.
fn judged(values: &[Value]) -> Block {
    let stated = measured(values).filter(|value| is_judged(value));
    let rows = stated.map(|value| {
        vec![
            Cell::Text(value.figure.clone()),
            Cell::Text(name(value)),
            Cell::Text(value.transport.clone()),
            mean(value),
            figures(value.paper.map_or(String::new(), significant)),
            band(value),
            Cell::Verdict(value.verdict),
            wanted(value),
        ]
    });
    Block::Table(Table {
        caption:
            "Values stated in the paper, and how many networks would decide what is undecided \
                  (blank: more than 100). Where no run has the value, the row counts the runs that have it."
                .to_owned(),
        columns: vec![
            Column::new("Figure"),
            Column::new("Quantity"),
            Column::new("Transport"),
            Column::figures("Ours"),
            Column::figures("Paper"),
            Column::figures("Band"),
            Column::new("Verdict"),
            Column::figures("Wanted"),
        ],
        rows: rows.collect(),
    })
}

/// What counts as the paper's value; a number of runs has one end alone.
fn band(value: &Value) -> Cell {
    match (value.band_low, value.band_high) {
        (Some(low), Some(high)) => {
            figures(format!("{} to {}", significant(low), significant(high)))
        }
        (Some(low), None) => figures(format!("{low} or more")),
        (None, Some(high)) => figures(format!("{high} or less")),
        (None, None) => Cell::Empty,
    }
}

fn name(value: &Value) -> String {
    let at = value.x.map_or(String::new(), |x| format!(" at {x}"));
    let unit = match value.unit.as_str() {
        "" => String::new(),
        unit => format!(" ({unit})"),
    };
    format!("{}{at}{unit}", value.quantity)
}

fn figures(text: String) -> Cell {
    Cell::Figures { text, faint: false }
}

fn mean(value: &Value) -> Cell {
    let interval = value.ci_low.zip(value.ci_high);
    let interval = interval.filter(|_| !is_missing(value));
    let half = interval.map_or(String::new(), |(low, high)| {
        format!(" ± {}", significant((high - low) / 2.0))
    });
    figures(format!("{}{half}", significant(value.mean)))
}

/// A section for each quantity that has values at several x: distributions by percentile, or what
/// is swept.
fn sections_of_curves(
    page: &FigurePage,
    values: &[Value],
    labels: &[String],
    is_distribution: impl Fn(&str) -> bool,
) -> Vec<Section> {
    let mut quantities: Vec<&str> = Vec::new();
    // A number of runs at some x is no curve over it.
    let swept = measured(values).filter(|value| value.x.is_some() && !is_missing(value));
    for value in swept {
        if !quantities.contains(&value.quantity.as_str()) {
            quantities.push(&value.quantity);
        }
    }
    let x = page
        .x
        .clone()
        .unwrap_or_else(|| Axis::new("Percentile", "%"));
    let section = |quantity: &str| {
        let of_quantity: Vec<&Value> = measured(values)
            .filter(|value| value.quantity == quantity)
            .collect();
        let chart = if is_distribution(quantity) {
            distribution(quantity, &of_quantity, labels)
        } else {
            curves(&of_quantity, &x, labels)
        };
        Section::new(quantity, vec![Block::Chart(chart)])
    };
    quantities.into_iter().map(section).collect()
}

/// The distribution of a quantity: its percentiles, each a mean over networks.
fn distribution(quantity: &str, values: &[&Value], labels: &[String]) -> Chart {
    let of_transport = |(colour, label): (usize, &String)| {
        let point = |value: &&&Value| Point {
            x: value.mean,
            y: value.x.unwrap_or_default(),
            interval: value.ci_low.zip(value.ci_high),
        };
        let points = values.iter().filter(|value| value.transport == *label);
        let points: Vec<Point> = points.map(|value| point(&value)).collect();
        (!points.is_empty()).then(|| Series {
            label: label.clone(),
            colour,
            mark: Mark::Curve,
            points,
        })
    };
    let unit = values.first().map_or("", |value| value.unit.as_str());
    Chart {
        id: format!("distribution of {quantity}"),
        title: format!("Distribution of {quantity}"),
        caption: "Percentiles of each network's values, as means over networks with 95 % \
                  intervals."
            .to_owned(),
        x: Axis::new(quantity, unit).log(unit == "s"),
        y: Axis::new("Share", "%").including(0.0).including(100.0),
        along: Along::Y,
        wide: true,
        series: labels.iter().enumerate().filter_map(of_transport).collect(),
        references: Vec::new(),
    }
}

/// What has one value per network: a row for each quantity, a column for each transport.
fn scalars(values: &[Value], labels: &[String]) -> Block {
    let mut rows: Vec<(String, Vec<Cell>)> = Vec::new();
    for value in measured(values).filter(|value| value.x.is_none()) {
        let name = name(value);
        let place = rows.iter().position(|(other, _)| *other == name);
        let place = place.unwrap_or_else(|| {
            rows.push((name, vec![Cell::Empty; labels.len()]));
            rows.len() - 1
        });
        if let Some(column) = labels.iter().position(|label| *label == value.transport) {
            rows[place].1[column] = mean(value);
        }
    }
    let mut columns = vec![Column::new("Quantity")];
    columns.extend(labels.iter().map(Column::figures));
    let row = |(name, cells): (String, Vec<Cell>)| {
        let mut row = vec![Cell::Text(name)];
        row.extend(cells);
        row
    };
    Block::Table(Table {
        caption: "Means over sampled networks, with half the width of the 95 % interval."
            .to_owned(),
        columns,
        rows: rows.into_iter().map(row).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_says_what_is_claimed_though_there_is_no_ratio_or_no_difference() {
        let claim = |n, band: [Option<f64>; 2]| Value {
            figure: "f".to_owned(),
            quantity: "rate: difference".to_owned(),
            unit: "%".to_owned(),
            transport: "a vs b".to_owned(),
            x: None,
            n,
            mean: 0.0,
            ci_low: None,
            ci_high: None,
            paper: None,
            band_low: band[0],
            band_high: band[1],
            verdict: Verdict::Undecided,
            wanted: None,
        };
        let said = |band| claimed_band(&claim(3, band));
        assert_eq!(said([None, Some(0.0)]), "lower");
        assert_eq!(said([Some(0.0), None]), "higher");
        assert_eq!(said([None, None]), "a percentage; zero has none");
        assert_eq!(interval(&claim(0, [None, Some(0.0)])), Cell::Empty);
        assert_ne!(interval(&claim(1, [None, Some(0.0)])), Cell::Empty);
    }

    #[test]
    fn what_no_run_has_is_in_the_table_of_the_paper_and_is_no_curve() {
        let value = |quantity: &str, mean: f64| Value {
            figure: "f".to_owned(),
            quantity: quantity.to_owned(),
            unit: String::new(),
            transport: "a".to_owned(),
            x: Some(50.0),
            n: 3,
            mean,
            ci_low: Some(mean),
            ci_high: Some(mean),
            paper: None,
            band_low: None,
            band_high: None,
            verdict: Verdict::NotJudged,
            wanted: None,
        };
        let missed = Value {
            band_low: Some(1.0),
            verdict: Verdict::NotReproduced,
            ..value("time: runs with a value", 0.0)
        };
        assert!(is_missing(&missed));
        let values = [value("rate", 5.0), missed];
        let document = document(&FigurePage::default(), &values, |_| true);
        let headings = document.sections.iter().map(|it| it.heading.as_str());
        let headings: Vec<&str> = headings.collect();
        let expected = ["Paper and ours", "rate", "Means over networks", "Origin"];
        assert_eq!(headings, expected);
        let [Block::Table(table)] = &document.sections[0].blocks[..] else {
            panic!("no table")
        };
        assert_eq!(table.rows.len(), 1);
        let row = &table.rows[0];
        assert_eq!(
            row[1],
            Cell::Text("time: runs with a value at 50".to_owned())
        );
        assert_eq!(row[5], figures("1 or more".to_owned()));
        assert_eq!(row[6], Cell::Verdict(Verdict::NotReproduced));
    }
}
