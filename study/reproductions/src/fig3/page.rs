//! The page: which behaviours are seen in which form, and the plans as charts.

use hopflow_report::{
    Along, Axis, Block, Cell, Chart, Column, Document, Fact, FigurePage, Mark, Point, Reference,
    Section, Series, Table,
};
use hopflow_results::{Value, Verdict};

use super::names::{CONDITION, INCOMING, OUTGOING, QUEUE, SOURCE_QUEUE, VIRTUAL, label};
use super::settings::{Settings, Solved, Told, at};

/// The page of the experiment.
pub(super) fn document(page: &FigurePage, values: &[Value], settings: &Settings) -> Document {
    let shown = Shown { values, settings };
    let tables = [shown.behaviours(), shown.conditions()].map(Block::Table);
    let mut result = Section::new("Behaviours", tables.into());
    result.prose.clone_from(&page.prose);
    let mut sections = vec![result];
    sections.extend(settings.forms.iter().map(|solved| shown.form(solved)));
    let origin = page.origin.iter().cloned().map(Block::Code).collect();
    sections.push(Section::new("Origin", origin));
    let count = |verdict| values.iter().filter(|v| v.verdict == verdict).count();
    Document {
        title: page.title.clone(),
        subtitle: page.subtitle.clone(),
        facts: vec![
            Fact::new("Reproduced", count(Verdict::Reproduced)),
            Fact::new("Not reproduced", count(Verdict::NotReproduced)),
        ],
        sections,
    }
}

/// What a neighbour told about a circuit.
type Trajectory = fn(&Told) -> &[f64];

struct Shown<'a> {
    values: &'a [Value],
    settings: &'a Settings,
}

impl Shown<'_> {
    /// The verdict on each behaviour in each form.
    fn behaviours(&self) -> Table {
        let judged = |value: &&Value| value.verdict != Verdict::NotJudged;
        self.by_form("Behaviours that the paper describes", judged, |value| {
            Cell::Verdict(value.verdict)
        })
    }

    /// What the behaviours consist of.
    fn conditions(&self) -> Table {
        let is_one = |value: &&Value| value.quantity.starts_with(CONDITION);
        self.by_form("Conditions of the behaviours", is_one, |value| {
            let text = if value.mean == 1.0 { "met" } else { "not met" };
            Cell::Text(text.to_owned())
        })
    }

    /// A row for each quantity, a column for each form.
    fn by_form(
        &self,
        caption: &str,
        wanted: impl Fn(&&Value) -> bool,
        cell: impl Fn(&Value) -> Cell,
    ) -> Table {
        let wanted: Vec<&Value> = self.values.iter().filter(wanted).collect();
        let mut quantities: Vec<&str> = Vec::new();
        for value in &wanted {
            if !quantities.contains(&value.quantity.as_str()) {
                quantities.push(&value.quantity);
            }
        }
        let forms = &self.settings.forms;
        let row = |quantity: &str| {
            let of = |solved: &Solved| {
                let mut values = wanted.iter();
                let is = |v: &&&Value| v.quantity == quantity && v.transport == solved.name;
                values.find(is).map_or(Cell::Empty, |value| cell(value))
            };
            let text = quantity.trim_start_matches(CONDITION).trim_start();
            std::iter::once(Cell::Text(text.to_owned()))
                .chain(forms.iter().map(of))
                .collect()
        };
        let names = forms.iter().map(|solved| Column::new(&solved.name));
        Table {
            caption: caption.to_owned(),
            columns: std::iter::once(Column::new("Number in the figure"))
                .chain(names)
                .collect(),
            rows: quantities.into_iter().map(row).collect(),
        }
    }

    /// The plans in one form.
    fn form(&self, solved: &Solved) -> Section {
        let mut outgoing = self.chart(
            solved,
            (OUTGOING, "cells/s"),
            Some(("taken at most", sink_rate as Trajectory)),
        );
        outgoing.series.push(self.sum(solved));
        outgoing.references.push(Reference::Horizontal {
            label: "capacity".to_owned(),
            y: self.settings.capacity,
        });
        let planned = Some(("planned by the source", source_rate as Trajectory));
        let at_source = Some(("by the source's plan", source_queue as Trajectory));
        let charts = [
            Some(outgoing),
            Some(self.chart(solved, (INCOMING, "cells/s"), planned)),
            Some(self.chart(solved, (QUEUE, "cells"), None)),
            Some(self.chart(solved, (SOURCE_QUEUE, "cells"), at_source)),
            Some(self.chart(solved, (VIRTUAL, "cells/s"), None))
                .filter(|chart| !chart.series.is_empty()),
        ];
        let charts = charts.into_iter().flatten().map(Block::Chart);
        Section::new(&solved.name, charts.collect())
    }

    /// A quantity over the steps, for each circuit, and what neighbours told.
    fn chart(
        &self,
        solved: &Solved,
        (quantity, unit): (&str, &str),
        told: Option<(&str, Trajectory)>,
    ) -> Chart {
        let mut series = Vec::new();
        for (circuit, of) in self.settings.circuits.iter().enumerate() {
            let points = self.points(quantity, &label(solved, circuit));
            let Some(first) = points.first() else {
                continue;
            };
            let announced = told.map(|(what, trajectory)| Series {
                label: format!("circuit {}, {what}", circuit + 1),
                colour: circuit,
                mark: Mark::Paper,
                points: (0..self.settings.horizon)
                    .map(|k| Point::new(first.x + k as f64, at(trajectory(of), k)))
                    .collect(),
            });
            series.push(Series {
                label: format!("circuit {}", circuit + 1),
                colour: circuit,
                mark: Mark::Curve,
                points,
            });
            series.extend(announced);
        }
        series.sort_by_key(|series| series.mark == Mark::Paper);
        let title = format!("{quantity}, {}", solved.name);
        Chart {
            id: title.clone(),
            title,
            caption: "Filled: the relay's plan. Hollow: the plans of its neighbours.".to_owned(),
            x: Axis::new("Step", "").including(0.0),
            y: Axis::new(quantity, unit).including(0.0),
            along: Along::X,
            wide: false,
            series,
            references: Vec::new(),
        }
    }

    fn points(&self, quantity: &str, transport: &str) -> Vec<Point> {
        let values = self.values.iter();
        values
            .filter(|value| value.quantity == quantity && value.transport == transport)
            .filter_map(|value| Some(Point::new(value.x?, value.mean)))
            .collect()
    }

    /// The outgoing rates of all circuits together.
    fn sum(&self, solved: &Solved) -> Series {
        let circuits = self.settings.circuits.len();
        let curves: Vec<Vec<Point>> = (0..circuits)
            .map(|circuit| self.points(OUTGOING, &label(solved, circuit)))
            .collect();
        let steps = curves.iter().map(Vec::len).min().unwrap_or(0);
        let total = |k: usize| Point::new(k as f64, curves.iter().map(|curve| curve[k].y).sum());
        Series {
            label: "all circuits".to_owned(),
            colour: circuits,
            mark: Mark::Curve,
            points: (0..steps).map(total).collect(),
        }
    }
}

fn sink_rate(told: &Told) -> &[f64] {
    &told.sink_rate
}

fn source_rate(told: &Told) -> &[f64] {
    &told.source_rate
}

fn source_queue(told: &Told) -> &[f64] {
    &told.source_queue
}
