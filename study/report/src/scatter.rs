//! Points that several quantities tell about, of which readers choose two.

use crate::model::{Along, Axis, Chart, Mark, Point, Series};

/// The colour of the line through the points that no other beats; see [`Series::colour`].
const FRONT_COLOUR: usize = 7;

/// A chart of points with several quantities each, in categories by which readers filter.
///
/// Drawings for files and for pages without a script show the quantities that come first.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    pub(crate) measures: Vec<Measure>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) spots: Vec<Spot>,
    /// The quantities on the two axes at first.
    pub(crate) axes: (usize, usize),
    /// The filter that colours show at first.
    pub(crate) coloured: usize,
    /// What is drawn where no script runs.
    pub(crate) chart: Chart,
}

/// A quantity of a [`Scatter`].
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Name and unit.
    pub axis: Axis,
    /// Whether large values are the better ones.
    pub higher_is_better: bool,
}

/// A way to divide the points of a [`Scatter`] into categories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// What the categories are about.
    pub name: String,
    /// The categories.
    pub values: Vec<String>,
}

/// A point of a [`Scatter`].
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// Its name.
    pub label: String,
    /// Its category by each filter.
    pub categories: Vec<usize>,
    /// Each quantity, where it is known, with its interval.
    pub values: Vec<Option<hopflow_stats::Mean>>,
}

impl Scatter {
    /// A chart of `spots` that shows the quantities `axes` at first, coloured by one filter.
    ///
    /// `text` is the chart's name for files, its title, and how to read it.
    pub fn new(
        text: [&str; 3],
        measures: Vec<Measure>,
        filters: Vec<Filter>,
        spots: Vec<Spot>,
        (axes, coloured): ((usize, usize), usize),
    ) -> Self {
        let [id, title, caption] = text.map(str::to_owned);
        let axis = |measure: usize| measures[measure].axis.clone().including(0.0);
        let chart = Chart {
            id,
            title,
            caption,
            x: axis(axes.0),
            y: axis(axes.1),
            along: Along::X,
            wide: true,
            series: Vec::new(),
            references: Vec::new(),
        };
        let mut scatter = Self {
            measures,
            filters,
            spots,
            axes,
            coloured,
            chart,
        };
        scatter.chart.series = scatter.series();
        scatter
    }

    /// The front, below the points of each category.
    fn series(&self) -> Vec<Series> {
        let front = Series {
            label: "front".to_owned(),
            colour: FRONT_COLOUR,
            mark: Mark::Line,
            points: self.points(|spot| self.is_on_front(spot)),
        };
        let categories = self.filters[self.coloured].values.iter().enumerate();
        let of_category = |(number, label): (usize, &String)| Series {
            label: label.clone(),
            colour: number,
            mark: Mark::Points,
            points: self.points(|spot| spot.categories[self.coloured] == number),
        };
        std::iter::once(front)
            .chain(categories.map(of_category))
            .filter(|series| !series.points.is_empty())
            .collect()
    }

    fn points(&self, which: impl Fn(&Spot) -> bool) -> Vec<Point> {
        let spots = self.spots.iter().filter(|spot| which(spot));
        let point = |spot: &Spot| {
            let (x, y) = (spot.values[self.axes.0]?, spot.values[self.axes.1]?);
            Some(Point {
                x: x.mean,
                y: y.mean,
                interval: y.low().zip(y.high()),
            })
        };
        let mut points: Vec<Point> = spots.filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    }

    /// Whether no other point is at least as good on both axes and better on one.
    fn is_on_front(&self, spot: &Spot) -> bool {
        let costs =
            |spot: &Spot| Some([self.cost(spot, self.axes.0)?, self.cost(spot, self.axes.1)?]);
        let Some(own) = costs(spot) else {
            return false;
        };
        let mut others = self.spots.iter().filter_map(costs);
        !others.any(|other| other[0] <= own[0] && other[1] <= own[1] && other != own)
    }

    /// A quantity of a point, so that smaller is better.
    fn cost(&self, spot: &Spot, measure: usize) -> Option<f64> {
        let value = spot.values[measure]?.mean;
        Some(if self.measures[measure].higher_is_better {
            -value
        } else {
            value
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hopflow_stats::Mean;

    /// Three points, of which the second is worse than the first on both axes.
    pub(crate) fn scatter() -> Scatter {
        let measure = |label, higher_is_better| Measure {
            axis: Axis::new(label, "u"),
            higher_is_better,
        };
        let spot = |label: &str, category, values: [f64; 2]| Spot {
            label: label.to_owned(),
            categories: vec![category],
            values: values.map(|value| Mean::of(&[value, value])).to_vec(),
        };
        let filter = Filter {
            name: "Kind".to_owned(),
            values: vec!["old".to_owned(), "<new>".to_owned()],
        };
        Scatter::new(
            ["three", "Three points", "Read it."],
            vec![measure("Goodput", true), measure("Latency", false)],
            vec![filter],
            vec![
                spot("a", 0, [5.0, 20.0]),
                spot("b", 0, [4.0, 30.0]),
                spot("c", 1, [3.0, 10.0]),
            ],
            ((0, 1), 0),
        )
    }

    #[test]
    fn the_drawing_has_the_front_and_a_series_for_each_category() {
        let chart = scatter().chart;
        let shown: Vec<_> = chart
            .series
            .iter()
            .map(|series| (series.label.as_str(), series.points.len()))
            .collect();
        assert_eq!(shown, [("front", 2), ("old", 2), ("<new>", 1)]);
        assert_eq!(chart.series[0].points[0].x, 3.0);
    }
}
