//! The page: three charts as in the paper, what departs from them, and why.

use hopflow_report::{
    Along, Axis, Block, Cell, Chart, Column, Document, Fact, FigurePage, Mark, Point, Reference,
    Section, Series, Table,
};
use hopflow_results::{Value, Verdict};
use hopflow_units::{Duration, Rate};

use super::model::{self, Circuit, Window};
use super::story;
use super::values::Values;

/// The transports in the order of their colours.
const TRANSPORTS: [&str; 10] = [
    "vanilla-circuit-window",
    "vanilla-stream-window",
    "backtap",
    "backtap-as-printed",
    "vanilla-circuit-window+refill-10ms",
    "vanilla-stream-window+refill-10ms",
    "backtap+refill-100ms",
    "backtap-as-printed+refill-100ms",
    "backtap+as-published",
    "backtap-as-printed+as-published",
];
/// Those that the paper shows, and `backtap` as it is printed.
const SHOWN: usize = 4;
/// The colour of what is computed and not measured.
const THEORY: usize = 7;
/// The colour of the state after a minute.
const MINUTE: usize = 4;
/// The windows that the paper compares, with the transports that have them.
pub(super) const WINDOWS: [(&str, Window); 2] = [
    (
        TRANSPORTS[0],
        Window {
            cells: 1000,
            increment: 100,
        },
    ),
    (
        TRANSPORTS[1],
        Window {
            cells: 500,
            increment: 50,
        },
    ),
];
/// What the middle relay grants, in kB/s.
const BUCKET: u64 = 1500;

/// The page of the experiment.
pub(super) fn document(page: &FigurePage, values: &[Value]) -> Document {
    let all = Values(values);
    let mut result = Section::new("Result", vec![Block::Table(verdicts(all))]);
    result.prose = story::result(all);
    result.prose.extend(page.prose.iter().cloned());
    let mut refill = Section::new(
        "Sources of the advantage",
        vec![Block::Chart(refill(all)), Block::Table(variants(all))],
    );
    refill.prose = story::advantage(all);
    let origin = page.origin.iter().cloned().map(Block::Code).collect();
    Document {
        title: page.title.clone(),
        subtitle: page.subtitle.clone(),
        facts: facts(all),
        sections: vec![
            result,
            Section::new("Rate", vec![Block::Chart(rate(all))]).with_prose(story::RATE),
            Section::new("Backlog", vec![Block::Chart(backlog(all))]).with_prose(story::BACKLOG),
            Section::new("Delay", vec![Block::Chart(delay(all))]).with_prose(story::DELAY),
            refill,
            settling(all),
            Section::new("Values", vec![Block::Table(judged(all))]),
            Section::new("Origin", origin),
        ],
    }
}

fn facts(values: Values) -> Vec<Fact> {
    let runs = values.0.iter().map(|value| value.n).max().unwrap_or(0);
    let mut facts = vec![Fact::new("Seeds", runs.to_string())];
    for &verdict in Verdict::ALL {
        let count = values.with(verdict).count();
        if verdict != Verdict::NotJudged {
            facts.push(Fact::new(
                story::capitalised(verdict.as_str()),
                count.to_string(),
            ));
        }
    }
    facts
}

fn chart(name: &str, title: &str, unit: &str, series: Vec<Series>) -> Chart {
    Chart {
        id: format!("backtap-fig5-{name}"),
        title: title.to_owned(),
        caption: "Filled: means over the seeds with 95 % confidence intervals. Hollow: the values \
                  that the paper states, with the bands fixed before the runs."
            .to_owned(),
        x: Axis::new("End-to-end round-trip time", "ms").including(0.0),
        y: Axis::new(title, unit).including(0.0),
        along: Along::X,
        wide: true,
        series,
        references: Vec::new(),
    }
}

fn rate(values: Values) -> Chart {
    let mut series = shown(values, "rate");
    series.extend(after_a_minute(values, "rate-at-60s"));
    let mut chart = chart("rate", "Rate", "kB/s", series);
    let knee = |(transport, window): (&str, Window)| Reference::Vertical {
        label: format!("knee, {}", short(transport)),
        x: window.knee(bucket()).as_millis_f64(),
    };
    chart.references.extend(WINDOWS.map(knee));
    chart
}

fn backlog(values: Values) -> Chart {
    let mut series = shown(values, "backlog");
    series.extend(WINDOWS.map(|(transport, window)| predicted(values, transport, window)));
    for (colour, transport) in TRANSPORTS[..2].iter().enumerate() {
        series.extend(stated(values, "backlog", (colour, transport)));
    }
    series.extend(after_a_minute(values, "backlog-at-60s"));
    chart("backlog", "Backlog", "kB", series)
}

