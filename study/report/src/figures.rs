//! Pages of reproduced figures: measured values beside a paper's.

use hopflow_results::{Value, Verdict};

use crate::model::{
    Along, Axis, Block, Cell, Chart, Code, Column, Document, Fact, Mark, Point, Section, Series,
    Table,
};

/// Different x that make a chart worth its place.
const CURVE: usize = 3;

/// What a page of a figure says beside its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigurePage {
    /// The name of the page.
    pub title: String,
    /// What the figure shows and which paper it is from.
    pub subtitle: String,
    /// What is swept: label and unit; `None` where nothing is.
    pub x: Option<Axis>,
    /// Paragraphs on how far the values agree, and why not.
    pub prose: Vec<String>,
    /// How the values were made: scenario, command, seeds.
    pub origin: Vec<Code>,
}

impl FigurePage {
    /// A page on `values` when nothing else is known.
    pub(crate) fn of(values: &[Value]) -> Self {
        let mut figures: Vec<&str> = values.iter().map(|value| value.figure.as_str()).collect();
        figures.dedup();
        Self {
            title: figures.join(", "),
            subtitle: "Measured values and the paper’s.".to_owned(),
            ..Self::default()
        }
    }
}

/// The page of a reproduced figure: each quantity as curves, where something was swept, and as a
/// table with verdicts.
pub fn page(page: &FigurePage, values: &[Value]) -> Document {
    let labels = labels(values);
    let section = |(heading, values): (String, Vec<&Value>)| {
        Section::new(heading, blocks(&values, page.x.as_ref(), &labels))
    };
    let mut sections: Vec<Section> = quantities(values).into_iter().map(section).collect();
    if let Some(first) = sections.first_mut() {
        first.prose.clone_from(&page.prose);
    }
    if !page.origin.is_empty() {
        let origin = page.origin.iter().cloned().map(Block::Code).collect();
        sections.push(Section::new("Origin", origin));
    }
    Document {
        title: page.title.clone(),
        subtitle: page.subtitle.clone(),
        facts: verdict_facts(values),
        sections,
    }
}

/// All values of a figure in one section, with the colours of transports that appear elsewhere.
pub(crate) fn section(heading: &str, values: &[Value], labels: &[String]) -> Section {
    let mut all = labels.to_vec();
    all.extend(
        self::labels(values)
            .into_iter()
            .filter(|label| !labels.contains(label)),
    );
    let blocks = quantities(values)
        .into_iter()
        .flat_map(|(_, values)| blocks(&values, None, &all));
    Section::new(heading, blocks.collect())
}

/// The curves of one quantity over the swept value: measured means with their intervals, and the
/// paper's values with the band for them.
///
/// `labels` lists the transports in the order of their colours.
pub fn curves(values: &[&Value], x: &Axis, labels: &[String]) -> Chart {
    let mut series = Vec::new();
    for (colour, label) in labels.iter().enumerate() {
        let of_transport = || values.iter().filter(|value| value.transport == *label);
        let measured: Vec<Point> = of_transport().filter_map(|value| measured(value)).collect();
        let paper: Vec<Point> = of_transport().filter_map(|value| paper(value)).collect();
        let curve = |label: String, mark, mut points: Vec<Point>| {
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            (!points.is_empty()).then_some(Series {
                label,
                colour,
                mark,
                points,
            })
        };
        let name = if label.is_empty() { "measured" } else { label };
        series.extend(curve(name.to_owned(), Mark::Curve, measured));
        series.extend(curve(format!("{name} (paper)"), Mark::Paper, paper));
    }
    // The legend names what was measured first.
    series.sort_by_key(|series| series.mark == Mark::Paper);
    let quantity = quantity(values);
    let unit = values.first().map_or("", |value| value.unit.as_str());
    let title = format!("{quantity} over {}", uncapitalised(&x.label));
    Chart {
        id: title.clone(),
        title,
        caption: "Filled: means over runs with 95 % confidence intervals. Hollow: the paper’s \
                  values, with the band within which a value counts as reproduced."
            .to_owned(),
        x: x.clone(),
        y: Axis::new(quantity, unit).including(0.0),
        along: Along::X,
        wide: true,
        series,
        references: Vec::new(),
    }
}

