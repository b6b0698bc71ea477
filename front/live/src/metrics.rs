//! Metrics in the format `OpenMetrics`, as relays and clients of hopflow serve them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Sample;

/// What the names of all metrics begin with.
const PREFIX: &str = "hopflow_";
/// What says what runs there.
const ABOUT: &str = "build_info";
/// Metrics of a node, at most.
const MOST: usize = 256;

/// What a node says of itself.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Metrics {
    /// What it is: version, role, network, transport.
    pub(crate) about: BTreeMap<String, String>,
    /// Values by name without `hopflow_`, with the values of labels: `limit{circuits}`.
    pub(crate) values: BTreeMap<String, f64>,
}

impl Metrics {
    /// Reads a page of metrics; what is not hopflow's is left out.
    ///
    /// # Errors
    /// If there are none of hopflow, or too many.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut metrics = Self::default();
        for line in text.lines() {
            let Some((name, sample)) = line.strip_prefix(PREFIX).and_then(Sample::read) else {
                continue;
            };
            let Sample { labels, value } = sample;
            if !value.is_finite() {
                continue;
            }
            if name == ABOUT {
                metrics.about = labels.into_iter().collect();
                continue;
            }
            let labels: Vec<_> = labels.into_iter().map(|(_, value)| value).collect();
            let name = match labels.as_slice() {
                [] => name.to_owned(),
                labels => format!("{name}{{{}}}", labels.join(",")),
            };
            metrics.values.insert(name, value);
        }
        match metrics.values.len() {
            0 => Err(format!("serves no metrics that begin with {PREFIX}")),
            1..=MOST => Ok(metrics),
            count => Err(format!("serves {count} metrics; allowed are {MOST}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_labels_and_values() {
        let metrics = Metrics::parse(
            "# HELP hopflow_links Links to neighbours.\n\
             hopflow_build_info{role=\"relay\",network=\"a \\\"b\\\" }\"} 1\n\
             hopflow_links 3\n\
             hopflow_limit{of=\"circuits\"} 60000\n\
             hopflow_transport_round_trip_seconds{statistic=\"mean\"} 0.25 1700000000\n\
             hopflow_strange NaN\n\
             hopflow_broken{a=\"b 7\n\
             process_cpu_seconds_total 5\n\
             # EOF\n",
        )
        .unwrap();
        let about: Vec<_> = metrics.about.values().map(String::as_str).collect();
        assert_eq!(about, ["a \"b\" }", "relay"]);
        let values: Vec<_> = metrics
            .values
            .iter()
            .map(|(k, v)| (k.as_str(), *v))
            .collect();
        assert_eq!(
            values,
            [
                ("limit{circuits}", 60000.0),
                ("links", 3.0),
                ("transport_round_trip_seconds{mean}", 0.25)
            ]
        );
    }

    #[test]
    fn other_pages_are_refused() {
        let error = Metrics::parse("<html>a b</html>\nup 1\n").unwrap_err();
        assert_eq!(error, "serves no metrics that begin with hopflow_");
        let many: Vec<_> = (0..300).map(|it| format!("hopflow_a{it} 1\n")).collect();
        let error = Metrics::parse(&many.concat()).unwrap_err();
        assert_eq!(error, "serves 300 metrics; allowed are 256");
    }
}