fn delay(values: Values) -> Chart {
    let mut series = shown(values, "delay");
    let half = |rtt: u64| Point::new(rtt as f64, rtt as f64 / 2.0);
    series.push(Series {
        label: "half the round-trip time".to_owned(),
        colour: THEORY,
        mark: Mark::Line,
        points: values.rtts().into_iter().map(half).collect(),
    });
    let mut chart = chart("delay", "Delay", "ms", series);
    chart.caption = String::from("Means over the seeds with 95 % confidence intervals.");
    chart
}

fn refill(values: Values) -> Chart {
    let series = [0, 2, 4, 6].map(|colour| measured_curve(values, "delay", colour));
    let mut chart = chart(
        "refill",
        "Delay with both refill intervals",
        "ms",
        series.into(),
    );
    chart.y = Axis::new("Delay", "ms").including(0.0);
    chart.caption = String::from(
        "Means over the seeds with 95 % confidence intervals. The refill interval is 100 ms for \
         vanilla and 10 ms for backtap unless the name says otherwise.",
    );
    chart
}

const fn bucket() -> Rate {
    Rate::from_kilobytes_per_sec(BUCKET)
}

fn shown(values: Values, quantity: &str) -> Vec<Series> {
    let curves = (0..SHOWN).map(|colour| measured_curve(values, quantity, colour));
    curves.collect()
}

fn measured_curve(values: Values, quantity: &str, colour: usize) -> Series {
    let transport = TRANSPORTS[colour];
    Series {
        label: transport.to_owned(),
        colour,
        mark: Mark::Curve,
        points: points(values, quantity, transport),
    }
}

fn points(values: Values, quantity: &str, transport: &str) -> Vec<Point> {
    let point = |value: &Value| {
        Some(Point {
            x: value.x?,
            y: value.mean,
            interval: value.ci_low.zip(value.ci_high),
        })
    };
    values.of(quantity, transport).filter_map(point).collect()
}

/// What the paper states of a transport: a series for each range that it speaks of.
fn stated(values: Values, quantity: &str, (colour, transport): (usize, &str)) -> Vec<Series> {
    let point = |value: &Value| {
        let interval = value.band_low.zip(value.band_high);
        let (x, y) = value.x.zip(value.paper)?;
        Some(Point { x, y, interval })
    };
    let stated = values.of(quantity, transport);
    let stated: Vec<&Value> = stated.filter(|value| value.paper.is_some()).collect();
    let ranges = stated.chunk_by(|a, b| a.paper == b.paper);
    let series = ranges.filter_map(|range| {
        let points: Vec<Point> = range.iter().filter_map(|value| point(value)).collect();
        let (first, last) = (points.first()?, points.last()?);
        Some(Series {
            label: format!("paper, {}, {} to {} ms", short(transport), first.x, last.x),
            colour,
            mark: Mark::Paper,
            points,
        })
    });
    series.collect()
}

/// The transport that has not settled after a minute at long round trips, as it is then.
fn after_a_minute(values: Values, quantity: &str) -> Option<Series> {
    const FROM: f64 = 300.0;
    let transport = TRANSPORTS[3];
    let mut points = points(values, quantity, transport);
    points.retain(|point| point.x >= FROM);
    (!points.is_empty()).then(|| Series {
        label: format!("{transport}, after a minute"),
        colour: MINUTE,
        mark: Mark::Curve,
        points,
    })
}

fn short(transport: &str) -> &str {
    transport.trim_start_matches("vanilla-")
}

/// The event model's backlog.
///
/// Its round-trip times avoid 150 and 300 ms, where SENDMEs are back at the very time of a refill.
fn predicted(values: Values, transport: &str, window: Window) -> Series {
    const STEP: usize = 8;
    let longest = values.rtts().last().copied().unwrap_or(0);
    let point = |rtt: u64| {
        let circuit = Circuit::of_figure(window, bucket(), Duration::from_millis(rtt));
        Point::new(rtt as f64, model::predict(&circuit).backlog / 1e3)
    };
    Series {
        label: format!("event model, {}", short(transport)),
        colour: THEORY,
        mark: Mark::Line,
        points: (0..=longest).step_by(STEP).map(point).collect(),
    }
}

/// How many values of each figure and transport have which verdict.
fn verdicts(values: Values) -> Table {
    let mut rows = Vec::new();
    for quantity in ["rate", "backlog", "backlog-linearity", "delay"] {
        for (colour, transport) in TRANSPORTS.iter().enumerate() {
            let count = |verdict| {
                let of = values.of(quantity, transport);
                of.filter(|value| value.verdict == verdict).count() as u64
            };
            let verdicts = Verdict::ALL.iter().map(|verdict| count(*verdict));
            let judged = values.of(quantity, transport);
            if judged.filter(|v| v.verdict != Verdict::NotJudged).count() > 0 {
                let mut row = vec![Cell::Text(quantity.to_owned()), named(transport, colour)];
                row.extend(verdicts.map(Cell::Count));
                rows.push(row);
            }
        }
    }
    let mut columns = vec![Column::new("Quantity"), Column::new("Transport")];
    let headings = Verdict::ALL.iter();
    columns.extend(headings.map(|v| Column::new(story::capitalised(v.as_str()))));
    Table {
        caption: "Values by verdict".to_owned(),
        columns,
        rows,
    }
}

