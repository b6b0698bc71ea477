//! What layers measure can be recorded and exported.

use std::collections::BTreeSet;

use hopflow_overlay::{Direction, Factory, Metric};
use hopflow_units::{Bytes, Duration};

use crate::{Chain, Counted, End, Manner, Medium};

/// Layers have a value for each metric that they declare, and metrics have names of their own that
/// results and monitoring take.
pub(super) fn metrics_are_as_declared(factory: &dyn Factory<Counted>) {
    let medium = Medium::delay(Duration::from_millis(10));
    let mut chain = Chain::new(factory, 3, Manner::Orderly, 1).with_medium(medium);
    let circuit = chain.circuit(&[0, 1, 2]);
    let stream = chain.stream(&[circuit]);
    for length in [0, 200_000] {
        chain.write(stream, End::Exit, Bytes::new(length));
        chain.run_for(Duration::from_secs(1));
        for hop in 0..3 {
            for direction in [Direction::Forward, Direction::Backward] {
                let measured = chain.measured(circuit, hop, direction);
                let mut names = BTreeSet::new();
                for it in measured {
                    assert_plain(it.metric);
                    let name = it.metric.name;
                    assert!(names.insert(name), "two layers have the metric `{name}`");
                }
                let ends_here = (hop == 0) == (direction == Direction::Backward) && hop != 1;
                assert!(
                    !ends_here || names.is_empty(),
                    "sinks send nothing: {names:?}"
                );
            }
        }
    }
}

fn assert_plain(metric: &Metric) {
    for text in [metric.name, metric.unit] {
        let plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        assert!(
            !text.is_empty() && text.chars().all(plain),
            "`{text}` of a metric: allowed are lower-case letters and underscores"
        );
    }
    let line = !metric.about.is_empty() && !metric.about.contains('\n');
    assert!(line, "the metric `{}` is described in a line", metric.name);
}
