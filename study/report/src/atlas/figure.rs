//! The figures of an experiment.

use std::collections::BTreeMap;

use hopflow_results::{Value, Verdict};

/// A figure or table of an experiment: some of its values.
pub(super) struct Figure<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Its values, claims among them.
    pub(super) values: Vec<&'a Value>,
}

/// The figures of an experiment that say something about the paper's; all if none does.
pub(super) fn figures(values: &[Value]) -> Vec<Figure<'_>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut figures: Vec<Figure<'_>> = Vec::new();
    for value in values {
        let place = *places.entry(&value.figure).or_insert_with(|| {
            figures.push(Figure {
                name: &value.figure,
                values: Vec::new(),
            });
            figures.len() - 1
        });
        figures[place].values.push(value);
    }
    let compared = |figure: &Figure<'_>| {
        let compared =
            |value: &&Value| value.paper.is_some() || value.verdict != Verdict::NotJudged;
        figure.values.iter().any(compared)
    };
    if figures.iter().any(compared) {
        figures.retain(compared);
    }
    figures.sort_by_key(|figure| sortable(figure.name));
    figures
}

/// A name by which `fig2` comes before `fig10`.
fn sortable(name: &str) -> String {
    let digits = name.find(|c: char| c.is_ascii_digit());
    let Some((head, tail)) = digits.map(|at| name.split_at(at)) else {
        return name.to_owned();
    };
    let end = tail
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(tail.len());
    format!("{head}{:0>4}{}", &tail[..end], &tail[end..])
}

/// How far the values lie from the paper's, in percent of these, by size.
pub(super) fn deviations(values: &[&Value]) -> Vec<f64> {
    let stated = values.iter().filter_map(|value| {
        let paper = value.paper.filter(|paper| *paper != 0.0)?;
        Some((100.0 * (value.mean - paper) / paper).abs())
    });
    let mut deviations: Vec<f64> = stated.collect();
    deviations.sort_by(f64::total_cmp);
    deviations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_in_the_order_of_their_numbers() {
        let mut names = ["a-fig10", "a-fig2", "a-table1", "a-fig2b"];
        names.sort_by_key(|name| sortable(name));
        assert_eq!(names, ["a-fig2", "a-fig2b", "a-fig10", "a-table1"]);
    }
}
