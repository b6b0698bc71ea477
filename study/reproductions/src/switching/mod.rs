//! Circuit switching: four uploads over the same relays, multiplexed and switched.
//!
//! T. G. Kale, S. Ohzahata, C. Wu and T. Kato, "Reducing Congestion in the Tor Network with Circuit
//! Switching", Journal of Information Processing 23(5), 2015, section 5. Cases and what the paper
//! says stand in the data files, as for every study.

mod measure;
mod moves;

use crate::study::{MeasuredStudy, Study, document, study};

pub(super) use moves::Moves;

/// Uploads, measured alike.
const fn uploads(study: Study) -> MeasuredStudy {
    MeasuredStudy {
        study,
        measure: |_, run| measure::measure(run),
        summarise: |_| None,
        page: |page, values| document(page, values, |_| true),
    }
}

pub(super) static UPLOADS: MeasuredStudy = uploads(study!(
    "switching-table2",
    &["switching-table1", "switching-fig7", "switching-fig8"],
    "switching"
));

pub(super) static PUBLIC: MeasuredStudy = uploads(study!(
    "switching-table3",
    &["switching-fig10", "switching-fig11", "switching-fig12"],
    "switching"
));
