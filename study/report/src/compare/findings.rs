//! What the comparison found, in sentences.

use hopflow_stats::Mean;

use super::comparison::{Compared, Comparison, Difference, Finding};
use crate::model::Section;

/// The quantities that sentences are about, and how a sentence calls them.
const HEADLINES: [(&str, &str); 6] = [
    ("web_ttlb_median", "the median web download"),
    ("web_ttlb_p90", "the slow web downloads (90th percentile)"),
    ("bulk_ttlb_median", "the median bulk download"),
    ("bulk_goodput", "the goodput of bulk"),
    ("latency_p95", "the latency of cells (95th percentile)"),
    ("fairness", "fairness F"),
];

/// A sentence for each transport, and what a reader must know.
pub(super) fn section(comparison: &Comparison) -> Section {
    let mut section = Section::new("Findings", Vec::new());
    section.prose.extend(first(comparison));
    for number in 1..comparison.transports.len() {
        section.prose.extend(sentence(comparison, number));
    }
    section.with_prose(comparison.notes().join(" "))
}

fn headlines(comparison: &Comparison) -> impl Iterator<Item = (&'static str, &Compared)> {
    HEADLINES.iter().filter_map(|(key, name)| {
        let mut quantities = comparison.quantities.iter();
        Some((*name, quantities.find(|of| of.quantity.key == *key)?))
    })
}

/// What the others are compared with.
fn first(comparison: &Comparison) -> Option<String> {
    let values: Vec<String> = headlines(comparison)
        .filter(|(_, compared)| compared.entries[0].value.is_some())
        .map(|(name, compared)| format!("{name} {}", value(compared, 0)))
        .collect();
    (!values.is_empty()).then(|| format!("`{}`: {}.", comparison.transports[0], values.join("; ")))
}

/// How a transport differs from the one that it is compared with.
fn sentence(comparison: &Comparison, number: usize) -> Option<String> {
    let label = &comparison.transports[number];
    let mut parts: [Vec<String>; 3] = Default::default();
    for (name, compared) in headlines(comparison) {
        let Some(difference) = compared.entries[number].difference else {
            continue;
        };
        let place = match difference.finding {
            Finding::Better => 0,
            Finding::Worse => 1,
            Finding::Open | Finding::More | Finding::Less => 2,
        };
        let change = change(compared, number, &difference);
        parts[place].push(format!("{name} {} (by {change})", value(compared, number)));
    }
    let open = if comparison.has_intervals() {
        "Not told apart"
    } else {
        "One network, so chance may explain it"
    };
    let clauses: Vec<String> = ["Better", "Worse", open]
        .into_iter()
        .zip(parts)
        .filter(|(_, parts)| !parts.is_empty())
        .map(|(finding, parts)| format!("{finding}: {}", parts.join("; ")))
        .collect();
    let reference = match label.split_once('/') {
        Some((whole, _)) if comparison.transports.iter().any(|other| other == whole) => whole,
        _ => &comparison.transports[0],
    };
    (!clauses.is_empty()).then(|| {
        format!(
            "`{label}`, compared with `{reference}`. {}.",
            clauses.join(". ")
        )
    })
}

/// The value of a transport.
fn value(compared: &Compared, number: usize) -> String {
    let text = &compared.figures()[number].value;
    let mean = compared.entries[number].value;
    over(compared, mean, with_unit(text, compared.unit()))
}

/// By how much a transport differs, in percent where that can be said and does not contradict the
/// finding.
fn change(compared: &Compared, number: usize, difference: &Difference) -> String {
    let shown = &compared.figures()[number];
    let text = if shown.percent.is_empty() || !agree(difference) {
        with_unit(&shown.difference, compared.unit())
    } else {
        with_unit(&shown.percent, "%")
    };
    over(compared, Some(difference.absolute), text)
}

/// Whether the intervals of the difference and of the percentage cover zero both or neither.
fn agree(difference: &Difference) -> bool {
    let covered = |(low, high): (f64, f64)| low <= 0.0 && 0.0 <= high;
    let of_percent = difference.percent.and_then(|percent| percent.ends);
    let pair = difference.absolute.covers(0.0).zip(of_percent);
    pair.is_none_or(|(absolute, ends)| absolute == covered(ends))
}

fn with_unit(text: &str, unit: &str) -> String {
    match unit {
        "" => text.to_owned(),
        unit => format!("{text} {unit}"),
    }
}

/// A number with of how many networks it is, unless it is of all.
fn over(compared: &Compared, mean: Option<Mean>, text: String) -> String {
    match compared.part(mean) {
        Some(part) => format!("{text} over {part} networks"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use hopflow_stats::Percent;

    use super::super::comparison::Entry;
    use super::super::quantity::MEASURES;
    use super::*;

    #[test]
    fn a_sentence_has_the_difference_where_the_percentage_contradicts_the_finding() {
        let difference = |ends| Difference {
            absolute: Mean {
                mean: -2.0,
                n: 4,
                half_width: Some(1.0),
            },
            percent: Some(Percent {
                mean: -7.0,
                ends: Some(ends),
                n: 4,
            }),
            finding: Finding::Better,
        };
        let changed = |ends| {
            let difference = difference(ends);
            let entry = |difference| Entry {
                value: Mean::of(&[9.0, 9.0]),
                at_least: false,
                difference,
            };
            let compared = Compared {
                quantity: MEASURES[0].quantity,
                networks: 4,
                entries: vec![entry(None), entry(Some(difference))],
            };
            change(&compared, 1, &difference)
        };
        assert_eq!(changed((-9.0, -5.0)), "−7.0 [−9.0, −5.0] %");
        assert_eq!(changed((-21.0, 10.0)), "−2.00 [−3.00, −1.00] s");
    }
}
