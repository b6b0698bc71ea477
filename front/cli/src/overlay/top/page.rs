//! Reading what a node tells its operator's monitoring, in the format `OpenMetrics`.

use std::collections::BTreeMap;

use hopflow_live::Sample;

/// A page of metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Page {
    samples: BTreeMap<String, Vec<Sample>>,
}

impl Page {
    /// Reads a page; the error says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut page = Self::default();
        for line in text.lines() {
            if line == "# EOF" {
                return page.checked();
            }
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            let (name, sample) =
                Sample::read(line).ok_or_else(|| format!("cannot read {line:?}"))?;
            page.samples
                .entry(name.to_owned())
                .or_default()
                .push(sample);
        }
        Err("its page of metrics is not complete".to_owned())
    }

    fn checked(self) -> Result<Self, String> {
        if self.samples.contains_key("hopflow_build_info") {
            return Ok(self);
        }
        Err("it serves metrics, but is no hopflow node".to_owned())
    }

    /// The samples of a metric, by its name without the prefix.
    pub(super) fn all(&self, name: &str) -> &[Sample] {
        let found = self.samples.get(&format!("hopflow_{name}"));
        found.map_or(&[], Vec::as_slice)
    }

    /// The value of a metric that has one.
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        Some(self.all(name).first()?.value)
    }

    /// The value of the sample that has this label.
    pub(super) fn labelled(&self, name: &str, (label, value): (&str, &str)) -> Option<f64> {
        let mut samples = self.all(name).iter();
        Some(samples.find(|it| it.label(label) == Some(value))?.value)
    }

    /// What runs there: a label of its build.
    pub(super) fn info(&self, label: &str) -> &str {
        let build = self.all("build_info").first();
        build.and_then(|it| it.label(label)).unwrap_or("unknown")
    }

    /// Names and samples, in alphabetical order.
    pub(super) fn samples(&self) -> impl Iterator<Item = (&str, &Sample)> {
        let named = self.samples.iter();
        named.flat_map(|(name, samples)| samples.iter().map(move |it| (name.as_str(), it)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP hopflow_links Links to neighbours\n\
                        # TYPE hopflow_links gauge\n\
                        hopflow_build_info{version=\"0.1.0\",network=\"a \\\"b\\\" \\\\ c\"} 1\n\
                        hopflow_links 3\n\
                        hopflow_limit{of=\"links\"} 16384\n\
                        hopflow_limit{of=\"circuits\"} 60000 1700000000\n\
                        hopflow_cpu_seconds_total 1.5e-1\n# EOF\n";

    #[test]
    fn values_and_labels_are_read() {
        let page = Page::read(PAGE).unwrap();
        assert_eq!(page.value("links"), Some(3.0));
        assert_eq!(page.value("cpu_seconds_total"), Some(0.15));
        assert_eq!(page.labelled("limit", ("of", "circuits")), Some(60000.0));
        assert_eq!(page.labelled("limit", ("of", "streams")), None);
        assert_eq!(page.info("network"), "a \"b\" \\ c");
        assert_eq!(page.info("role"), "unknown");
        assert_eq!(page.samples().count(), 5);
    }

    #[test]
    fn what_is_no_page_of_a_node_is_refused_with_the_reason() {
        for (page, why) in [
            (PAGE.replace("# EOF\n", ""), "not complete"),
            (String::new(), "not complete"),
            (
                PAGE.replace("hopflow_build", "other_build"),
                "no hopflow node",
            ),
            (
                PAGE.replace("links 3", "links three"),
                "hopflow_links three",
            ),
            (PAGE.replace("\"links\"}", "\"links}"), "cannot read"),
            (PAGE.replace("{of=\"links\"", "{of"), "cannot read"),
            (PAGE.replace("of=\"links\"}", "of=\"links\\"), "cannot read"),
        ] {
            let error = Page::read(&page).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