fn variants(values: Values) -> Table {
    const AT: [u64; 2] = [50, 500];
    let mut columns = vec![Column::new("Transport")];
    let mut rows: Vec<Vec<Cell>> = (0..TRANSPORTS.len())
        .map(|colour| vec![named(TRANSPORTS[colour], colour)])
        .collect();
    for rtt in AT {
        for (quantity, unit) in [("rate", "kB/s"), ("backlog", "kB"), ("delay", "ms")] {
            let heading = format!("{} at {rtt} ms", story::capitalised(quantity));
            columns.push(Column::with_unit(heading, unit));
            for (row, transport) in rows.iter_mut().zip(TRANSPORTS) {
                let value = values.at(quantity, transport, rtt);
                row.push(value.map_or(Cell::Empty, measured));
            }
        }
    }
    Table {
        caption: "Each transport under the other's refill interval, and charged as published"
            .to_owned(),
        columns,
        rows,
    }
}

fn settling(values: Values) -> Section {
    let tables = [
        (
            "settling",
            "Seconds from the first byte until the rate stays above 95 %",
            SHOWN,
        ),
        (
            "draining",
            "Seconds from the first byte until the backlog stays low",
            SHOWN,
        ),
        (
            "peak-backlog",
            "The largest backlog of the run, in kB",
            SHOWN,
        ),
        ("rate-at-60s", "Rate after a minute, in kB/s", SHOWN),
        ("backlog-at-60s", "Backlog after a minute, in kB", SHOWN),
    ];
    let table = |(quantity, caption, shown)| Block::Table(swept(values, quantity, caption, shown));
    let mut section = Section::new("Start and settling", tables.map(table).to_vec());
    section.prose = story::settling(values);
    section
}

fn swept(values: Values, quantity: &str, caption: &str, shown: usize) -> Table {
    let rtts = values.rtts();
    let mut columns = vec![Column::new("Transport")];
    columns.extend(
        rtts.iter()
            .map(|rtt| Column::with_unit(rtt.to_string(), "ms")),
    );
    let row = |(colour, transport): (usize, &&str)| {
        let of_rtt = |rtt: &u64| values.mean(quantity, transport, *rtt);
        let mut row = vec![named(transport, colour)];
        row.extend(rtts.iter().map(|rtt| Cell::number(of_rtt(rtt))));
        let known = rtts.iter().any(|rtt| of_rtt(rtt).is_some());
        known.then_some(row)
    };
    Table {
        caption: format!("{caption}, by round-trip time"),
        columns,
        rows: TRANSPORTS[..shown]
            .iter()
            .enumerate()
            .filter_map(row)
            .collect(),
    }
}

/// The values that the paper says something about.
fn judged(values: Values) -> Table {
    let columns = [
        "Quantity",
        "Transport",
        "At",
        "Measured",
        "Paper",
        "Allowed",
        "Verdict",
    ];
    let row = |value: &Value| {
        let colour = TRANSPORTS
            .iter()
            .position(|other| *other == value.transport);
        let quantity = match value.unit.as_str() {
            "" => value.quantity.clone(),
            unit => format!("{} ({unit})", value.quantity),
        };
        vec![
            Cell::Text(quantity),
            named(&value.transport, colour.unwrap_or(0)),
            Cell::Text(value.x.map_or(String::new(), |x| format!("{x} ms"))),
            measured(value),
            Cell::number(value.paper),
            value
                .band_low
                .zip(value.band_high)
                .map_or(Cell::Empty, |(l, h)| Cell::Range(l, h)),
            Cell::Verdict(value.verdict),
        ]
    };
    let judged = values
        .0
        .iter()
        .filter(|value| value.verdict != Verdict::NotJudged);
    Table {
        caption: "Measured values, the paper's values, and the bands fixed before the runs"
            .to_owned(),
        columns: columns.map(Column::new).to_vec(),
        rows: judged.map(row).collect(),
    }
}

fn named(transport: &str, colour: usize) -> Cell {
    Cell::Label {
        text: transport.to_owned(),
        colour,
    }
}

fn measured(value: &Value) -> Cell {
    Cell::Number {
        value: value.mean,
        half_width: value.ci_high.map(|high| high - value.mean),
    }
}