/// The values of one quantity with the paper's, the band for it, and the verdict.
///
/// `x` names the swept value; `labels` lists the transports in the order of their colours.
pub fn value_table(values: &[&Value], x: &Axis, labels: &[String]) -> Table {
    let unit = values.first().map_or("", |value| value.unit.as_str());
    let swept = values.iter().any(|value| value.x.is_some());
    let named = values.iter().any(|value| !value.transport.is_empty());
    let columns = [
        Column::new("Transport"),
        Column::with_unit(&x.label, &x.unit),
        Column::with_unit("Measured", unit),
        Column::with_unit("Paper", unit),
        Column::with_unit("Band", unit),
        Column::new("Runs"),
        Column::new("Verdict"),
        Column::new("Wanted"),
    ];
    let undecided = values.iter().any(|value| value.wanted.is_some());
    let kept = [named, swept, true, true, true, true, true, undecided];
    let rows = values.iter().map(|value| cells(value, labels));
    Table {
        caption: format!(
            "{}: means over runs, ± half of a 95 % confidence interval",
            quantity(values)
        ),
        columns: shown(columns, kept),
        rows: rows.map(|row| shown(row, kept)).collect(),
    }
}

/// The row of a value, in all columns.
fn cells(value: &Value, labels: &[String]) -> [Cell; 8] {
    let transport = Cell::Label {
        text: value.transport.clone(),
        colour: labels
            .iter()
            .position(|label| *label == value.transport)
            .unwrap_or(0),
    };
    let measured = if value.is_unmeasured_claim() {
        Cell::Empty
    } else {
        Cell::Number {
            value: value.mean,
            half_width: half_width(value),
        }
    };
    let band = value.band_low.zip(value.band_high);
    [
        transport,
        Cell::number(value.x),
        measured,
        Cell::number(value.paper),
        band.map_or(Cell::Empty, |(low, high)| Cell::Range(low, high)),
        Cell::Count(value.n),
        Cell::Verdict(value.verdict),
        value.wanted.map_or(Cell::Empty, Cell::Count),
    ]
}

/// The parts that are kept.
fn shown<T>(parts: [T; 8], kept: [bool; 8]) -> Vec<T> {
    let parts = parts.into_iter().zip(kept);
    parts
        .filter_map(|(part, kept)| kept.then_some(part))
        .collect()
}

fn blocks(values: &[&Value], x: Option<&Axis>, labels: &[String]) -> Vec<Block> {
    let unnamed = Axis::new("Swept value", "");
    let x = x.unwrap_or(&unnamed);
    let mut swept: Vec<f64> = values.iter().filter_map(|value| value.x).collect();
    swept.sort_by(f64::total_cmp);
    swept.dedup();
    let mut blocks = Vec::new();
    if swept.len() >= CURVE {
        blocks.push(Block::Chart(curves(values, x, labels)));
    }
    blocks.push(Block::Table(value_table(values, x, labels)));
    blocks
}

fn measured(value: &Value) -> Option<Point> {
    let x = value.x.filter(|_| !value.is_unmeasured_claim())?;
    Some(Point {
        x,
        y: value.mean,
        interval: value.ci_low.zip(value.ci_high),
    })
}

fn paper(value: &Value) -> Option<Point> {
    Some(Point {
        x: value.x?,
        y: value.paper?,
        interval: value.band_low.zip(value.band_high),
    })
}

fn half_width(value: &Value) -> Option<f64> {
    value
        .ci_low
        .zip(value.ci_high)
        .map(|(low, high)| (high - low) / 2.0)
}

/// The values by figure and quantity, in the order of their first value, under short headings.
fn quantities(values: &[Value]) -> Vec<(String, Vec<&Value>)> {
    let mut groups: Vec<Vec<&Value>> = Vec::new();
    for value in values {
        let same = |group: &&mut Vec<&Value>| {
            group[0].figure == value.figure && group[0].quantity == value.quantity
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(value),
            None => groups.push(vec![value]),
        }
    }
    let several = values.iter().any(|value| value.figure != values[0].figure);
    let heading = |group: &[&Value]| {
        let quantity = quantity(group);
        if several {
            format!("{}: {quantity}", group[0].figure)
        } else {
            quantity
        }
    };
    groups
        .into_iter()
        .map(|group| (heading(&group), group))
        .collect()
}

/// The quantity of a group, as a heading.
fn quantity(values: &[&Value]) -> String {
    values
        .first()
        .map_or_else(String::new, |value| capitalised(&value.quantity))
}

/// The transports in the order of their first value.
fn labels(values: &[Value]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for value in values {
        if !labels.contains(&value.transport) {
            labels.push(value.transport.clone());
        }
    }
    labels
}

fn verdict_facts(values: &[Value]) -> Vec<Fact> {
    let count = |verdict| {
        values
            .iter()
            .filter(|value| value.verdict == verdict)
            .count()
    };
    let fact =
        |verdict: &Verdict| Fact::new(capitalised(verdict.as_str()), count(*verdict).to_string());
    let mut facts = vec![Fact::new("Values", values.len().to_string())];
    facts.extend(Verdict::ALL.iter().map(fact));
    facts
}

/// Text within a sentence; what looks like an abbreviation stays as it is.
fn uncapitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next();
    match (first, chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
